// Decodes PNG and JPEG files and makes the tensor of them that the manifest describes, checked by its hash.
import { createHash } from "node:crypto";
import type { Tensor } from "../../core/golden/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import { type ImageHeader, readImageHeader } from "../../formats/image/header.ts";
import { mostPixels } from "../../formats/image/limits.ts";
import { type Pixels, preprocessImage } from "../../formats/image/preprocess.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";

/** @throws ConfigError tensor-invalid. */
export async function readImage(bytes: Uint8Array, file: TensorFile, path: string): Promise<Tensor> {
	const { tensor, sha256 } = await preprocessFile(bytes, file, path);
	if (file.tensorSha256 === sha256) return tensor;
	throw tensorInvalid(path, {
		expected: file.tensorSha256 === undefined ? "the hash of the tensor" : `a tensor of SHA-256 ${file.tensorSha256}`,
		got: file.tensorSha256 === undefined ? "none" : sha256,
		fix: `If image and preprocessing are right, say "tensorSha256": "${sha256}" in the manifest.`,
	});
}

/**
 * The tensor that preprocessing makes of an image, with its hash: for recording, where there is none to hold it against.
 * @throws ConfigError tensor-invalid.
 */
export async function preprocessFile(bytes: Uint8Array, file: TensorFile, path: string): Promise<{ tensor: Tensor; sha256: string }> {
	const header = readImageHeader(bytes);
	if (header === null) throw tensorInvalid(path, { expected: "a PNG or JPEG image", got: "another file" });
	if (header.width * header.height > mostPixels || header.width * header.height === 0) {
		throw tensorInvalid(path, { expected: `1 to ${mostPixels} pixels`, got: `${header.width} × ${header.height}` });
	}
	const tensor = preprocessImage(await decode(bytes, header, path), file, path);
	return { tensor, sha256: createHash("sha256").update(tensor.data).digest("hex") };
}

/** Loaded when the first image is read: most goldens hold none. */
async function decode(bytes: Uint8Array, { kind }: ImageHeader, path: string): Promise<Pixels> {
	try {
		return kind === "png" ? await decodePng(bytes) : await decodeJpeg(bytes);
	} catch (cause) {
		const got = cause instanceof Error ? cause.message : "something else";
		throw tensorInvalid(path, { expected: `a whole ${kind === "png" ? "PNG" : "JPEG"} image`, got: JSON.stringify(got.slice(0, 200)) });
	}
}

async function decodePng(bytes: Uint8Array): Promise<Pixels> {
	const { PNG } = await import("pngjs");
	const { width, height, data } = PNG.sync.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
	return { width, height, rgba: data };
}

async function decodeJpeg(bytes: Uint8Array): Promise<Pixels> {
	const jpeg = await import("jpeg-js");
	const options = {
		useTArray: true as const,
		formatAsRGBA: true,
		tolerantDecoding: false,
		maxResolutionInMP: mostPixels / 1e6,
		maxMemoryUsageInMB: 1024,
	};
	const { width, height, data } = jpeg.default.decode(bytes, options);
	return { width, height, rgba: data };
}
