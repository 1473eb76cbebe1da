// WAV files become the samples that scipy reads; damaged ones are refused without memory being taken for what they claim.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { preprocessSound, resample } from "../../../src/formats/audio/preprocess.ts";
import { readWav } from "../../../src/formats/audio/wav.ts";

interface Oracle {
	sounds: { name: string; file: string; rate: number; samples: number[] }[];
	rates: { from: number; to: number; samples: number[]; out: number[] }[];
}
const oracle: Oracle = JSON.parse(readFileSync("test/oracles/golden-inputs.json", "utf8"));
const bytesOf = (name: string): Buffer =>
	Buffer.from(oracle.sounds.find((sound) => sound.name === name)?.file ?? "", "base64");

describe("readWav", () => {
	it.each(oracle.sounds)("readWav reads $name as scipy does", ({ file, rate, samples }) => {
		const sound = readWav(Buffer.from(file, "base64"), "a.wav");
		expect(sound.rate).toBe(rate);
		expect(sound.samples).toHaveLength(samples.length);
		for (const [at, sample] of samples.entries()) expect(sound.samples[at]).toBeCloseTo(sample, 7);
	});

	const edited = (name: string, edit: (file: Buffer) => void): Buffer => {
		const file = bytesOf(name);
		edit(file);
		return file;
	};
	it.each<[string, Buffer, RegExp]>([
		["an empty file", Buffer.alloc(0), /expected a WAV file.*got 0 bytes/],
		["another file", Buffer.from("RIFF1234AVI LIST"), /expected a WAV file.*got another file/],
		[
			"a header that is cut short",
			bytesOf("pcm8").subarray(0, 30),
			/expected 16 bytes in chunk "fmt ", got 10/,
		],
		[
			"samples that are cut short",
			bytesOf("pcm8").subarray(0, 50),
			/expected 20 bytes in chunk "data", got 6/,
		],
		[
			"a stream of unknown length",
			edited("pcm8", (file) => file.writeUInt32LE(0xffff_ffff, 40)),
			/expected 4294967295 bytes in chunk "data", got 20/,
		],
		["no samples at all", bytesOf("pcm8").subarray(0, 36), /a chunk "data" with samples/],
		[
			"samples before their format",
			edited("pcm8", (file) => file.write("fm2 ", 12)),
			/a chunk "fmt " before the samples/,
		],
		["a compressed encoding", edited("pcm8", (file) => file.writeUInt16LE(7, 20)), /got encoding 7/],
		["bits of no known width", edited("pcm8", (file) => file.writeUInt16LE(12, 34)), /got pcm of 12 bits/],
		["no channels", edited("pcm8", (file) => file.writeUInt16LE(0, 22)), /got 0 channels/],
		["a rate of zero", edited("pcm8", (file) => file.writeUInt32LE(0, 24)), /at 0 Hz/],
		[
			"blocks of another size than their channels",
			edited("pcm8", (file) => file.writeUInt16LE(3, 32)),
			/in blocks of 3 bytes/,
		],
	])("readWav refuses %s", (_, file, message) => {
		expect(() => readWav(file, "a.wav")).toThrow(message);
	});
});

it.each(oracle.rates)(
	"resample goes from $from to $to Hz as scipy.signal.resample_poly does",
	({ from, to, samples, out }) => {
		const got = resample(Float64Array.from(samples), from, to);
		expect(got).toHaveLength(out.length);
		for (const [at, sample] of out.entries()) expect(got[at]).toBeCloseTo(sample, 12);
	},
);

describe("preprocessSound", () => {
	const sound = { rate: 10, samples: Float64Array.from({ length: 20 }, (_, at) => at / 32) };
	const input = { dtype: "float32" as const, length: 4, shapeOf: (samples: number) => [1, samples] };
	const made = (how: object) =>
		preprocessSound(sound, input, { kind: "audio", path: "a.wav", ...how }).map(({ data }) =>
			[...new Float32Array(data.slice().buffer)].map((value) => value * 32),
		);

	it("preprocessSound cuts the end, pads it with zeros, begins later, and scales", () => {
		expect(made({})).toEqual([[0, 1, 2, 3]]);
		expect(made({ start: 1.7, scale: 2 })).toEqual([[34, 36, 38, 0]]);
		expect(made({ length: 2 })).toEqual([[0, 1]]);
	});

	it("preprocessSound spreads windows from the start to the end", () => {
		expect(made({ windows: 3 }).map(([first]) => first)).toEqual([0, 8, 16]);
	});
});
