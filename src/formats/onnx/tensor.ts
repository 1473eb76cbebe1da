// Reads TensorProto: everything but the payload, which is skipped unless it is small.

import { elementBits, elementTypeOfCode, tensorBytes } from "../../core/onnx/element-type.ts";
import type { OnnxDType, OnnxExternalData, OnnxInitializer } from "../../core/onnx/model.ts";
import {
	type FloatFormat,
	floatFormats,
	floatOf,
	halfFormat,
} from "../../golden/core/tensor/small-numbers.ts";
import { limits } from "./cursor.ts";
import type { NumberKind, WireReader } from "./wire.ts";

export function externalDataOf(
	wire: WireReader,
	tensor: string,
	pairs: readonly (readonly [string, string])[],
): OnnxExternalData {
	const entries = new Map(pairs);
	const size = (key: string): number | null => {
		const text = entries.get(key);
		if (text === undefined || text === "") return null;
		const value = Number(text);
		if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
		throw wire.fault(
			`gives ${JSON.stringify(text.slice(0, 40))} as ${key} of the external data of tensor ${JSON.stringify(tensor.slice(0, 80))}`,
		);
	};
	return { location: entries.get("location") ?? "", offset: size("offset") ?? 0, length: size("length") };
}

/** A StringStringEntryProto, as external_data has them: key 1, value 2. */
export function readPair(wire: WireReader): [string, string] {
	let key = "";
	let value = "";
	wire.message((field) => {
		if (field === 1) key = wire.text();
		else if (field === 2) value = wire.text();
	});
	return [key, value];
}

/** Fields of onnx.proto that hold values by type; string_data is 6. */
const typedFields: Readonly<Record<number, NumberKind>> = {
	4: "float",
	5: "int32",
	7: "int64",
	10: "double",
	11: "uint64",
};
const valueBytes = limits.valueElements * 16;
const typedBytes = limits.valueElements * 10;

function emptyDraft() {
	return {
		name: "",
		dtype: "undefined" as OnnxDType,
		dims: [] as number[],
		raw: null as Uint8Array | null,
		rawBytes: null as number | null,
		typed: [] as number[],
		typedBytes: 0,
		pairs: [] as [string, string][],
		isExternal: false,
	};
}

type Draft = ReturnType<typeof emptyDraft>;

export function readTensor(wire: WireReader): OnnxInitializer {
	wire.keep(4);
	const draft = emptyDraft();
	wire.message((field) => readTensorField(wire, field, draft));
	return finish(wire, draft);
}

function readTensorField(wire: WireReader, field: number, draft: Draft): void {
	const typed = typedFields[field];
	if (typed !== undefined) readTyped(wire, typed, draft);
	else if (field === 1) wire.numbers("int64", (size) => addDim(wire, draft.dims, size));
	else if (field === 2) draft.dtype = elementTypeOfCode(wire.int32());
	else if (field === 6) draft.typedBytes += wire.peekLength();
	else if (field === 8) draft.name = wire.text();
	else if (field === 9) {
		draft.rawBytes = wire.peekLength();
		draft.raw = wire.bytes(valueBytes);
	} else if (field === 13) draft.pairs.push(readPair(wire));
	else if (field === 14) draft.isExternal = wire.int32() === 1;
}

function addDim(wire: WireReader, dims: number[], size: number): void {
	if (dims.length >= limits.rank) throw wire.fault(`has a tensor of more than ${limits.rank} dimensions`);
	if (size < 0) throw wire.fault(`has a tensor with a negative dimension (${size})`);
	wire.keep();
	dims.push(size);
}

function readTyped(wire: WireReader, kind: NumberKind, draft: Draft): void {
	const bytes = wire.peekLength();
	draft.typedBytes += bytes;
	if (bytes > typedBytes) return;
	wire.numbers(kind, (value) => {
		if (draft.typed.length <= limits.valueElements) draft.typed.push(value);
	});
}

function finish(wire: WireReader, draft: Draft): OnnxInitializer {
	const { name, dtype, dims, raw, rawBytes, typed, typedBytes } = draft;
	const elements = dims.reduce((product, size) => product * size, 1);
	if (draft.isExternal) {
		const external = externalDataOf(wire, name, draft.pairs);
		const bytes = external.length ?? tensorBytes(dtype, elements) ?? 0;
		return { name, dtype, dims, bytes, storage: "external", external };
	}
	const storage = rawBytes !== null ? "raw" : typedBytes > 0 ? "typed" : "none";
	const given = { name, dtype, dims, bytes: rawBytes ?? typedBytes, storage } as const;
	if (elements > limits.valueElements || (rawBytes !== null && raw === null)) return given;
	const values = raw === null ? valuesOfTyped(dtype, typed, elements) : valuesOfRaw(dtype, raw, elements);
	return values === null ? given : { ...given, values };
}

