// The variants that tune tries, and the configs of its runs.
import { expect, it } from "vitest";
import { type FoundDims, findDims } from "../../../src/core/config/dims.ts";
import { modelLines, precisionVariants, sparseVariant, tuneConfig } from "../../../src/core/config/tune.ts";
import { inspectedOf, type ModelInit, modelOf } from "../../support/onnx-writer.ts";
import { loaded } from "./load.ts";

const plain: ModelInit = { nodes: "y = Relu(x)" };
const quantised: ModelInit = { nodes: "q = QuantizeLinear(x, s); y = DequantizeLinear(q, s)" };
const read = (init: ModelInit) => inspectedOf(modelOf(init));
const namesOf = (init: ModelInit, tensorrt: string, other?: ModelInit): string =>
	precisionVariants(
		read(init),
		{ tensorrt, computeCapability: "9.0" },
		other && { onnx: "qdq.onnx", model: read(other) },
	)
		.map(({ name, onnx }) => (onnx === undefined ? name : `${name} ${onnx}`))
		.join();

it.each([
	["a float file, up to TensorRT 10", plain, "10.6", undefined, "fp16,bf16,tf32,fp32"],
	["a float file on TensorRT 11, which has no precision flags", plain, "11.2", undefined, "tf32,fp32"],
	["a file with Q/DQ nodes", quantised, "10.6", undefined, "int8"],
	["a file and its quantised twin", plain, "11.2", quantised, "tf32,fp32,int8-qdq qdq.onnx"],
] as const)("tune tries of %s what it allows", (_, init, tensorrt, other, names) => {
	expect(namesOf(init, tensorrt, other)).toBe(names);
});

const found: FoundDims = {
	dims: [
		{ name: "batch", range: { min: 1, opt: 8, max: 8 }, where: "", isBatch: true },
		{ name: "on", range: { min: 5, opt: 5, max: 5 }, where: "", isBatch: false },
	],
	shapes: [{ input: "in put", shape: ["batch", "on", 4] }],
	unshaped: [],
};
const tuned = { name: "re net", onnx: "models/a b.onnx", found, golden: "g/golden.json" };
const variants = [
	{ name: "fp16", precision: "fp16" },
	{ name: "int8-qdq-level5", precision: "int8", onnx: "q.onnx", level: 5 },
] as const;

it("a config of tune loads, whatever the names, and times every variant against the first", () => {
	const { models, measure } = loaded(tuneConfig(tuned, variants, { streams: [1, 4], cudaGraph: false }));
	expect(models).toMatchObject([
		{
			name: "re net",
			inputs: { "in put": { shape: ["batch", "on", 4] } },
			engines: [
				{ name: "fp16", onnx: "models/a b.onnx", golden: "g/golden.json" },
				{ name: "int8-qdq-level5", onnx: "q.onnx", against: "fp16", tensorrt: { optimizationLevel: 5 } },
			],
		},
	]);
	expect(models[0]?.engines[0]?.against).toBeUndefined();
	expect(models[0]?.engines[0]?.workloads.map(({ name, streams }) => [name, streams])).toEqual([
		["1 stream, no CUDA graph", 1],
		["4 streams, no CUDA graph", 4],
	]);
	expect(measure).toMatchObject({ cudaGraph: false, looks: [5, 8] });
});

it("the lines to paste leave out what a model does not have", () => {
	const fixed = { name: "net", onnx: "net.onnx", found: findDims(read(plain).onnx) };
	expect(modelLines(fixed, variants)).toBe(`models:
  net:
    onnx: net.onnx
    engines:
      fp16: { precision: fp16 }
      int8-qdq-level5: { precision: int8, onnx: q.onnx, optimization-level: 5, against: fp16 }
`);
});

const weight = { name: "w", node: read(plain).onnx.graph.nodes[0]!, axis: 1, elements: 64, groups: 16 };

it.each([
	["a pruned weight", ["fp32", "fp16", "bf16"], [0, 3], "fp16-sparse"],
	["no pruned weight", ["fp32", "fp16"], [3], undefined],
	["no precision with sparse kernels", ["fp32", "tf32"], [0], undefined],
] as const)("sparse kernels are tried in the lowest variant with %s", (_, precisions, broken, name) => {
	const variants = precisions.map((precision) => ({ name: precision, precision }));
	const patterns = broken.map((count) => ({ ...weight, broken: count }));
	expect(sparseVariant(variants, patterns)?.name).toBe(name);
});
