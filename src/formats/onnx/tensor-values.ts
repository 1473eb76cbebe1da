// Turns the bytes or typed entries of a small tensor into numbers.
import { elementBits, tensorBytes } from "../../core/onnx/element-type.ts";
import type { OnnxDType } from "../../core/onnx/model.ts";
import { decodeSmallFloat } from "./small-floats.ts";

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

/** The values of raw_data, or null where its length does not fit or the type holds no numbers. */
export function valuesOfRaw(dtype: OnnxDType, raw: Uint8Array, elements: number): number[] | null {
	if (tensorBytes(dtype, elements) !== raw.length) return null;
	const view = new DataView(raw.buffer, raw.byteOffset, raw.length);
	const bits = elementBits(dtype) ?? 8;
	const readWhole = wholeElements[dtype];
	const values: number[] = [];
	for (let index = 0; index < elements; index++) {
		const value = readWhole ? readWhole(view, (index * bits) / 8) : decodeBits(dtype, bits, bitsAt(view, index, bits));
		if (value === null) return null;
		values.push(value);
	}
	return values;
}

/** The values of float_data, int32_data and their like: int32_data holds small floats and packed nibbles as bits. */
export function valuesOfTyped(dtype: OnnxDType, entries: readonly number[], elements: number): number[] | null {
	const bits = elementBits(dtype);
	if (bits === null || dtype.startsWith("complex")) return null;
	if (bits < 8) return valuesOfRaw(dtype, Uint8Array.from(entries), elements);
	if (entries.length !== elements) return null;
	if (wholeElements[dtype]) return [...entries];
	const values = entries.map((entry) => decodeSmallFloat(dtype, entry & ((1 << bits) - 1)));
	return values.every((value) => value !== null) ? values : null;
}

/** Elements of less than a byte lie from the low bits up. */
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
