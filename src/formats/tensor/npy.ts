// NumPy's .npy files, versions 1 to 3: read in either order and endianness, written as version 1.
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { formatName } from "../../core/found.ts";
import { isPacked, isSmall, nibbleAt } from "../../golden/core/tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import { checkLayout, formatLayout, tensorInvalid } from "./refusal.ts";

/** numpy's type letters and sizes; those of bfloat16 and below 16 bits are ml_dtypes'. */
const letters: Readonly<Record<DType, string>> = {
	float32: "f4",
	float16: "f2",
	bfloat16: "V2",
	float64: "f8",
	int8: "i1",
	uint8: "u1",
	int16: "i2",
	uint16: "u2",
	int32: "i4",
	uint32: "u4",
	int64: "i8",
	uint64: "u8",
	bool: "b1",
	float8e4m3fn: "V1",
	float8e5m2: "f1",
	int4: "V1",
	uint4: "V1",
	float4e2m1: "V1",
};

const dtypes = Object.keys(letters) as DType[];

export function decodeNpy(bytes: Uint8Array, file: TensorFile): Tensor {
	const header = parseNpyHeader(bytes, file);
	const { dtype, shape } = file;
	if (!/^[<>|=]/.test(header.descr) || header.descr.slice(1) !== letters[dtype]) {
		const expected = `${dtype}, which numpy writes as ${letters[dtype]}`;
		throw tensorInvalid(file, expected, describeType(header.descr));
	}
	checkLayout({ dtype, shape: header.shape }, file);
	const values = bytes.subarray(header.dataAt);
	const packed = isPacked(dtype);
	const needed = packed ? elementCount(shape) : tensorBytes(file);
	if (values.length !== needed) {
		const expected = `${needed} bytes of values for ${formatLayout(file)}`;
		throw tensorInvalid(file, expected, `${values.length} bytes`);
	}
	const size = packed ? 1 : elementBytes[dtype];
	// Misaligned values would slow down every read.
	const aligned = values.byteOffset % size === 0 ? values : values.slice();
	const little = header.descr.startsWith(">") && size > 1 ? swapBytes(values, size) : aligned;
	const data = header.fortranOrder && shape.length > 1 ? toRowMajor(little, shape, size) : little;
	return { dtype, shape, data: packed ? packHalves(data) : data };
}

/** In the header's layout; types that numpy has no letter for are read as the given one. */
export function decodeOwnNpy(bytes: Uint8Array, file: Pick<TensorFile, "path" | "dtype">): Tensor {
	const { descr, shape } = parseNpyHeader(bytes, file);
	const letter = descr.slice(1);
	const isOthers = /^V|^f1/.test(letter);
	const dtype = dtypes.find((name) => letters[name] === letter && (!isOthers || name === file.dtype));
	if (dtype === undefined)
		throw tensorInvalid(file, "numbers or bools", describeType(descr), "Cast the array before it is saved.");
	return decodeNpy(bytes, { path: file.path, sha256: "", dtype, shape });
}

function packHalves(bytes: Uint8Array) {
	const packed = new Uint8Array(Math.ceil(bytes.length / 2));
	for (let i = 0; i < bytes.length; i += 1)
		packed[i >>> 1] = (packed[i >>> 1] ?? 0) | (((bytes[i] as number) & 15) << (i & 1 ? 4 : 0));
	return packed;
}

function describeType(descr: string) {
	const dtype = dtypes.find((name) => letters[name] === descr.slice(1));
	return dtype === undefined ? `values of numpy type ${JSON.stringify(descr)}` : `${dtype} (${descr})`;
}

function swapBytes(bytes: Uint8Array, size: number) {
	const swapped = bytes.slice();
	for (let at = 0; at < bytes.length; at += size) swapped.subarray(at, at + size).reverse();
	return swapped;
}

