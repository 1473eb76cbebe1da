// Decodes a tensor file in any format that a golden manifest may name.

import type { TensorFile } from "../../../generated/golden.ts";
import { isPacked } from "../../golden/core/tensor/small-numbers.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import {
	maxPolygraphyBytes,
	parsePolygraphy,
	polygraphyMember,
} from "../../golden/formats/polygraphy/polygraphy.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { maxImageBytes } from "../image/header.ts";
import { isLfsPointer } from "../onnx/head.ts";
import { decodeOwnSafetensor, decodeSafetensor } from "../safetensors/safetensors.ts";
import { findZipEntries } from "../zip/zip.ts";
import { decodeNpy, decodeOwnNpy } from "./npy.ts";
import { formatLayout, type MemberFile, memberMissing, tensorInvalid } from "./refusal.ts";
import { decodeTensorProto } from "./tensor-proto.ts";

type TensorFormat = NonNullable<TensorFile["format"]>;

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

export function tensorFormat(file: TensorFile): TensorFormat {
	const ending = /\.([^./]+)$/.exec(file.path)?.[1]?.toLowerCase() ?? "";
	const format = file.format ?? (Object.hasOwn(formatByEnding, ending) ? formatByEnding[ending] : undefined);
	if (format !== undefined) return format;
	const endings = Object.keys(formatByEnding).map((known) => `.${known}`);
	const expected = `a name that ends in ${endings.slice(0, -1).join(", ")} or ${endings.at(-1)}`;
	const got = ending === "" ? "no ending" : `.${ending}`;
	throw tensorInvalid(file, expected, got, 'Add "format" to the manifest.');
}

export function isContainer(format: TensorFormat): boolean {
	return format === "npz" || format === "safetensors" || format === "polygraphy";
}

const overheadBytes = 1024 * 1024;
/** Longest element as a varint. */
const varintBytes = 10;

const maxContainerBytes = 2 ** 36;

/** Is called before the file is read. @throws ConfigError tensor-invalid. */
export function checkFileSize(sizeBytes: number, file: TensorFile): void {
	const format = tensorFormat(file);
	const needed = tensorBytes(file);
	const most: Readonly<Record<TensorFormat, number>> = {
		raw: needed,
		npy: overheadBytes + needed * (isPacked(file.dtype) ? 2 : 1),
		"tensor-proto": overheadBytes + needed * varintBytes,
		image: maxImageBytes,
		polygraphy: maxPolygraphyBytes,
		npz: maxContainerBytes,
		safetensors: maxContainerBytes,
	};
	const isExact = format === "raw";
	if (sizeBytes <= most[format] && (!isExact || sizeBytes === needed)) return;
	const expected = `${isExact ? "" : "at most "}${most[format]} bytes for ${formatLayout(file)}`;
	throw tensorInvalid(file, expected, `${sizeBytes} bytes`);
}

export function refuseLfsPointer(head: Uint8Array, file: Pick<TensorFile, "path">): void {
	if (!isLfsPointer(head)) return;
	const fix = "Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).";
	throw tensorInvalid(file, "the tensor", "a Git LFS pointer", fix);
}

/** Checks all before it allocates. The tensor may keep the bytes. @throws ConfigError tensor-invalid. */
export function decodeTensor(bytes: Uint8Array, file: TensorFile): Tensor {
	refuseLfsPointer(bytes, file);
	const format = tensorFormat(file);
	if (format === "npy") return decodeNpy(bytes, file);
	if (format === "tensor-proto") return decodeTensorProto(bytes, file);
	const needed = tensorBytes(file);
	if (bytes.length !== needed)
		throw tensorInvalid(file, `${needed} bytes for ${formatLayout(file)}`, `${bytes.length} bytes`);
	return { dtype: file.dtype, shape: file.shape, data: bytes };
}

/** Reads only the tensor's own bytes if the format allows. @throws ConfigError tensor-invalid. */
export function decodeMember(
	source: ByteSource,
	file: TensorFile,
	{ inflate, once }: { inflate: Inflate; once(parse: () => object): object },
): Tensor {
	const { member } = file;
	if (member === undefined)
		throw tensorInvalid(file, "the name of a tensor in it", "none", 'Add "member" to the manifest.');
	const format = tensorFormat(file);
	const named = { ...file, member };
	// numpy has no 4-bit numbers: each takes a byte.
	const most = 2 * tensorBytes(file) + maxHeaderBytes;
	if (format === "npz") return decodeNpy(npzMember(source, named, most, inflate), file);
	if (format === "safetensors") return decodeSafetensor(source, named);
	const document = once(() => parsePolygraphy(source.read(0, source.size), file));
	return decodeNpy(polygraphyMember(document, named), file);
}

const maxBytes = 2 ** 32;
const headBytes = 512;

export const ownEndings = ["npy", "npz", "safetensors", "json"] as const;

/** A tensor that no manifest describes, in its own layout. @throws ConfigError tensor-invalid. */
export function decodeOwn(
	source: ByteSource,
	file: MemberFile & Pick<TensorFile, "dtype">,
	ending: (typeof ownEndings)[number],
	inflate: Inflate,
): Tensor {
	refuseLfsPointer(source.read(0, headBytes), file);
	if (ending === "safetensors") return decodeOwnSafetensor(source, file);
	if (ending === "npz") return decodeOwnNpy(npzMember(source, file, maxBytes, inflate), file);
	const most = ending === "json" ? maxPolygraphyBytes : maxBytes;
	if (source.size > most) throw tensorInvalid(file, `at most ${most} bytes`, `${source.size}`);
	const bytes = source.read(0, source.size);
	return decodeOwnNpy(ending === "npy" ? bytes : polygraphyMember(parsePolygraphy(bytes, file), file), file);
}

/** Inflates raw deflate data to at most `bytes` bytes; throws if it is broken or becomes more. */
export type Inflate = (packed: Uint8Array, bytes: number) => Uint8Array;

const maxHeaderBytes = 10_000 + 12;
/** Deflate adds five bytes per block that it cannot compress. */
const packingShare = 1.01;
const packingBytes = 1024;

/** A member of a .npz archive, inflated no further than needed. */
function npzMember(source: ByteSource, file: MemberFile, most: number, inflate: Inflate) {
	const { bytes, packedBytes, dataAt, method } = findMember(source, file);
	if (bytes > most || packedBytes > most * packingShare + packingBytes) {
		const expected = `at most ${most} bytes in member ${JSON.stringify(file.member)}`;
		throw tensorInvalid(file, expected, `${bytes}, packed ${packedBytes}`);
	}
	const packed = source.read(dataAt, packedBytes);
	if (method === "stored") return packed;
	let got = "broken data, or more";
	try {
		const inflated = inflate(packed, bytes);
		if (inflated.length === bytes) return inflated;
		got = `${inflated.length}`;
	} catch {
		// zlib's own message adds nothing.
	}
	throw tensorInvalid(file, `${bytes} bytes of deflated data`, got);
}

function findMember(source: ByteSource, file: MemberFile) {
	const seen: string[] = [];
	const entries = findZipEntries(source, (name) => {
		if (seen.length < 64) seen.push(name.replace(/\.npy$/, ""));
		return name === `${file.member}.npy`;
	});
	if (typeof entries === "string") throw tensorInvalid(file, "a .npz archive", entries);
	const [entry] = entries;
	if (entry === undefined) throw memberMissing(file, seen);
	if (entries.length === 1) return entry;
	throw tensorInvalid(file, `one member ${JSON.stringify(file.member)}`, `${entries.length}`);
}
