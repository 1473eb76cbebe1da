// Feeds damaged files to every reader of golden tensors: each must be read or refused. Prints the rate.
// node bench/fuzz-formats.ts [inputs of each format, in thousands; 1000 takes some minutes]
import { readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { ConfigError } from "../src/core/errors.ts";
import type { TensorFile } from "../src/core/schema/golden.ts";
import { memorySource } from "../src/formats/bytes/byte-source.ts";
import { readImageHeader } from "../src/formats/image/header.ts";
import { decodeMember, decodeTensor } from "../src/formats/tensor/decode.ts";
import { encodeNpy } from "../src/formats/tensor/npy.ts";

const oracle = JSON.parse(readFileSync(new URL("../test/oracles/golden-formats.json", import.meta.url), "utf8"));
const files = JSON.parse(readFileSync(new URL("../test/oracles/golden-files.json", import.meta.url), "utf8"));
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));

const file: TensorFile = { path: "y", sha256: "", dtype: "float32", shape: [2, 3], member: "y" };
const inflate = (packed: Uint8Array, bytes: number): Uint8Array => inflateRawSync(packed, { maxOutputLength: Math.max(1, bytes) });

interface Target {
	name: string;
	seeds: readonly Uint8Array[];
	read(bytes: Uint8Array): unknown;
}

const member =
	(format: TensorFile["format"], name = "y") =>
	(bytes: Uint8Array) =>
		decodeMember(
			memorySource(bytes),
			{ ...file, ...(format ? { format } : {}), member: name },
			{ path: "y", inflate, once: (parse) => parse() },
		);
const single = (format: NonNullable<TensorFile["format"]>) => (bytes: Uint8Array) => decodeTensor(bytes, { ...file, format }, "y");
const values = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);

const targets: readonly Target[] = [
	{ name: "raw", seeds: [values], read: single("raw") },
	{ name: "npy", seeds: [encodeNpy({ dtype: "float32", shape: [2, 3], data: values })], read: single("npy") },
	{ name: "npz", seeds: oracle.npz.map((entry: { file: string }) => bytesOf(entry.file)), read: member("npz") },
	{ name: "safetensors", seeds: [bytesOf(oracle.safetensors.file)], read: member("safetensors") },
	{ name: "tensor-proto", seeds: files.proto.map((entry: { file: string }) => bytesOf(entry.file)), read: single("tensor-proto") },
	{ name: "polygraphy", seeds: [bytesOf(oracle.polygraphy.inputs), bytesOf(oracle.polygraphy.results)], read: member("polygraphy", "x") },
	{ name: "image header", seeds: [bytesOf(oracle.images.png), bytesOf(oracle.images.jpeg)], read: readImageHeader },
];

/** Marsaglia's xorshift32: the same inputs in every run. */
function randomSource(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>> 0) % below;
	};
}

const telling = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

function damage(seed: Uint8Array, random: (below: number) => number): Uint8Array {
	const bytes = seed.slice(0, random(4) === 0 ? random(seed.length + 1) : seed.length);
	for (let left = random(6); left > 0 && bytes.length > 0; left -= 1) {
		// Headers stand at either end of these formats.
		const at = random(2) === 0 ? random(bytes.length) : random(Math.min(128, bytes.length));
		const place = random(2) === 0 ? at : bytes.length - 1 - at;
		bytes[place] = random(2) === 0 ? random(256) : (telling[random(telling.length)] ?? 0);
	}
	return bytes;
}

/**
 * After so many inputs the event loop gets its turn. What an inflateRawSync that threw had in hand, Node frees only then:
 * a million damaged .npz in one go peaked at 1.5 to 2 GiB, with turns all formats together stay near 330 MiB. No reader holds
 * on to anything, and the product ends at the first file that it refuses.
 */
const inputsOfATurn = 1000;

async function fuzz(target: Target, inputs: number): Promise<{ perSecond: number; taken: number }> {
	const random = randomSource(0x9e3779b9);
	const start = performance.now();
	let taken = 0;
	for (let i = 0; i < inputs; i += 1) {
		if (i % inputsOfATurn === 0) await setImmediate();
		const bytes = damage(target.seeds[i % target.seeds.length] ?? values, random);
		try {
			target.read(bytes);
			taken += 1;
		} catch (error) {
			if (!(error instanceof ConfigError))
				throw new Error(`${target.name}, input ${i}: ${Buffer.from(bytes).toString("base64")}`, { cause: error });
		}
	}
	return { perSecond: (inputs / (performance.now() - start)) * 1000, taken };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
	const thousands = Number(process.argv[2] ?? 20);
	if (!Number.isInteger(thousands) || thousands < 1)
		throw new Error("Usage: node bench/fuzz-formats.ts [thousands of inputs of each format]");
	console.log(`Damaged files, ${thousands * 1000} of each format; none may do anything but be read or refused`);
	console.log("| format | inputs/s | read all the same |\n|---|---|---|");
	for (const target of targets) {
		const { perSecond, taken } = await fuzz(target, thousands * 1000);
		console.log(`| ${target.name} | ${Math.round(perSecond)} | ${((100 * taken) / (thousands * 1000)).toFixed(1)} % |`);
	}
	console.log(`peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);
}
