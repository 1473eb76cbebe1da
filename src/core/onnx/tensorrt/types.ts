// Which ONNX element types a version of TensorRT has.
import type { OnnxDType } from "../model.ts";
import type { Table } from "./tables.ts";

/** ONNX's names by TensorRT's. */
const names: Readonly<Partial<Record<OnnxDType, string>>> = {
	float: "FP32",
	double: "FP64",
	float16: "FP16",
	bfloat16: "BF16",
	float8e4m3fn: "FP8",
	float4e2m1: "FP4",
	int4: "INT4",
	int8: "INT8",
	uint8: "UINT8",
	int32: "INT32",
	int64: "INT64",
	bool: "BOOL",
};

/** The document for 8.6 leaves them out, and TensorRT 8.6 takes them: INT32, INT64 narrowed, UINT8 at the border (since 8.5). */
const always: ReadonlySet<string> = new Set(["INT32", "INT64", "UINT8"]);

/** `inside`: as weights and between nodes; UINT8 is only a type of inputs and outputs. */
export function hasType(table: Table, dtype: OnnxDType, place: "border" | "inside"): boolean {
	const name = names[dtype];
	if (name === undefined || (name === "UINT8" && place === "inside")) return false;
	return always.has(name) || table.types.has(name);
}
