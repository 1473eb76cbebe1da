import { expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { PreflightContext } from "../../../src/core/onnx/findings/subject.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";

async function judge(name: string, context: PreflightContext) {
	try {
		const model = await readModel(`test/fixtures/models/${name}.onnx`);
		const [first] = preflight(model, context).filter((finding) => finding.severity !== "note");
		return first === undefined ? "nothing" : `${first.severity} ${first.code}`;
	} catch (error) {
		if (error instanceof ConfigError) return error.code;
		throw error;
	}
}

/** TensorRT 10.6 built the good ones, and reported success on two of the bad ones (bad-future-opset, bad-too-big). */
it.each<[string, string, string]>([
	["bad-custom-op", "error operator-unknown", "error operator-unknown"],
	["bad-unsupported-op", "nothing", "error operator-unsupported"],
	["bad-topk-limit", "nothing", "error topk-limit"],
	["bad-too-big", "warning tensor-too-big", "error tensor-too-big"],
	["bad-missing-tensor", "error tensor-undefined", "error tensor-undefined"],
	["bad-missing-weights", "error external-data-missing", "error external-data-missing"],
	["bad-future-opset", "error opset-too-new", "error opset-too-new"],
	["bad-shape-mismatch", "error shape-mismatch", "error shape-mismatch"],
	["bad-truncated", "model-unreadable", "model-unreadable"],
	["bad-empty", "model-unreadable", "model-unreadable"],
	["bad-not-onnx", "model-unreadable", "model-unreadable"],
	..."classifier conditional data-dependent detector encoder fp16-overflow half int64 nan-output quantised segmenter superres"
		.split(" ")
		.map((name): [string, string, string] => [name, "nothing", "nothing"]),
])("preflight judges %s", async (...[name, onnxruntime, tensorrt]) => {
	expect(await judge(name, { backend: "onnxruntime" })).toBe(onnxruntime);
	for (const version of ["10.6.0", "10.15.1", "11.1"])
		expect(await judge(name, { backend: "tensorrt", tensorrt: version }), version).toBe(tensorrt);
});

it.each<[string, PreflightContext["precision"], string, string]>([
	["classifier", "fp32", "10.6", "nothing"],
	["classifier", "fp16", "10.6", "nothing"],
	["classifier", "int8", "10.6", "warning precision-uncalibrated"],
	["quantised", "int8", "10.6", "nothing"],
	["half", "fp16", "11.1", "nothing"],
	["half", "fp32", "11.1", "warning precision-typed"],
	["classifier", "fp16", "11.1", "error precision-typed"],
	["classifier", "int8", "11.1", "error precision-typed"],
	["quantised", "int8", "11.1", "nothing"],
	["classifier", "fp32", "11.1", "nothing"],
	["encoder", "bf16", "11.1", "error precision-typed"],
])("preflight judges %s as %s for TensorRT %s: %s", async (name, precision = "fp32", tensorrt, expected) => {
	const dims = { batch: { min: 1, opt: 8, max: 32 }, sequence: { min: 1, opt: 64, max: 128 } };
	expect(await judge(name, { backend: "tensorrt", tensorrt, precision, dims })).toBe(expected);
});
