// Reads a golden's tensor files and pictures from disk: checks size and hash, then decodes.

import { inflateRawSync, inflateSync } from "node:zlib";
import type { TensorFile } from "../../../generated/golden.ts";
import { inputKinds } from "../../core/input-kind.ts";
import {
	type ImageHeader,
	maxJpegMebibytes,
	maxPixels,
	readImageHeader,
} from "../../formats/image/header.ts";
import { jpegFault } from "../../formats/image/jpeg.ts";
import { decodePng, type InflateZlib, interlaced } from "../../formats/image/png.ts";
import { preprocessImage } from "../../formats/image/preprocess.ts";
import {
	checkFileSize,
	decodeMember,
	decodeTensor,
	type Inflate,
	isContainer,
	refuseLfsPointer,
	tensorFormat,
} from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import type { Tensor } from "../../golden/core/tensor/tensor.ts";
import type { TensorReader } from "../../ports/world.ts";
import { digestOf, fileSource, readWhole, withInput } from "../process/input-file.ts";
import { hashOpen } from "./store.ts";

const headBytes = 512;

type KnownHashes = Map<string, { identity: string; sha256: string; document?: WeakRef<object> }>;

export function fileTensorReader(): TensorReader {
	const known: KnownHashes = new Map();
	return {
		// The path may be the target of a link, whose name has no ending.
		read: async (path, file) => readTensor({ ...file, format: tensorFormat(file), path }, known),
	};
}

function readTensor(file: TensorFile, known: KnownHashes) {
	return withInput(file.path, inputKinds.tensor, async ({ file: open, facts }) => {
		const { size } = facts;
		if (size <= headBytes) refuseLfsPointer(await readWhole(open, size), file);
		checkFileSize(size, file);
		if (isContainer(tensorFormat(file))) {
			const identity = `${facts.ino} ${size} ${facts.mtimeMs} ${facts.ctimeMs}`;
			const entry = known.get(file.path);
			const same = entry?.identity === identity ? entry : { identity, sha256: await hashOpen(open) };
			known.set(file.path, same);
			checkHash(same.sha256, file);
			const once = (parse: () => object) => {
				const document = same.document?.deref() ?? parse();
				same.document = new WeakRef(document);
				return document;
			};
			return decodeMember(fileSource(open, size), file, { inflate, once });
		}
		const bytes = await readWhole(open, size);
		if (bytes.length !== size)
			throw tensorInvalid(file, `${size} bytes`, `${bytes.length}: the file changed while it was read`);
		checkHash(digestOf(bytes), file);
		return tensorFormat(file) === "image" ? readImage(bytes, file) : decodeTensor(bytes, file);
	});
}

function checkHash(sha256: string, file: TensorFile) {
	const fix =
		"Restore the file (with Git, check that .gitattributes marks it binary), or record the golden again.";
	if (sha256 !== file.sha256) throw tensorInvalid(file, `SHA-256 ${file.sha256}`, sha256, fix);
}

export const inflate: Inflate = (packed, bytes) =>
	inflateRawSync(packed, { maxOutputLength: Math.max(1, bytes) });

const tooLarge = "Make the image smaller, or record its tensor (.npy).";

async function readImage(bytes: Uint8Array, file: TensorFile) {
	const { tensor, sha256 } = await preprocessFile(bytes, file);
	const wanted = file.tensorSha256;
	if (wanted === sha256) return tensor;
	const fix = `If image and preprocessing are right, set "tensorSha256": "${sha256}" in the manifest.`;
	if (wanted === undefined) throw tensorInvalid(file, "the hash of the tensor", "none", fix);
	throw tensorInvalid(file, `a tensor of SHA-256 ${wanted}`, sha256, fix);
}

export async function preprocessFile(
	bytes: Uint8Array,
	file: TensorFile,
): Promise<{ tensor: Tensor; sha256: string }> {
	const header = readImageHeader(bytes);
	if (header === null) throw tensorInvalid(file, "a PNG or JPEG image", "another file");
	const { width, height } = header;
	if (width * height > maxPixels || width * height === 0)
		throw tensorInvalid(file, `1 to ${maxPixels} pixels`, `${width} × ${height}`, tooLarge);
	const tensor = preprocessImage(await decode(bytes, header, file), file);
	return { tensor, sha256: digestOf(tensor.data) };
}

async function decode(bytes: Uint8Array, { kind }: ImageHeader, file: TensorFile) {
	try {
		return kind === "png" ? decodePng(bytes, inflateZlib) : await decodeJpeg(bytes);
	} catch (cause) {
		const got = cause instanceof Error ? cause.message : "something else";
		const fixes: Record<string, string | undefined> = { [interlaced]: "Save the image without interlacing." };
		const fix = got.includes("limit exceeded") ? tooLarge : fixes[got];
		const expected = `a complete ${kind === "png" ? "PNG" : "JPEG"} image`;
		throw tensorInvalid(file, expected, JSON.stringify(got.slice(0, 200)), fix);
	}
}

/** In one chunk: several and their concatenation would need twice the memory. */
const inflateZlib: InflateZlib = (packed, bytes) =>
	inflateSync(packed, { maxOutputLength: bytes, chunkSize: bytes + 64 });

async function decodeJpeg(bytes: Uint8Array) {
	const fault = jpegFault(bytes);
	if (fault !== null) throw new Error(fault);
	const jpeg = await import("jpeg-js");
	const options = {
		useTArray: true as const,
		formatAsRGBA: false,
		tolerantDecoding: false,
		maxResolutionInMP: maxPixels / 1e6,
		maxMemoryUsageInMB: maxJpegMebibytes,
	};
	const { width, height, data } = jpeg.default.decode(bytes, options);
	return { width, height, rgb: data };
}
