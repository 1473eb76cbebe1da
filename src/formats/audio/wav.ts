// Reads WAV files: PCM of 8, 16, 24 and 32 bits, and floats of 32 and 64, as the mean of their channels.
import { tensorInvalid } from "../tensor/refusal.ts";

/** Samples from -1 to 1. */
export interface Sound {
	/** Samples per second. */
	rate: number;
	samples: Float64Array;
}

interface Format {
	encoding: "pcm" | "float";
	channels: number;
	rate: number;
	bits: number;
}

const again = "Write the file again, for example with `ffmpeg -i SOUND -c:a pcm_s16le OUT.wav`.";
const wavInvalid = (path: string, expected: string, got: string) => tensorInvalid(path, expected, got, again);
const maxChannels = 64;
const maxRate = 384_000;
const chunkHeaderBytes = 8;

/** @throws ConfigError tensor-invalid. */
export function readWav(bytes: Uint8Array, path: string): Sound {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const name = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
	if (bytes.length < 12 || name(0) !== "RIFF" || name(8) !== "WAVE")
		throw wavInvalid(
			path,
			"a WAV file (RIFF, WAVE)",
			bytes.length < 12 ? `${bytes.length} bytes` : "another file",
		);
	let format: Format | null = null;
	for (let at = 12; at + chunkHeaderBytes <= bytes.length; ) {
		const [chunk, size] = [name(at), view.getUint32(at + 4, true)];
		const start = at + chunkHeaderBytes;
		if (start + size > bytes.length)
			throw wavInvalid(path, `${size} bytes in chunk ${JSON.stringify(chunk)}`, `${bytes.length - start}`);
		if (chunk === "fmt ") format = readFormat(new DataView(view.buffer, view.byteOffset + start, size), path);
		if (chunk === "data") {
			if (format === null) throw wavInvalid(path, 'a chunk "fmt " before the samples', "none");
			return {
				rate: format.rate,
				samples: mixSamples(new DataView(view.buffer, view.byteOffset + start, size), format),
			};
		}
		// Chunks begin at even places.
		at = start + size + (size % 2);
	}
	throw wavInvalid(path, 'a chunk "data" with samples', "none");
}

const pcmTag = 1;
const floatTag = 3;
/** The encoding is then in the first bytes of a GUID. */
const extensibleTag = 0xfffe;

function readFormat(view: DataView, path: string): Format {
	if (view.byteLength < 16) throw wavInvalid(path, "16 bytes of format", `${view.byteLength}`);
	const tag = view.getUint16(0, true);
	const encodingTag = tag === extensibleTag && view.byteLength >= 26 ? view.getUint16(24, true) : tag;
	const [channels, rate, bits] = [view.getUint16(2, true), view.getUint32(4, true), view.getUint16(14, true)];
	const encoding = encodingTag === pcmTag ? "pcm" : encodingTag === floatTag ? "float" : null;
	const widths = encoding === "float" ? [32, 64] : [8, 16, 24, 32];
	if (encoding === null || !widths.includes(bits)) {
		const got = encoding === null ? `encoding ${encodingTag}` : `${encoding} of ${bits} bits`;
		throw wavInvalid(path, "PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64", got);
	}
	if (
		channels < 1 ||
		channels > maxChannels ||
		rate < 1 ||
		rate > maxRate ||
		view.getUint16(12, true) !== (channels * bits) / 8
	) {
		const got = `${channels} channels of ${bits} bits in blocks of ${view.getUint16(12, true)} bytes at ${rate} Hz`;
		throw wavInvalid(path, `1 to ${maxChannels} channels at 1 to ${maxRate} Hz`, got);
	}
	return { encoding, channels, rate, bits };
}

type ReadSample = (view: DataView, at: number) => number;

const samplesOf: Readonly<Record<string, ReadSample>> = {
	// Eight bits are unsigned, with silence in the middle.
	pcm8: (view, at) => (view.getUint8(at) - 128) / 128,
	pcm16: (view, at) => view.getInt16(at, true) / 2 ** 15,
	pcm24: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23,
	pcm32: (view, at) => view.getInt32(at, true) / 2 ** 31,
	float32: (view, at) => view.getFloat32(at, true),
	float64: (view, at) => view.getFloat64(at, true),
};

/** A last block that is not whole is left out, as other readers do. */
function mixSamples(view: DataView, { encoding, channels, bits }: Format): Float64Array {
	const read = samplesOf[`${encoding}${bits}`] as ReadSample;
	const width = bits / 8;
	const samples = new Float64Array(Math.floor(view.byteLength / (width * channels)));
	for (let index = 0; index < samples.length; index += 1) {
		let sum = 0;
		for (let channel = 0; channel < channels; channel += 1)
			sum += read(view, (index * channels + channel) * width);
		samples[index] = sum / channels;
	}
	return samples;
}
