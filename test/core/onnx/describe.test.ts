import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { figuresOf } from "../../../src/core/onnx/cost/compare.ts";
import { costsOf } from "../../../src/core/onnx/cost/cost.ts";
import {
	describeModel,
	interfaceRows,
	isSameGraph,
	renderPreflight,
} from "../../../src/core/onnx/describe.ts";
import { findingKinds } from "../../../src/core/onnx/findings/subject.ts";
import type { OnnxDim, OnnxDType, OnnxModel, OnnxValue } from "../../../src/core/onnx/model.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";
import { expectSchema } from "../../support/expect-schema.ts";
import {
	attribute,
	floats,
	type GraphInit,
	graph,
	modelOf,
	node,
	nodes,
	tensor,
	value,
} from "../../support/onnx-writer.ts";

const read = (file: string) => readModel(`test/fixtures/${file}.onnx`);

const files = [
	"models/classifier",
	"models/quantised",
	"models/bad-missing-weights",
	"models/bad-custom-op",
	"models/conditional",
	"onnx/structures",
	"onnx/number-types",
];

it.each(files)("the JSON of preflight matches its schema: %s", async (file) => {
	const model = await read(file);
	for (const backend of ["onnxruntime", "tensorrt"] as const) {
		const cost = figuresOf(costsOf(model.onnx)({ shapes: {} }));
		const output = { model: describeModel(model), cost, findings: preflight(model, { backend }) };
		expectSchema(JSON.parse(JSON.stringify(output)), "preflight");
	}
});

it("describeModel counts nodes, subgraphs, operators and weights", async () => {
	const summary = describeModel(await read("onnx/structures"));
	expect(summary).toMatchObject({
		irVersion: 8,
		producer: "fixture",
		producerVersion: "1",
		opsets: [
			{ domain: "ai.onnx", version: 17 },
			{ domain: "com.acme", version: 1 },
			{ domain: "__proto__", version: 3 },
		],
		nodes: 10,
		subgraphs: 4,
		functions: 1,
		quantisation: { quantizeLinear: 0, dequantizeLinear: 0 },
	});
	expect(summary.operators[0]).toEqual({ domain: "ai.onnx", operator: "Constant", count: 3 });
	expect(summary.inputs[1]).toEqual({ name: "x", kind: "tensor", dtype: "float", dims: ["batch", 4, null] });
	expect(summary.weights[0]).toMatchObject({ dtype: "float", tensors: 3 });
});

it("the terminal text shows the model, each finding with its fix, and the count", async () => {
	const model = await read("models/bad-missing-weights");
	expect(
		renderPreflight(describeModel(model), preflight(model, { backend: "tensorrt" })),
	).toMatchInlineSnapshot(`
			"model      test/fixtures/models/bad-missing-weights.onnx (165 B)
			made by    make-models
			opset      ai.onnx 17, IR 8
			input      x: float [2, 64]
			output     y: float [2, 64]
			nodes      1
			operators  MatMul 1
			weights    1 × float (16.0 KiB)
			checked    shapes of 1 and types of 1 of 1 tensors inside
			data       lost.bin (16.0 KiB): missing

			✗ error external-data-missing
			  External data "lost.bin" is missing (the model needs 16.0 KiB of it).
			  → Put the file into the model's folder: it belongs to the model and must be checked in, cached or uploaded with it.
			1 error, 0 warnings, 0 notes.
			"
		`);
});

