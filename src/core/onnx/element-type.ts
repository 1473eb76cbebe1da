// ONNX element types: their sizes, codes, and the dtypes of tensor files that they are.

import type { DType } from "../schema/golden.ts";
import type { OnnxDType } from "./model.ts";

/** By `TensorProto.DataType`, onnx.proto of ONNX 1.23. */
const namesByCode: readonly OnnxDType[] = [
	"undefined",
	"float",
	"uint8",
	"int8",
	"uint16",
	"int16",
	"int32",
	"int64",
	"string",
	"bool",
	"float16",
	"double",
	"uint32",
	"uint64",
	"complex64",
	"complex128",
	"bfloat16",
	"float8e4m3fn",
	"float8e4m3fnuz",
	"float8e5m2",
	"float8e5m2fnuz",
	"uint4",
	"int4",
	"float4e2m1",
	"float8e8m0",
	"uint2",
	"int2",
	"float6e2m3",
	"float6e3m2",
];

/** Bits of one element; elements of less than a byte are packed. Absent: no fixed size, or a packing that is not settled (6 bits). */
const bits: Partial<Record<OnnxDType, number>> = {
	float: 32,
	uint8: 8,
	int8: 8,
	uint16: 16,
	int16: 16,
	int32: 32,
	int64: 64,
	bool: 8,
	float16: 16,
	double: 64,
	uint32: 32,
	uint64: 64,
	complex64: 64,
	complex128: 128,
	bfloat16: 16,
	float8e4m3fn: 8,
	float8e4m3fnuz: 8,
	float8e5m2: 8,
	float8e5m2fnuz: 8,
	uint4: 4,
	int4: 4,
	float4e2m1: 4,
	float8e8m0: 8,
	uint2: 2,
	int2: 2,
};

export function elementTypeOfCode(code: number): OnnxDType {
	return namesByCode[code] ?? "unknown";
}

export function codeOfElementType(dtype: OnnxDType): number {
	return Math.max(0, namesByCode.indexOf(dtype));
}

/** Bits of one element, or null where the type has no fixed size. */
export function elementBits(dtype: OnnxDType): number | null {
	return bits[dtype] ?? null;
}

/** Bytes that a tensor's values take, or null where its type has no fixed size. */
export function tensorBytes(dtype: OnnxDType, elements: number): number | null {
	const elementSize = elementBits(dtype);
	return elementSize === null ? null : Math.ceil((elements * elementSize) / 8);
}

const names: Partial<Record<OnnxDType, DType>> = {
	float: "float32",
	double: "float64",
	float16: "float16",
	bfloat16: "bfloat16",
	int8: "int8",
	uint8: "uint8",
	int16: "int16",
	uint16: "uint16",
	int32: "int32",
	uint32: "uint32",
	int64: "int64",
	uint64: "uint64",
	bool: "bool",
	float8e4m3fn: "float8e4m3fn",
	float8e5m2: "float8e5m2",
	int4: "int4",
	uint4: "uint4",
	float4e2m1: "float4e2m1",
};

/** null: an element type that no tensor file of ours can hold (strings, complex numbers, the rarer small numbers). */
export function toDType(dtype: OnnxDType): DType | null {
	return names[dtype] ?? null;
}