function toRowMajor(bytes: Uint8Array, shape: readonly number[], size: number) {
	const rowMajor = new Uint8Array(bytes.length);
	const strides = shape.map((_, axis) => size * elementCount(shape.slice(0, axis)));
	const position = new Array<number>(shape.length).fill(0);
	let from = 0;
	for (let to = 0; to < bytes.length; to += size) {
		for (let i = 0; i < size; i += 1) rowMajor[to + i] = bytes[from + i] as number;
		for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
			const stride = strides[axis] as number;
			const next = (position[axis] as number) + 1;
			from += stride;
			position[axis] = next;
			if (next < (shape[axis] as number)) break;
			from -= next * stride;
			position[axis] = 0;
		}
	}
	return rowMajor;
}

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const prefixBytes = 10;
const headerAlignment = 64;

export function encodeNpy(tensor: Tensor): Uint8Array {
	const { dtype, shape, data } = tensor;
	const order = elementBytes[dtype] === 1 && !isSmall(dtype) ? "|" : "<";
	const values = isPacked(dtype)
		? Uint8Array.from({ length: elementCount(shape) }, (_, flat) => nibbleAt(data, flat))
		: data;
	const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
	const dict = `{'descr': '${order}${letters[dtype]}', 'fortran_order': False, 'shape': ${tuple}, }`;
	const headerBytes = Math.ceil((prefixBytes + dict.length + 1) / headerAlignment) * headerAlignment;
	const text = `${dict.padEnd(headerBytes - prefixBytes - 1)}\n`;
	const bytes = new Uint8Array(headerBytes + values.length);
	bytes.set([...magic, 1, 0, text.length & 0xff, text.length >> 8]);
	bytes.set(new TextEncoder().encode(text), prefixBytes);
	bytes.set(values, headerBytes);
	return bytes;
}

/** numpy's own limit for untrusted headers. */
const maxHeaderChars = 10_000;

function parseNpyHeader(bytes: Uint8Array, file: Pick<TensorFile, "path">) {
	if (magic.some((byte, at) => bytes[at] !== byte))
		throw tensorInvalid(file, "a .npy file", bytes.length === 0 ? "an empty file" : "no .npy magic");
	const version = bytes[magic.length] ?? 0;
	if (version < 1 || version > 3) throw tensorInvalid(file, ".npy version 1, 2 or 3", `version ${version}`);
	const textAt = version === 1 ? prefixBytes : prefixBytes + 2;
	const length = bytes.subarray(8, textAt).reduceRight((value, byte) => value * 256 + byte, 0);
	if (length > maxHeaderChars)
		throw tensorInvalid(file, `a header of at most ${maxHeaderChars} bytes`, `${length}`);
	const dataAt = textAt + length;
	if (bytes.length < dataAt) throw tensorInvalid(file, `a header of ${length} bytes`, "the end of the file");
	const text = Buffer.from(bytes.subarray(textAt, dataAt)).toString("latin1");
	return { ...parseDictionary(text, file), dataAt };
}

function parseDictionary(text: string, file: Pick<TensorFile, "path">) {
	const expected = "a plain array (descr, fortran_order, shape)";
	const problem = (got: string) =>
		tensorInvalid(file, expected, got, "Save one plain array with numpy.save.");
	const descr = /'descr'\s*:\s*(?:'([^']*)'|"([^"]*)"|(\[))/.exec(text);
	const order = /'fortran_order'\s*:\s*(True|False)\b/.exec(text);
	const shape = /'shape'\s*:\s*\(([\d,\sL]*)\)/.exec(text);
	if (descr?.[3] !== undefined) throw problem("an array of records");
	if (!descr || !order || !shape) throw problem(`the header ${formatName(text.trim())}`);
	const type = descr[1] ?? descr[2] ?? "";
	if (type.slice(1).startsWith("O")) throw problem("Python objects (a pickle), which are never loaded");
	const sizes = (shape[1] ?? "").split(",").map((part) => part.replace(/[\sL]/g, ""));
	return {
		descr: type,
		fortranOrder: order[1] === "True",
		shape: sizes.filter((size) => size !== "").map(Number),
	};
}