it("every code has a heading in the documentation, and every heading a code", () => {
	const page = readFileSync("docs/troubleshooting/preflight.md", "utf8");
	const headings = [...page.matchAll(/^### `([^`]+)`$/gm)].map((match) => match[1]);
	expect(headings.sort()).toEqual(Object.keys(findingKinds).sort());
});

it("the schema of preflight's JSON refuses an incomplete description", () => {
	expect(() => expectSchema({ model: {}, findings: [] }, "preflight")).toThrow();
});

it("the terminal text is coloured only on request, without control characters in names", async () => {
	const model = await read("models/bad-missing-tensor");
	const hostile = { ...model, onnx: { ...model.onnx, producer: "\u001b]0;title\u0007" } };
	const findings = preflight(hostile, { backend: "tensorrt" });
	expect(renderPreflight(describeModel(hostile), findings)).not.toContain("\u001b");
	const coloured = renderPreflight(describeModel(hostile), findings, { color: true });
	expect(coloured).toContain("\u001b[31m✗ error\u001b[0m");
	expect(coloured).not.toContain("\u001b]0;");
});

const weights = (...values: number[]) =>
	tensor({ name: "w", dims: [4, 4], raw: floats(...values, ...Array<number>(16 - values.length).fill(0)) });
const bias = tensor({ name: "b", dims: [4], raw: floats(1, 2, 3, 4) });
const gemm = (changes: Partial<Parameters<typeof node>[0]> = {}) =>
	node({
		op: "Gemm",
		inputs: ["x", "w", "b"],
		outputs: ["h"],
		name: "gemm",
		attributes: [attribute.integer("transB", 1)],
		...changes,
	});
const leaky = node({ op: "LeakyRelu", inputs: ["h"], attributes: [attribute.float("alpha", 0.1)] });
const plain: GraphInit = { nodes: [gemm(), leaky], initializers: [weights(1), bias] };
const withNodes = (...nodes: Uint8Array[]): GraphInit => ({ ...plain, nodes });

it.each<[string, boolean, GraphInit]>([
	["the same file", true, plain],
	["other values of the weights", true, { ...plain, initializers: [weights(7, 8), bias] }],
	["other names of nodes", true, withNodes(gemm({ name: "renamed" }), leaky)],
	["another operator", false, withNodes(gemm({ op: "MatMul" }), leaky)],
	["another attribute", false, withNodes(gemm({ attributes: [attribute.integer("transB", 0)] }), leaky)],
	["another wiring", false, withNodes(gemm({ inputs: ["x", "w", "w"] }), leaky)],
	["a node more", false, withNodes(gemm(), leaky, node({ op: "Relu", inputs: ["y"], outputs: ["z"] }))],
	["nodes in another order", false, withNodes(leaky, gemm())],
	["weights of another size", false, { ...plain, initializers: [tensor({ name: "w", dims: [4, 5] }), bias] }],
	["an input of another type", false, { ...plain, inputs: [value("x", [1, 4], 10)] }],
])("with %s, two models being one network is %s", (_, expected, other) => {
	expect(isSameGraph(modelOf(plain), modelOf(other))).toBe(expected);
	expect(isSameGraph(modelOf(other), modelOf(plain))).toBe(expected);
});

it("another branch of a condition makes another network", () => {
	const choosing = (op: string) => {
		const branch = graph({ nodes: `y = ${op}(x)`, inputs: [] });
		const choice = nodes("y = If<then_branch=$0, else_branch=$0>(c)", branch);
		return modelOf({ nodes: choice, inputs: [value("x"), value("c", [], 9)] });
	};
	expect(isSameGraph(choosing("Relu"), choosing("Relu"))).toBe(true);
	expect(isSameGraph(choosing("Relu"), choosing("Sigmoid"))).toBe(false);
});

type Sides = { inputs: OnnxValue[]; outputs: OnnxValue[] };

const typed = (name: string, dims: OnnxDim[] | null, dtype: OnnxDType = "float"): OnnxValue => ({
	...{ name, kind: "tensor", dtype, dims },
});

const sidesOf = (sides: Sides) => ({ graph: { ...sides, initializers: [] } }) as unknown as OnnxModel;
const x = typed("x", ["batch", 8]);
const y = typed("y", ["batch", 4]);
const base: Sides = { inputs: [x], outputs: [y] };
const [input, output] = ["input x float32 [batch, 8]", "output y float32 [batch, 4]"];

it.each<[string, Partial<Sides>, string[]]>([
	["nothing", {}, []],
	["the name of a symbolic dimension", { inputs: [typed("x", ["N", 8])] }, []],
	["an output whose size the file no longer tells", { outputs: [typed("y", null)] }, []],
	["an output of fixed size where none was told", { outputs: [typed("y", [1, 4])] }, []],
	["an input of any size where it was fixed", { inputs: [typed("x", ["batch", null])] }, []],
	["an input of fixed size", { inputs: [typed("x", [1, 8])] }, [`${input} → x float32 [1, 8]`]],
	["another rank", { inputs: [typed("x", ["batch", 2, 4])] }, [`${input} → x float32 [batch, 2, 4]`]],
	["another type", { inputs: [typed("x", ["batch", 8], "float16")] }, [`${input} → x float16 [batch, 8]`]],
	["a renamed output", { outputs: [typed("z", ["batch", 4])] }, [`${output} → z float32 [batch, 4]`]],
	["another output", { outputs: [y, typed("z", [2])] }, ["output – → z float32 [2]"]],
	["an output that is gone", { outputs: [] }, [`${output} → –`]],
	[
		"an output in place of one of another shape",
		{ outputs: [typed("z", [7, 7, 7])] },
		[`${output} → –`, "output – → z float32 [7, 7, 7]"],
	],
])("reports of %s: %j", (_, head, rows) => {
	const text = (side: { name: string; dtype: string; shape: string } | null) =>
		side === null ? "–" : `${side.name} ${side.dtype} ${side.shape}`;
	const found = interfaceRows(sidesOf(base), sidesOf({ ...base, ...head }));
	expect(found.map((row) => `${row.side} ${text(row.base)} → ${text(row.head)}`)).toEqual(rows);
});
