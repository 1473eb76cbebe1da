import type { DType, GoldenCase, GoldenManifest, GoldenOutput, TensorFile } from "../../generated/golden.ts";
import type { CaseInput } from "../../src/golden/core/compare/judge.ts";
import { elementBytes, elementCount, type Tensor } from "../../src/golden/core/tensor/tensor.ts";

export type { Tensor };
export type Outputs = Record<string, Tensor>;

export function fromBase64(dtype: string, shape: readonly number[], data: string): Tensor {
	const bytes = Buffer.from(data, "base64");
	const aligned = new Uint8Array(bytes.length);
	aligned.set(bytes);
	return { dtype: dtype as DType, shape, data: aligned };
}

export function float32(values: readonly number[], shape: readonly number[] = [values.length]): Tensor {
	return { dtype: "float32", shape, data: new Uint8Array(Float32Array.from(values).buffer) };
}

export function float64(values: readonly number[], shape: readonly number[] = [values.length]): Tensor {
	return { dtype: "float64", shape, data: new Uint8Array(Float64Array.from(values).buffer) };
}

export function int64(values: readonly bigint[], shape: readonly number[] = [values.length]): Tensor {
	return { dtype: "int64", shape, data: new Uint8Array(BigInt64Array.from(values).buffer) };
}

export function zeros(dtype: DType, shape: readonly number[]): Tensor {
	return { dtype, shape, data: new Uint8Array(elementCount(shape) * elementBytes[dtype]) };
}

export const modelSha256 = "a".repeat(64);

export function manifestOf(
	outputs: Outputs,
	specs: Readonly<Record<string, GoldenOutput>> = {},
): GoldenManifest {
	return { ...manifestOfCases([outputs], specs), cases: [{ ...caseOf(outputs), id: "only" }] };
}

function caseOf(outputs: Outputs): GoldenCase {
	const files = Object.entries(outputs).map(([name, { dtype, shape }]): [string, TensorFile] => [
		name,
		{ path: `${name}.raw`, sha256: "b".repeat(64), dtype, shape: [...shape] },
	]);
	return { id: "", inputs: {}, outputs: Object.fromEntries(files) };
}

export function manifestOfCases(
	cases: readonly Outputs[],
	specs: Readonly<Record<string, GoldenOutput>> = {},
): GoldenManifest {
	return {
		schemaVersion: 1,
		goldenId: "net@1",
		model: { path: "net.onnx", sha256: modelSha256 },
		producer: { backend: "onnxruntime-wasm", version: "1.0", precision: "fp32" },
		outputs: specs,
		cases: cases.map((outputs, index) => ({ ...caseOf(outputs), id: `case-${index}` })) as [GoldenCase],
	};
}

export function caseInput(
	expected: Outputs,
	got: Outputs,
	{ specs, ...more }: { specs?: Readonly<Record<string, GoldenOutput>> } & Partial<CaseInput> = {},
): CaseInput {
	return {
		manifest: manifestOf(expected, specs),
		caseId: "only",
		model: "net",
		engine: "fp16",
		precision: "fp16",
		modelSha256,
		expected,
		got,
		relativeL2: {},
		...more,
	};
}
