import { expect, it } from "vitest";
import type { OnnxGraph } from "../../../src/core/onnx/model.ts";
import { byOperator, countedLayers, parseProfile } from "../../../src/formats/onnxruntime/profile.ts";

const node = (name: string, [ts, dur]: [number, number], args: object = {}) =>
	`${JSON.stringify({ cat: "Node", pid: 42, tid: 1, dur, ts, ph: "X", name: `${name}_kernel_time`, args: { op_name: "Conv", node_index: "1", ...args } })},`;
const ended =
	'{"cat" : "Session","pid" :42,"tid" :1,"dur" :9,"ts" :9,"ph" : "X","name" :"model_run","args" : {}},';
it("parseProfile returns the nodes of the last inference, without lines of the log", () => {
	const shapes = {
		input_type_shape: [{ float: [1, 3, 8, 8] }, { float: [4, 3, 3, 3] }],
		output_type_shape: [{ float: [1, 4, 8, 8] }],
		parameter_size: "432",
	};
	const text = [
		node("a", [0, 900]),
		ended,
		"2026 [I:onnxruntime] x {}",
		node("a", [1000, 600], shapes),
		"]",
		ended,
	].join("\n");
	expect(parseProfile(text)).toEqual([
		{
			...{ name: "a", op: "Conv", instructions: 300, weightBytes: 432 },
			inputs: [
				{ dtype: "float", dims: [1, 3, 8, 8] },
				{ dtype: "float", dims: [4, 3, 3, 3] },
			],
			outputs: [{ dtype: "float", dims: [1, 4, 8, 8] }],
		},
	]);
});

it("parseProfile adds up what runs several times, and counts a node with a subgraph without it", () => {
	const body = (ts: number) => node("body", [ts, 100], { node_index: "0" });
	const text = [
		body(10),
		body(120),
		node("loop", [0, 300], { op_name: "Loop" }),
		node("after", [310, 40]),
		ended,
	].join("\n");
	expect(parseProfile(text).map(({ name, instructions }) => [name, instructions])).toEqual([
		["body", 100],
		["loop", 50],
		["after", 20],
	]);
});

it("byOperator takes a node of a subgraph for its own operator, not for that of a namesake", () => {
	const text = [node("x", [0, 10], { op_name: "Tanh" }), node("x", [20, 300]), node("y", [400, 20]), ended];
	expect([...byOperator(parseProfile(text.join("\n")))]).toEqual([
		["Tanh", 5],
		["Conv", 160],
	]);
});

it("parseProfile keeps apart nodes of one name, and names those without one", () => {
	const text = [
		node("x", [0, 10]),
		node("x", [20, 30], { node_index: "2" }),
		node("", [60, 2], { node_index: "3" }),
		ended,
	].join("\n");
	expect(parseProfile(text).map(({ name }) => name)).toEqual(["x", "x", "Conv 3"]);
});

it("countedLayers gives each node's share and weights, and names tensors by the model", () => {
	const tensors = {
		inputs: [
			{ dtype: "float", dims: [1, 8] },
			{ dtype: "float", dims: [8, 4] },
		],
		outputs: [{ dtype: "float", dims: [1, 4] }],
	};
	const nodes = [
		{ name: "fc", op: "MatMul", instructions: 3e6, weightBytes: 128, ...tensors },
		{ name: "flat", op: "Flatten", instructions: 1e6, weightBytes: 0, inputs: [], outputs: [] },
	];
	const known = { name: "fc", op: "MatMul", domain: "", inputs: ["x", "w"], outputs: ["y"], attributes: [] };
	const { info, times } = countedLayers(nodes, { nodes: [known] } as unknown as OnnxGraph);
	expect(times.layers.map(({ averageMs, share }) => [averageMs, share])).toEqual([
		[3, 0.75],
		[1, 0.25],
	]);
	expect(info.layers[0]).toMatchObject({
		type: "MatMul",
		precision: "fp32",
		weights: { dtype: "fp32", elements: 32 },
		onnxNodes: ["fc"],
	});
	expect(info.layers[0]?.outputs).toEqual([{ name: "y", dims: [1, 4], dtype: "fp32", format: "" }]);
	expect(info.layers.map(({ kind }) => kind)).toEqual(["compute", "shape"]);
});

it.each([
	"",
	"{}",
	ended,
	`{"cat" : "Node", "name": 7},\n${ended}`,
	`${node("x", [0, 1]).slice(0, 40)}\n${ended}`,
])("parseProfile finds no node in %j", (text) => {
	expect(parseProfile(text)).toEqual([]);
});
