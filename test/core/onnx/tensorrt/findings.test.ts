import { expect, it } from "vitest";
import type { PreflightContext } from "../../../../src/core/onnx/findings/subject.ts";
import { preflight } from "../../../../src/core/onnx/preflight.ts";
import {
	attribute,
	definition,
	externalTensor,
	graph,
	inspectedOf,
	ints,
	type ModelInit,
	modelOf,
	node,
	nodes,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

type Context = Partial<PreflightContext>;

function findings(init: ModelInit, context: Context = {}) {
	return preflight(inspectedOf(modelOf(init)), { backend: "tensorrt", tensorrt: "10.6", ...context });
}

function said(init: ModelInit, context: Context = {}) {
	return findings(init, context).map(({ severity, code, message }) => `${severity} ${code}: ${message}`);
}

const operator = (op: string): ModelInit => ({
	nodes: `[n] y = ${op}(x)`,
	opsets: { "": 17, "com.microsoft": 1, "ai.onnx.ml": 3 },
});

it.each([
	["Det", "10.15", 'error operator-unsupported: TensorRT 10.15 does not import Det "n".'],
	[
		"STFT",
		"10.6",
		'warning operator-unsupported: TensorRT 10.6 may not import STFT "n": 10.1 does not, 10.14 does.',
	],
	["ai.onnx.ml.TreeEnsemble", "11.1", 'TensorRT 11.1 does not import ai.onnx.ml.TreeEnsemble "n".'],
	[
		"BatchedNMS_TRT",
		"11.1",
		'error plugin-absent: TensorRT 11.1 does not include the plugin of BatchedNMS_TRT "n"',
	],
	[
		"com.microsoft.Attention",
		"10.15",
		'warning operator-domain: com.microsoft.Attention "n" has the name of an ONNX',
	],
])("an operator %s on TensorRT %s", (op, tensorrt, expected) => {
	expect(said(operator(op), { tensorrt })).toEqual([expect.stringContaining(expected)]);
});

it.each(["Relu", "TRT_FP8QuantizeLinear", "ROIAlign_TRT"])(
	"an operator that TensorRT has is no trouble: %s",
	(op) => {
		expect(findings(operator(op)).filter((each) => each.severity !== "note")).toEqual([]);
	},
);

it("an operator of a plugin that will be loaded gives no finding", () => {
	expect(said(operator("SwishFusion"), { plugins: ["SwishFusion"] })).toEqual([]);
	expect(said(operator("SwishFusion"))[0]).toMatch(/^error operator-unknown: /);
});

it.each([
	["QLinearConv", "QDQ format"],
	["STFT", "TensorRT 10.14 or newer"],
	["Det", "plugin of that name"],
])("an operator %s comes with advice", (op, advice) => {
	expect(findings(operator(op))[0]?.fix).toContain(advice);
});

it("an operator is reported once, with the number of its nodes", () => {
	expect(said({ nodes: "a = Det(x); b = Det(a); y = Det(b)" })).toEqual([
		'error operator-unsupported: TensorRT 10.6 does not import Det (unnamed, output "a") (3 nodes): neither 10.1 nor 10.14 does.',
	]);
	const pool = "MaxPool<dilations=[2, 1]>(x)";
	expect(said({ nodes: `[a] a = ${pool}; y = ${pool}` })).toEqual([
		expect.stringContaining('MaxPool "a" (2 nodes) has dilations [2, 1]'),
	]);
});

const branch = (dims: readonly number[]) =>
	graph({ inputs: [], nodes: "r = Identity(x)", outputs: [value("r", dims)] });
const int32 = tensor({ name: "b", dims: [1], dtype: 6, raw: new Uint8Array(4) });

it.each<[nodes: string, expected: string | null, init?: ModelInit, advice?: string]>([
	[
		"int32",
		"dequantises int32",
		{ nodes: "y = DequantizeLinear(b, s)", initializers: [int32] },
		"Keep biases",
	],
	[
		"no axes, open sizes",
		"has no axes",
		{ inputs: [value("x", ["batch", 1])], nodes: "y = Squeeze(x)" },
		"Export again with the axes stated.",
	],
	[
		"no axes, sizes that were not computed of fixed ones",
		null,
		{ inputs: [value("x", [2, 1])], nodes: "t = NonZero(x); y = Squeeze(t)" },
	],
	["y, i = MaxPool(x)", "has 2 outputs", undefined, "Export it without that"],
	["y = LSTM<layout=1>(x)", "has layout 1"],
	['y = ScatterND<reduction="add">(x)', 'has reduction "add"'],
	["a = Neg(x); y = ReduceSum(x, a)", "computes its axes"],
	["constant axes", null, { nodes: "y = ReduceSum(x, a)", initializers: [ints("a", 1)] }],
	["y = OneHot(i, x)", "takes its depth from an input of the graph"],
	[
		"branches of two ranks",
		"gives output 0 rank 2 in then_branch and 1 in else_branch",
		{ nodes: nodes("y = If<then_branch=$0, else_branch=$1>(x)", branch([1, 4]), branch([4])) },
	],
	['y = GRU<direction="bidirectional">(x)', null],
])("a condition on %s: %s", (...[nodes, expected, init = { nodes }, advice = ""]) => {
	const found = findings(init).filter((each) => each.code === "operator-restricted");
	expect(found.map((each) => each.message).join()).toContain(expected ?? "");
	expect(found.map(({ fix }) => fix).join()).toContain(advice);
	expect(found.length).toBe(expected === null ? 0 : 1);
	expect(found.every((each) => each.severity === "warning")).toBe(true);
});

it("a condition that only a function's caller can meet is not judged", () => {
	const modelMore = definition("b = acme.Sum(a, axes)", "b = ReduceSum(a, axes)");
	expect(said({ nodes: "y = acme.Sum(x, x)", opsets: { "": 17, acme: 1 }, modelMore })).toEqual([]);
});

const severities = (code: string, init: ModelInit, context: Context) =>
	findings(init, context).flatMap((each) => (each.code === code ? [each.severity] : []));

it.each<[string, number, Context, string[]]>([
	["fits", 100, {}, []],
	["has more elements than TensorRT 10.6 takes", 2048, {}, ["warning"]],
	["is more than the GPU has", 2048, { gpuMemoryBytes: 8e9 }, ["error"]],
	["is more than any GPU has", 1_000_000, {}, ["error"]],
])("the size of a tensor %s", (_, max, context, expected) => {
	const init = { inputs: [value("x", ["batch", 1024, 1024])] };
	const dims = { batch: { min: 1, opt: 1, max } };
	expect(severities("tensor-too-big", init, { dims, ...context })).toEqual(expected);
});

const size = { min: 1, opt: 2, max: 3 };

it.each<[string, Context, string[]]>([
	["is left open where there is no configuration", {}, []],
	["is left open on ONNX Runtime", { backend: "onnxruntime", dims: {} }, []],
	["is bound", { dims: { batch: size, seq: size } }, []],
	["is not bound", { dims: { batch: size } }, ["error"]],
	["is bound by the input's shape", { dims: {}, shapes: { x: { shape: [1, 2] } } }, []],
])("a dimension %s", (_, context, expected) => {
	expect(severities("dims-unbound", { inputs: [value("x", ["batch", "seq"])] }, context)).toEqual(expected);
});

it("a dimension without a name is bound by the input's shape alone", () => {
	const init = { inputs: [value("x", [null, 3])] };
	expect(severities("dims-unbound", init, { dims: {} })).toEqual(["error"]);
	expect(severities("dims-unbound", init, { dims: {}, shapes: { x: { shape: ["b", 3] } } })).toEqual([]);
});

const nameless: ModelInit = { inputs: [value("x", [null, 3, "?", "?"])] };
const width = { min: 64, opt: 320, max: 1280 };
const height = { min: 48, opt: 48, max: 48 };
const shapes = { x: { shape: ["n", 3, 48, "w"] } };

it.each<[string, ModelInit, Context, RegExp[]]>([
	[
		"of two sizes",
		nameless,
		{ dims: { n: width, w: width }, shapes },
		[/axis 2 of "x" \(48\) and axis 3 of "x" \(64 to 1280\)/],
	],
	["of one size", nameless, { dims: { n: width, w: height }, shapes }, []],
	["on ONNX Runtime", nameless, { dims: { n: width, w: width }, shapes, backend: "onnxruntime" }, []],
	["that one size binds", { inputs: [value("x", ["n"]), value("y", ["n"])] }, { dims: { n: width } }, []],
])("axes of one name %s", (_, init, context, expected) => {
	const found = findings(init, context).filter(({ code }) => code === "dims-conflict");
	expect(found.map(({ message }) => message)).toEqual(expected.map((each) => expect.stringMatching(each)));
});

it.each([
	[22, "10.6", []],
	[25, "10.6", ["warning"]],
	[25, "11.1", []],
	[18, "8.6", ["warning"]],
	[99, "8.6", ["error"]],
])("an opset %i on TensorRT %s", (version, tensorrt, expected) => {
	expect(severities("opset-too-new", { opsets: { "": version } }, { tensorrt })).toEqual(expected);
});

/** `output_dtype` by ONNX's codes: 17 is FP8, 23 FP4. */
const quantise = (code: number): ModelInit => ({ nodes: `y = QuantizeLinear<output_dtype=${code}>(x, s)` });

it.each<[string, NonNullable<PreflightContext["precision"]>, ModelInit, string[]]>([
	["fp16 of a file that casts to it", "fp16", { nodes: "y = Cast<to=10>(x)" }, []],
	["fp8 of a file that quantises to it", "fp8", quantise(17), []],
	["fp8 of a file that quantises to int8", "fp8", quantise(3), ["error"]],
])("the precision of a TensorRT 11 engine: %s", (_, precision, init, expected) => {
	expect(severities("precision-typed", init, { tensorrt: "11.1", precision })).toEqual(expected);
});

it("names from the file are harmless in every message", () => {
	const bad = "a\u001b[31m\u202e\n";
	const init: ModelInit = {
		nodes: [
			node({ op: `Swish${bad}`, name: bad, domain: bad, outputs: ["a"] }),
			node({ op: "ScatterND", name: bad, attributes: [attribute.text("reduction", bad)] }),
		],
		inputs: [value("x", [bad, null])],
	};
	const all = [...said(init), ...said(init, { dims: {} })];
	expect(all.length).toBeGreaterThan(5);
	for (const each of all) expect(each).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

it.each<[string, ModelInit, Context, number]>([
	["fp8 on Ampere", {}, { precision: "fp8", computeCapability: "8.6" }, 1],
	["fp8 on Ada", {}, { precision: "fp8", computeCapability: "8.9" }, 0],
	["fp4 on Hopper", {}, { precision: "fp4", computeCapability: "9.0" }, 1],
	["fp4 on Blackwell", {}, { precision: "fp4", computeCapability: "10.0" }, 0],
	["a file of FP8 for fp16 on Ampere", quantise(17), { precision: "fp16", computeCapability: "8.0" }, 1],
	["a file of FP4 on Hopper", quantise(23), { computeCapability: "9.0" }, 1],
	["fp8 where the GPU is not known", {}, { precision: "fp8" }, 0],
	["fp8 on ONNX Runtime", {}, { precision: "fp8", computeCapability: "8.6", backend: "onnxruntime" }, 0],
])("a number format that the GPU lacks is an error: %s", (_, init, context, count) => {
	expect(severities("precision-hardware", init, context)).toEqual(new Array(count).fill("error"));
});

it("a number format that the GPU lacks is reported with what to do", () => {
	const [finding] = findings({}, { precision: "fp8", computeCapability: "8.6" });
	expect(finding?.message).toMatch(
		/configured as fp8, .* 8\.6\) has no FP8: TensorRT builds it from 8\.9 on/,
	);
	expect(finding?.fix).toContain("Ada and Hopper");
});

const heavy: ModelInit = {
	initializers: [externalTensor("w", [1024, 1024, 1024], { location: "w.bin", length: String(2 ** 32) })],
	nodes: "y = Add(x, w)",
};

it.each<[string, Context, string[]]>([
	["do not fit", { gpuMemoryBytes: 4e9 }, ["error"]],
	["fit in half precision", { gpuMemoryBytes: 4e9, precision: "fp16" }, []],
	["do not fit in int8", { gpuMemoryBytes: 1e9, precision: "int8" }, ["error"]],
	["are streamed", { gpuMemoryBytes: 1e9, streamsWeights: true }, []],
	["are ONNX Runtime's affair", { gpuMemoryBytes: 1e9, backend: "onnxruntime" }, []],
])("types of weights: %s", (_, context, expected) => {
	expect(severities("weights-too-big", heavy, context)).toEqual(expected);
});