/** SparseTensorProto: values 1 (which carries the name), indices 2, dims 3. */
export function readSparseTensor(wire: WireReader): OnnxInitializer {
	let values: OnnxInitializer = { name: "", dtype: "undefined", dims: [], bytes: 0, storage: "none" };
	let indexBytes = 0;
	const dims: number[] = [];
	wire.message((field) => {
		if (field === 1) values = readTensor(wire);
		else if (field === 2) indexBytes = readTensor(wire).bytes;
		else if (field === 3) wire.numbers("int64", (size) => addDim(wire, dims, size));
	});
	const { name, dtype, bytes, storage, external } = values;
	return {
		name,
		dtype,
		dims,
		bytes: bytes + indexBytes,
		storage,
		sparse: true,
		...(external && { external }),
	};
}

// Turns the bytes or typed entries of a small tensor into numbers, floats of 4 to 16 bits included.

/** Formats defined in the ONNX pages "Float stored in 8 bits" and "Float stored in 4 bits", and by IEEE 754. */
const formats: Partial<Record<OnnxDType, FloatFormat>> = {
	...floatFormats,
	float16: halfFormat,
	bfloat16: { exponentBits: 8, fractionBits: 7, bias: 127, special: "ieee" },
	float8e4m3fnuz: { exponentBits: 4, fractionBits: 3, bias: 8, special: "unsigned-zero" },
	float8e5m2fnuz: { exponentBits: 5, fractionBits: 2, bias: 16, special: "unsigned-zero" },
};

function decodeSmallFloat(dtype: OnnxDType, bits: number): number | null {
	if (dtype === "float8e8m0") return bits === 255 ? Number.NaN : 2 ** (bits - 127);
	const format = formats[dtype];
	return format === undefined ? null : floatOf(bits, format);
}

type ReadElement = (view: DataView, offset: number) => number;

const wholeElements: Partial<Record<OnnxDType, ReadElement>> = {
	float: (view, offset) => view.getFloat32(offset, true),
	double: (view, offset) => view.getFloat64(offset, true),
	int8: (view, offset) => view.getInt8(offset),
	uint8: (view, offset) => view.getUint8(offset),
	bool: (view, offset) => view.getUint8(offset),
	int16: (view, offset) => view.getInt16(offset, true),
	uint16: (view, offset) => view.getUint16(offset, true),
	int32: (view, offset) => view.getInt32(offset, true),
	uint32: (view, offset) => view.getUint32(offset, true),
	int64: (view, offset) => Number(view.getBigInt64(offset, true)),
	uint64: (view, offset) => Number(view.getBigUint64(offset, true)),
};

function valuesOfRaw(dtype: OnnxDType, raw: Uint8Array, elements: number): number[] | null {
	if (tensorBytes(dtype, elements) !== raw.length) return null;
	const view = new DataView(raw.buffer, raw.byteOffset, raw.length);
	const bits = elementBits(dtype) ?? 8;
	const readWhole = wholeElements[dtype];
	const values: number[] = [];
	for (let index = 0; index < elements; index++) {
		const value = readWhole
			? readWhole(view, (index * bits) / 8)
			: decodeBits(dtype, bits, bitsAt(view, index, bits));
		if (value === null) return null;
		values.push(value);
	}
	return values;
}

/** Values of float_data, int32_data and similar fields; int32_data holds small floats and packed nibbles as bits. */
function valuesOfTyped(dtype: OnnxDType, entries: readonly number[], elements: number): number[] | null {
	const bits = elementBits(dtype);
	if (bits === null || dtype.startsWith("complex")) return null;
	if (bits < 8) return valuesOfRaw(dtype, Uint8Array.from(entries), elements);
	if (entries.length !== elements) return null;
	if (wholeElements[dtype]) return [...entries];
	const values = entries.map((entry) => decodeSmallFloat(dtype, entry & ((1 << bits) - 1)));
	return values.every((value) => value !== null) ? values : null;
}

function bitsAt(view: DataView, index: number, bits: number): number {
	if (bits === 16) return view.getUint16(index * 2, true);
	const bit = index * bits;
	return (view.getUint8(Math.floor(bit / 8)) >>> (bit % 8)) & ((1 << bits) - 1);
}

function decodeBits(dtype: OnnxDType, width: number, bits: number): number | null {
	if (dtype === "uint4" || dtype === "uint2") return bits;
	if (dtype === "int4" || dtype === "int2") return bits >= 1 << (width - 1) ? bits - (1 << width) : bits;
	return decodeSmallFloat(dtype, bits);
}
