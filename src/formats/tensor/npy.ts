// NumPy's .npy files, versions 1 to 3: read in either order and endianness, written as version 1.

import type { DType, TensorFile } from "../../../generated/golden.ts";
import { formatName } from "../../core/config/pointer.ts";
import { isPacked, isSmall, nibbleAt } from "../../core/golden/tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import { formatLayout, tensorInvalid } from "./refusal.ts";

/** numpy's type letters with the size; bfloat16 has none and is written as two bytes of anything. */
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
	// numpy has none of these either: so ml_dtypes writes them. 4-bit numbers take a byte each.
	float8e4m3fn: "V1",
	float8e5m2: "f1",
	int4: "V1",
	uint4: "V1",
	float4e2m1: "V1",
};

const dtypes = Object.keys(letters) as DType[];

export function decodeNpy(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	const header = parseNpyHeader(bytes, path);
	checkHeader(header, file, path);
	const values = bytes.subarray(header.dataAt);
	const needed = isPacked(file.dtype) ? elementCount(file.shape) : tensorBytes(file);
	if (values.length !== needed) {
		throw tensorInvalid(path, {
			expected: `${needed} bytes of values for ${formatLayout(file)}`,
			got: `${values.length} bytes`,
		});
	}
	if (isPacked(file.dtype))
		return { dtype: file.dtype, shape: file.shape, data: packHalves(orderedBytes(values, header, 1)) };
	const size = elementBytes[file.dtype];
	// A view, unless the values are misaligned, which would slow down every read.
	const aligned = values.byteOffset % size === 0 ? values : values.slice();
	const little = header.descr.startsWith(">") && size > 1 ? swapBytes(values, size) : aligned;
	return { dtype: file.dtype, shape: file.shape, data: orderedBytes(little, header, size) };
}

/** An array in the layout that its header states. numpy has letters only for its own types: others are read as `wanted`, if possible. */
export function decodeOwnNpy(bytes: Uint8Array, path: string, wanted?: DType): Tensor {
	const { descr, shape } = parseNpyHeader(bytes, path);
	const letter = descr.slice(1);
	const isOthers = /^V|^f1/.test(letter);
	const dtype = dtypes.find((name) => letters[name] === letter && (!isOthers || name === wanted));
	if (dtype === undefined) {
		throw tensorInvalid(path, {
			expected: "numbers or bools",
			got: describeType(descr),
			fix: "Cast the array before it is saved.",
		});
	}
	return decodeNpy(bytes, { path, sha256: "", dtype, shape }, path);
}

function orderedBytes(bytes: Uint8Array, { fortranOrder, shape }: NpyHeader, size: number): Uint8Array {
	return fortranOrder && shape.length > 1 ? toRowMajor(bytes, shape, size) : bytes;
}

/** From a byte each to two in a byte, the first in the low half. */
function packHalves(bytes: Uint8Array): Uint8Array {
	const packed = new Uint8Array(Math.ceil(bytes.length / 2));
	for (let i = 0; i < bytes.length; i += 1)
		packed[i >>> 1] = (packed[i >>> 1] ?? 0) | (((bytes[i] as number) & 15) << (i & 1 ? 4 : 0));
	return packed;
}

function checkHeader(header: NpyHeader, file: TensorFile, path: string): void {
	const letter = header.descr.slice(1);
	if (!/^[<>|=]/.test(header.descr) || letter !== letters[file.dtype]) {
		throw tensorInvalid(path, {
			expected: `${file.dtype}, which numpy writes as ${letters[file.dtype]}`,
			got: describeType(header.descr),
		});
	}
	const same =
		header.shape.length === file.shape.length &&
		header.shape.every((size, axis) => size === file.shape[axis]);
	if (!same)
		throw tensorInvalid(path, {
			expected: formatLayout(file),
			got: formatLayout({ dtype: file.dtype, shape: header.shape }),
		});
}

function describeType(descr: string): string {
	const dtype = dtypes.find((name) => letters[name] === descr.slice(1));
	return dtype === undefined ? `values of numpy type ${JSON.stringify(descr)}` : `${dtype} (${descr})`;
}

function swapBytes(bytes: Uint8Array, size: number): Uint8Array {
	const swapped = new Uint8Array(bytes.length);
	for (let at = 0; at < bytes.length; at += size) {
		for (let i = 0; i < size; i += 1) swapped[at + i] = bytes[at + size - 1 - i] as number;
	}
	return swapped;
}

function toRowMajor(bytes: Uint8Array, shape: readonly number[], size: number): Uint8Array {
	const rowMajor = new Uint8Array(bytes.length);
	const strides = shape.map(
		(_, axis) => size * shape.slice(0, axis).reduce((product, length) => product * length, 1),
	);
	const position = new Array<number>(shape.length).fill(0);
	let from = 0;
	for (let to = 0; to < bytes.length; to += size) {
		for (let i = 0; i < size; i += 1) rowMajor[to + i] = bytes[from + i] as number;
		from = stepOn(position, from, { shape, strides });
	}
	return rowMajor;
}

