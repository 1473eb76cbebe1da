// Which of our tensor dtypes an ONNX element type is.
import type { DType } from "../schema/golden.ts";
import type { OnnxDType } from "./model.ts";

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
