// Findings on what this GPU cannot build, and a single finding for an unbound dimension.
import { describe, expect, it } from "vitest";
import type { PreflightContext } from "../../../../src/core/onnx/findings/subject.ts";
import { preflight } from "../../../../src/core/onnx/preflight.ts";
import {
	externalTensor,
	inspectedOf,
	type ModelInit,
	modelOf,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

function found(init: ModelInit, context: Partial<PreflightContext> = {}) {
	return preflight(inspectedOf(modelOf(init)), { backend: "tensorrt", tensorrt: "10.15", ...context });
}

/** Severities of one code. */
function severities(code: string, init: ModelInit, context: Partial<PreflightContext> = {}): string[] {
	return found(init, context).flatMap((finding) => (finding.code === code ? [finding.severity] : []));
}

/** `output_dtype` by ONNX's codes: 17 is FP8, 23 FP4. */
const quantised = (code: number): ModelInit => ({
	nodes: `q = QuantizeLinear<output_dtype=${code}>(x, s); y = DequantizeLinear(q, s)`,
	initializers: [tensor({ name: "s", raw: Uint8Array.of(0, 0, 128, 63) })],
});

it.each<[string, ModelInit, Partial<PreflightContext>, number]>([
	["fp8 on Ampere", {}, { precision: "fp8", computeCapability: "8.6" }, 1],
	["fp8 on Ada", {}, { precision: "fp8", computeCapability: "8.9" }, 0],
	["fp4 on Hopper", {}, { precision: "fp4", computeCapability: "9.0" }, 1],
	["fp4 on Blackwell", {}, { precision: "fp4", computeCapability: "10.0" }, 0],
	["a file of FP8 for fp16 on Ampere", quantised(17), { precision: "fp16", computeCapability: "8.0" }, 1],
	["a file of FP4 on Hopper", quantised(23), { computeCapability: "9.0" }, 1],
	["fp8 where the GPU is not known", {}, { precision: "fp8" }, 0],
	["fp8 on ONNX Runtime", {}, { precision: "fp8", computeCapability: "8.6", backend: "onnxruntime" }, 0],
])("a number format that the GPU does not have is an error: %s", (_, init, context, count) => {
	expect(severities("precision-hardware", init, context)).toEqual(
		Array.from({ length: count }, () => "error"),
	);
});

it("a number format that the GPU does not have is reported with both sides and what to do", () => {
	const [finding] = found({}, { precision: "fp8", computeCapability: "8.6" });
	expect(finding?.message).toBe(
		"The engine is configured as fp8, and this GPU (compute capability 8.6) has no FP8: TensorRT builds it from 8.9 on.",
	);
	expect(finding?.fix).toContain("Ada and Hopper");
});

describe("weights", () => {
	/** 4 GiB of float. */
	const init: ModelInit = {
		initializers: [externalTensor("w", [1024, 1024, 1024], { location: "w.bin", length: String(2 ** 32) })],
		nodes: "y = Add(x, w)",
	};

	it.each<[string, Partial<PreflightContext>, string[]]>([
		["do not fit", { gpuMemoryBytes: 4e9 }, ["error"]],
		["fit in half precision", { gpuMemoryBytes: 4e9, precision: "fp16" }, []],
		["do not fit in int8", { gpuMemoryBytes: 1e9, precision: "int8" }, ["error"]],
		["fit", { gpuMemoryBytes: 8e9 }, []],
		["are streamed", { gpuMemoryBytes: 1e9, streamsWeights: true }, []],
		["are ONNX Runtime's affair", { gpuMemoryBytes: 1e9, backend: "onnxruntime" }, []],
	])("types of weights: %s", (_, context, expected) => {
		expect(severities("weights-too-big", init, context)).toEqual(expected);
	});
});

it.each<[string, Partial<PreflightContext>, string[]]>([
	["without a size in the configuration, on TensorRT", { dims: {} }, ["error dims-unbound"]],
	["with a shape in the configuration", { dims: {}, shapes: { x: { shape: ["b", 3] } } }, []],
	["where there is no configuration", {}, []],
	["on ONNX Runtime", { backend: "onnxruntime", dims: {} }, []],
])("a dimension without a name is reported or not: %s", (_, context, expected) => {
	const findings = found({ inputs: [value("x", [null, 3])] }, context);
	expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
});
