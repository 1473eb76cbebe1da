// Two files are one network where nodes, wiring and the sizes of weights are the same.
import { expect, it } from "vitest";
import { isSameGraph } from "../../../src/core/onnx/describe.ts";
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
