// Decodes PNG and JPEG files into the tensor that the manifest describes, checked by its hash.
import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";
import type { TensorFile } from "../../../generated/golden.ts";
import {
	type ImageHeader,
	maxJpegMebibytes,
	maxPixels,
	readImageHeader,
} from "../../formats/image/header.ts";
import { jpegFault } from "../../formats/image/jpeg.ts";
import { decodePng, type InflateZlib, interlaced } from "../../formats/image/png.ts";
import { type Pixels, preprocessImage } from "../../formats/image/preprocess.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import type { Tensor } from "../../golden/core/tensor/tensor.ts";

const tooLarge = "Make the image smaller, or record its tensor (.npy).";

/** @throws ConfigError tensor-invalid. */
export async function readImage(bytes: Uint8Array, file: TensorFile, path: string): Promise<Tensor> {
	const { tensor, sha256 } = await preprocessFile(bytes, file, path);
	const wanted = file.tensorSha256;
	if (wanted === sha256) return tensor;
	const fix = `If image and preprocessing are right, set "tensorSha256": "${sha256}" in the manifest.`;
	if (wanted === undefined) throw tensorInvalid(path, "the hash of the tensor", "none", fix);
	throw tensorInvalid(path, `a tensor of SHA-256 ${wanted}`, sha256, fix);
}

/** Preprocesses an image into a tensor, and hashes it. @throws ConfigError tensor-invalid. */
export async function preprocessFile(
	bytes: Uint8Array,
	file: TensorFile,
	path: string,
): Promise<{ tensor: Tensor; sha256: string }> {
	const header = readImageHeader(bytes);
	if (header === null) throw tensorInvalid(path, "a PNG or JPEG image", "another file");
	const { width, height } = header;
	if (width * height > maxPixels || width * height === 0)
		throw tensorInvalid(path, `1 to ${maxPixels} pixels`, `${width} × ${height}`, tooLarge);
	const tensor = preprocessImage(await decode(bytes, header, path), file, path);
	return { tensor, sha256: createHash("sha256").update(tensor.data).digest("hex") };
}

async function decode(bytes: Uint8Array, { kind }: ImageHeader, path: string): Promise<Pixels> {
	try {
		return kind === "png" ? decodePng(bytes, inflateZlib) : await decodeJpeg(bytes);
	} catch (cause) {
		const got = cause instanceof Error ? cause.message : "something else";
		const fixes: Record<string, string | undefined> = { [interlaced]: "Save the image without interlacing." };
		const fix = got.includes("limit exceeded") ? tooLarge : fixes[got];
		const expected = `a complete ${kind === "png" ? "PNG" : "JPEG"} image`;
		throw tensorInvalid(path, expected, JSON.stringify(got.slice(0, 200)), fix);
	}
}

/** Read as a whole: chunks and their concatenation would need twice the memory. */
const inflateZlib: InflateZlib = (packed, bytes) =>
	inflateSync(packed, { maxOutputLength: bytes, chunkSize: bytes + 64 });

/** Loads the decoder only for the first image, because most goldens have none. */
async function decodeJpeg(bytes: Uint8Array): Promise<Pixels> {
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
