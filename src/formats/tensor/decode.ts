// Decodes a tensor file in any format that a golden manifest may name.

import type { BytesPreprocess, DType, TensorFile } from "../../../generated/golden.ts";
import { encodeTensor } from "../../core/golden/record/generators/encode.ts";
import { isPacked } from "../../core/golden/tensor/small-numbers.ts";
import { type Tensor, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { maxImageBytes } from "../image/header.ts";
import { decodeNpzMember, type Inflate, npzMember } from "../npz/npz.ts";
import { isLfsPointer } from "../onnx/head.ts";
import {
	decodePolygraphy,
	maxPolygraphyBytes,
	parsePolygraphy,
	polygraphyMember,
} from "../polygraphy/polygraphy.ts";
import { decodeOwnSafetensor, decodeSafetensor } from "../safetensors/safetensors.ts";
import { decodeNpy, decodeOwnNpy } from "./npy.ts";
import { formatLayout, tensorInvalid } from "./refusal.ts";
import { decodeTensorProto } from "./tensor-proto.ts";

type TensorFormat = NonNullable<TensorFile["format"]>;

/** Files of one tensor that are read whole, and files of several of which one is read by its place. */
type SingleFormat = "raw" | "npy" | "tensor-proto";
type ContainerFormat = "npz" | "safetensors" | "polygraphy";

const formatByEnding: Readonly<Record<string, TensorFormat>> = {
	raw: "raw",
	bin: "raw",
	npy: "npy",
	npz: "npz",
	safetensors: "safetensors",
	pb: "tensor-proto",
	json: "polygraphy",
	png: "image",
	jpg: "image",
	jpeg: "image",
};

/** By the manifest, else by the name's ending. @throws ConfigError tensor-invalid where neither tells. */
export function tensorFormat(file: TensorFile, path: string): TensorFormat {
	const ending = /\.([^./]+)$/.exec(file.path)?.[1]?.toLowerCase() ?? "";
	const format = file.format ?? (Object.hasOwn(formatByEnding, ending) ? formatByEnding[ending] : undefined);
	if (format !== undefined) return format;
	const endings = Object.keys(formatByEnding).map((known) => `.${known}`);
	const expected = `a name that ends in ${endings.slice(0, -1).join(", ")} or ${endings.at(-1)}`;
	throw tensorInvalid(path, {
		expected,
		got: ending === "" ? "no ending" : `.${ending}`,
		fix: 'Add "format" to the manifest.',
	});
}

export function isContainer(format: TensorFormat): format is ContainerFormat {
	return format === "npz" || format === "safetensors" || format === "polygraphy";
}

const overheadBytes = 1024 * 1024;
/** An element takes at most this many bytes as a varint, or as a byte of its own where two share one. */
const varintBytes = 10;

/** Hashing more than this takes minutes. */
const maxContainerBytes = 2 ** 36;

/**
 * Bytes that the file may have by what the manifest says, for a check before it is read.
 * @throws ConfigError tensor-invalid.
 */
export function checkFileSize(sizeBytes: number, file: TensorFile, path: string): void {
	const { least, most } = sizeLimits(file, path);
	if (sizeBytes <= most && sizeBytes >= least) return;
	const expected = least === most ? `${most} bytes` : `at most ${most} bytes`;
	throw tensorInvalid(path, {
		expected: `${expected} for ${file.dtype} [${file.shape.join(", ")}]`,
		got: `${sizeBytes} bytes`,
	});
}

function sizeLimits(file: TensorFile, path: string): { least: number; most: number } {
	const needed = tensorBytes(file);
	switch (tensorFormat(file, path)) {
		case "raw":
			return { least: needed, most: needed };
		case "npy":
			return { least: 0, most: overheadBytes + needed * (isPacked(file.dtype) ? 2 : 1) };
		case "tensor-proto":
			return { least: 0, most: overheadBytes + needed * varintBytes };
		case "image":
			return { least: 0, most: maxImageBytes };
		case "polygraphy":
			return { least: 0, most: maxPolygraphyBytes };
		default:
			return { least: 0, most: maxContainerBytes };
	}
}

/** @throws ConfigError tensor-invalid. */
export function refuseLfsPointer(head: Uint8Array, path: string): void {
	if (!isLfsPointer(head)) return;
	const fix = "Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).";
	throw tensorInvalid(path, { expected: "the tensor", got: "a Git LFS pointer", fix });
}

/**
 * The tensor of a file of one tensor, checked against the manifest before anything is allocated. The bytes may be kept as its own.
 * @throws ConfigError tensor-invalid.
 */
export function decodeTensor(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	refuseLfsPointer(bytes, path);
	const format = tensorFormat(file, path);
	if (isContainer(format) || format === "image")
		throw tensorInvalid(path, { expected: "a file of one tensor", got: format });
	return decoders[format](bytes, file, path);
}

const decoders: Readonly<
	Record<SingleFormat, (bytes: Uint8Array, file: TensorFile, path: string) => Tensor>
> = {
	raw: decodeRaw,
	npy: decodeNpy,
	"tensor-proto": decodeTensorProto,
};

interface MemberSource {
	path: string;
	inflate: Inflate;
	once(parse: () => object): object;
}

/**
 * One tensor of a file of several; only its own bytes are read, of Polygraphy's JSON all.
 * @throws ConfigError tensor-invalid.
 */
export function decodeMember(source: ByteSource, file: TensorFile, place: MemberSource): Tensor {
	const { path, inflate, once } = place;
	const { member } = file;
	if (member === undefined)
		throw tensorInvalid(path, {
			expected: "the name of a tensor in it",
			got: "none",
			fix: 'Add "member" to the manifest.',
		});
	switch (tensorFormat(file, path)) {
		case "npz":
			return decodeNpzMember(source, file, { path, member, inflate });
		case "safetensors":
			return decodeSafetensor(source, file, { path, member });
		case "polygraphy":
			return decodePolygraphy(
				once(() => parsePolygraphy(source.read(0, source.size), path)),
				file,
				{ path, member },
			);
		default:
			throw tensorInvalid(path, { expected: "a file of several tensors", got: "a file of one" });
	}
}

export interface OwnSource {
	path: string;
	ending: "npy" | "npz" | "safetensors" | "json";
	member: string;
	/** What is expected where numpy has no name for the type. */
	dtype: DType;
	inflate: Inflate;
}

const maxBytes = 2 ** 32;
const headBytes = 512;

/** @throws ConfigError tensor-invalid. */
export function decodeOwn(source: ByteSource, place: OwnSource): Tensor {
	const { path, ending, dtype } = place;
	refuseLfsPointer(source.read(0, headBytes), path);
	const most = ending === "json" ? maxPolygraphyBytes : maxBytes;
	if (source.size > most && ending !== "npz" && ending !== "safetensors")
		throw tensorInvalid(path, { expected: `at most ${most} bytes`, got: `${source.size}` });
	switch (ending) {
		case "npy":
			return decodeOwnNpy(source.read(0, source.size), path, dtype);
		case "npz":
			return decodeOwnNpy(npzMember(source, maxBytes, place), path, dtype);
		case "json":
			return decodeOwnNpy(
				polygraphyMember(parsePolygraphy(source.read(0, source.size), path), {}, place),
				path,
				dtype,
			);
		case "safetensors":
			return decodeOwnSafetensor(source, place);
	}
}

function decodeRaw(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	const needed = tensorBytes(file);
	if (bytes.length !== needed) {
		throw tensorInvalid(path, {
			expected: `${needed} bytes for ${formatLayout(file)}`,
			got: `${bytes.length} bytes`,
		});
	}
	return { dtype: file.dtype, shape: file.shape, data: bytes };
}

// From the bytes of any file to a tensor: the first ones and the last ones, with padding where there are too few.

interface BytesInput {
	dtype: DType;
	/** Where neither head nor tail is given; null: all of the file. */
	length: number | null;
	shapeOf(elements: number): readonly number[];
}

/** Padding stands behind the first bytes and before the last ones. */
export function tensorOfBytes(file: Uint8Array, input: BytesInput, how: BytesPreprocess): Tensor {
	const bytes = how.strip === true ? stripped(file) : file;
	const tail = how.tail ?? 0;
	const head = how.head ?? (how.tail === undefined ? (input.length ?? bytes.length) : 0);
	const padding = how.padding ?? 0;
	return encodeTensor(
		input.dtype,
		input.shapeOf(head + tail),
		(at) => (at < head ? bytes[at] : bytes[bytes.length - head - tail + at]) ?? padding,
	);
}

/** ASCII's white space, as Python's bytes.strip() has it. */
function isSpace(byte: number | undefined): boolean {
	return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

function stripped(bytes: Uint8Array): Uint8Array {
	let [start, end] = [0, bytes.length];
	while (start < end && isSpace(bytes[start])) start += 1;
	while (end > start && isSpace(bytes[end - 1])) end -= 1;
	return bytes.subarray(start, end);
}
