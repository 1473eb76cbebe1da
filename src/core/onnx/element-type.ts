// ONNX element types: their sizes, codes, and the dtypes of tensor files that they are.
import type { DType } from "../../../generated/golden.ts";

/**
 * `TensorProto.DataType` of onnx.proto in ONNX 1.23: bits of one element, which may be packed below a byte, and the dtype of a
 * tensor file. Without bits: no fixed size, or a packing that is not settled (6 bits).
 */
const types = [
	["undefined"],
	["float", 32, "float32"],
	["uint8", 8, "uint8"],
	["int8", 8, "int8"],
	["uint16", 16, "uint16"],
	["int16", 16, "int16"],
	["int32", 32, "int32"],
	["int64", 64, "int64"],
	["string"],
	["bool", 8, "bool"],
	["float16", 16, "float16"],
	["double", 64, "float64"],
	["uint32", 32, "uint32"],
	["uint64", 64, "uint64"],
	["complex64", 64],
	["complex128", 128],
	["bfloat16", 16, "bfloat16"],
	["float8e4m3fn", 8, "float8e4m3fn"],
	["float8e4m3fnuz", 8],
	["float8e5m2", 8, "float8e5m2"],
	["float8e5m2fnuz", 8],
	["uint4", 4, "uint4"],
	["int4", 4, "int4"],
	["float4e2m1", 4, "float4e2m1"],
	["float8e8m0", 8],
	["uint2", 2],
	["int2", 2],
	["float6e2m3"],
	["float6e3m2"],
] as const satisfies readonly (readonly [name: string, bits?: number, dtype?: DType])[];

/** `unknown` for newer codes. */
export type OnnxDType = (typeof types)[number][0] | "unknown";

const byName = new Map<OnnxDType, readonly [name: string, bits?: number, dtype?: DType]>(
	types.map((type) => [type[0], type]),
);

export function elementTypeOfCode(code: number): OnnxDType {
	return types[code]?.[0] ?? "unknown";
}

export function codeOfElementType(dtype: OnnxDType): number {
	return Math.max(
		0,
		types.findIndex(([name]) => name === dtype),
	);
}

export function elementBits(dtype: OnnxDType): number | null {
	return byName.get(dtype)?.[1] ?? null;
}

export function tensorBytes(dtype: OnnxDType, elements: number): number | null {
	const elementSize = elementBits(dtype);
	return elementSize === null ? null : Math.ceil((elements * elementSize) / 8);
}

export function fromDType(dtype: DType): OnnxDType {
	return types.find((type) => type[2] === dtype)?.[0] ?? "unknown";
}

/** null: strings, complex numbers, and rare small numbers. */
export function toDType(dtype: OnnxDType): DType | null {
	return byName.get(dtype)?.[2] ?? null;
}