/** Moves to the next element in row-major order and returns where it lies. */
function stepOn(
	position: number[],
	from: number,
	layout: { shape: readonly number[]; strides: readonly number[] },
): number {
	let at = from;
	for (let axis = position.length - 1; axis >= 0; axis -= 1) {
		const stride = layout.strides[axis] as number;
		const next = (position[axis] as number) + 1;
		if (next < (layout.shape[axis] as number)) {
			position[axis] = next;
			return at + stride;
		}
		at -= (next - 1) * stride;
		position[axis] = 0;
	}
	return at;
}

const magicVersion1 = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0];
const headerAlignment = 64;

export function encodeNpy(tensor: Tensor): Uint8Array {
	const { shape } = tensor;
	const letter = letters[tensor.dtype];
	const order = elementBytes[tensor.dtype] === 1 && !isSmall(tensor.dtype) ? "|" : "<";
	const values = isPacked(tensor.dtype) ? unpackHalves(tensor) : tensor.data;
	const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
	const dict = `{'descr': '${order}${letter}', 'fortran_order': False, 'shape': ${tuple}, }`;
	const unpadded = magicVersion1.length + 2 + dict.length + 1;
	const headerBytes = Math.ceil(unpadded / headerAlignment) * headerAlignment;
	const text = `${dict}${" ".repeat(headerBytes - unpadded)}\n`;
	const bytes = new Uint8Array(headerBytes + values.length);
	bytes.set(magicVersion1);
	bytes.set([text.length & 0xff, text.length >> 8], magicVersion1.length);
	bytes.set(new TextEncoder().encode(text), magicVersion1.length + 2);
	bytes.set(values, headerBytes);
	return bytes;
}

function unpackHalves({ data, shape }: Tensor): Uint8Array {
	return Uint8Array.from({ length: elementCount(shape) }, (_, flat) => nibbleAt(data, flat));
}

interface NpyHeader {
	/** numpy's type string, e.g. `<f4`. */
	descr: string;
	fortranOrder: boolean;
	shape: number[];
	/** Offset of the first value. */
	dataAt: number;
}

const maxHeaderChars = 10_000;
const prefixBytes = 8;
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

function parseNpyHeader(bytes: Uint8Array, path: string): NpyHeader {
	if (magic.some((byte, at) => bytes[at] !== byte))
		throw tensorInvalid(path, {
			expected: "a .npy file",
			got: bytes.length === 0 ? "an empty file" : "no .npy magic",
		});
	const version = bytes[magic.length] ?? 0;
	if (version < 1 || version > 3)
		throw tensorInvalid(path, { expected: ".npy version 1, 2 or 3", got: `version ${version}` });
	const lengthBytes = version === 1 ? 2 : 4;
	const textAt = prefixBytes + lengthBytes;
	const length = littleEndian(bytes, prefixBytes, textAt);
	if (length > maxHeaderChars)
		throw tensorInvalid(path, { expected: `a header of at most ${maxHeaderChars} bytes`, got: `${length}` });
	const dataAt = textAt + length;
	if (bytes.length < dataAt)
		throw tensorInvalid(path, { expected: `a header of ${length} bytes`, got: "the end of the file" });
	if (known === null || known.dataAt !== dataAt || !startsWith(bytes, known.head)) {
		known = {
			...parseDictionary(latin1(bytes.subarray(textAt, dataAt)), path),
			dataAt,
			head: bytes.slice(0, dataAt),
		};
	}
	return { descr: known.descr, fortranOrder: known.fortranOrder, shape: [...known.shape], dataAt };
}

/** The previous header: many small arrays often repeat it. */
let known: (NpyHeader & { head: Uint8Array }) | null = null;

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
	for (let at = 0; at < head.length; at += 1) if (bytes[at] !== head[at]) return false;
	return true;
}

function parseDictionary(text: string, path: string): Omit<NpyHeader, "dataAt"> {
	const problem = (got: string): Error =>
		tensorInvalid(path, {
			expected: "a plain array (descr, fortran_order, shape)",
			got,
			fix: "Save one plain array with numpy.save.",
		});
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

function littleEndian(bytes: Uint8Array, from: number, to: number): number {
	let value = 0;
	for (let at = to - 1; at >= from; at -= 1) value = value * 256 + (bytes[at] ?? 0);
	return value;
}

/** Spreading bytes into arguments takes ten times as long. */
function latin1(bytes: Uint8Array): string {
	let text = "";
	for (const byte of bytes) text += String.fromCharCode(byte);
	return text;
}
