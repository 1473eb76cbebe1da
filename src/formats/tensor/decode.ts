// Decodes a tensor file in any format that a golden manifest may name.
import type { Tensor } from "../../core/golden/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import { isLfsPointer } from "../onnx/head.ts";
import { neededBytes } from "./layout.ts";
import { decodeNpy } from "./npy.ts";
import { decodeRaw } from "./raw.ts";
import { tensorInvalid } from "./refusal.ts";
import { decodeTensorProto } from "./tensor-proto.ts";

type TensorFormat = NonNullable<TensorFile["format"]>;

const formatByEnding: Readonly<Record<string, TensorFormat>> = { raw: "raw", bin: "raw", npy: "npy", pb: "tensor-proto" };

/** By the manifest, else by the name's ending. @throws ConfigError tensor-invalid where neither tells. */
function tensorFormat(file: TensorFile, path: string): TensorFormat {
	const ending = /\.([^./]+)$/.exec(file.path)?.[1]?.toLowerCase() ?? "";
	const format = file.format ?? (Object.hasOwn(formatByEnding, ending) ? formatByEnding[ending] : undefined);
	if (format !== undefined) return format;
	const expected = "a name that ends in .raw, .bin, .npy or .pb";
	throw tensorInvalid(path, { expected, got: ending === "" ? "no ending" : `.${ending}`, fix: 'Say "format" in the manifest.' });
}

/** A header and the names inside a file may take this much beside the values. */
const overheadBytes = 1024 * 1024;
/** An element takes at most this many bytes as a varint. */
const varintBytes = 10;

/**
 * Bytes that the file may have by what the manifest says, for a check before it is read.
 * @throws ConfigError tensor-invalid.
 */
export function checkFileSize(sizeBytes: number, file: TensorFile, path: string): void {
	const needed = neededBytes(file);
	const format = tensorFormat(file, path);
	const most = format === "raw" ? needed : overheadBytes + needed * (format === "npy" ? 1 : varintBytes);
	const least = format === "raw" ? needed : 0;
	if (sizeBytes <= most && sizeBytes >= least) return;
	const expected = format === "raw" ? `${needed} bytes` : `at most ${most} bytes`;
	throw tensorInvalid(path, { expected: `${expected} for ${file.dtype} [${file.shape.join(", ")}]`, got: `${sizeBytes} bytes` });
}

/** @throws ConfigError tensor-invalid. */
export function refuseLfsPointer(head: Uint8Array, path: string): void {
	if (!isLfsPointer(head)) return;
	const fix = "Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).";
	throw tensorInvalid(path, { expected: "the tensor", got: "a Git LFS pointer", fix });
}

/**
 * The tensor of a file, checked against the manifest before anything is allocated. The bytes may be kept as the tensor's own.
 * @throws ConfigError tensor-invalid.
 */
export function decodeTensor(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	refuseLfsPointer(bytes, path);
	switch (tensorFormat(file, path)) {
		case "raw":
			return decodeRaw(bytes, file, path);
		case "npy":
			return decodeNpy(bytes, file, path);
		case "tensor-proto":
			return decodeTensorProto(bytes, file, path);
		default:
			throw tensorInvalid(path, { expected: "a file of one tensor", got: "a file of several" });
	}
}
