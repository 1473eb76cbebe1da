import { expect, it } from "vitest";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";

async function judge(name: string, backend: "onnxruntime" | "tensorrt"): Promise<string> {
	try {
		const model = await fileModelReader().read(`test/fixtures/models/${name}.onnx`);
		const [first] = preflight(model, { backend }).filter((finding) => finding.severity !== "note");
		return first === undefined ? "nothing" : `${first.severity} ${first.code}`;
	} catch (error) {
		if (error instanceof ConfigError) return error.code;
		throw error;
	}
}

/** What real TensorRT did with the same files is in the recordings; Det needs its table of operators. */
it.each<[string, string, string]>([
	["bad-custom-op", "error operator-unknown", "warning operator-unknown"],
	["bad-unsupported-op", "nothing", "nothing"],
	["bad-topk-limit", "nothing", "warning topk-limit"],
	["bad-too-big", "warning tensor-too-big", "warning tensor-too-big"],
	["bad-missing-tensor", "error tensor-undefined", "error tensor-undefined"],
	["bad-missing-weights", "error external-data-missing", "error external-data-missing"],
	["bad-future-opset", "error opset-too-new", "warning opset-too-new"],
	["bad-shape-mismatch", "error shape-mismatch", "error shape-mismatch"],
	["bad-truncated", "model-unreadable", "model-unreadable"],
	["bad-empty", "model-unreadable", "model-unreadable"],
	["bad-not-onnx", "model-unreadable", "model-unreadable"],
	["classifier", "nothing", "nothing"],
	["conditional", "nothing", "nothing"],
	["data-dependent", "nothing", "nothing"],
	["half", "nothing", "nothing"],
	["int64", "nothing", "nothing"],
	["nan-output", "nothing", "nothing"],
	["quantised", "nothing", "nothing"],
])("judges %s", async (...[name, onnxruntime, tensorrt]) => {
	expect([await judge(name, "onnxruntime"), await judge(name, "tensorrt")]).toEqual([onnxruntime, tensorrt]);
});
