// Two files are one network where nodes, wiring and the sizes of weights are the same.
import { describe, expect, it } from "vitest";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";
import { isSameGraph } from "../../../src/core/onnx/same-graph.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import {
	attribute,
	floats,
	type GraphInit,
	graph,
	model,
	node,
	tensor,
	value,
} from "../../support/onnx-writer.ts";

function graphOf(init: Parameters<typeof model>[0]): OnnxModel {
	return readOnnx(memorySource(model(init)), "net.onnx");
}

const weights = (...values: number[]) =>
	tensor({
		name: "w",
		dims: [4, 4],
		raw: floats(...values, ...new Array<number>(16 - values.length).fill(0)),
	});
const bias = (name: string) => tensor({ name, dims: [4], raw: floats(1, 2, 3, 4) });
const plain: GraphInit = {
	nodes: [
		node({
			op: "Gemm",
			inputs: ["x", "w", "b"],
			outputs: ["h"],
			name: "gemm",
			attributes: [attribute.integer("transB", 1)],
		}),
		node({ op: "LeakyRelu", inputs: ["h"], outputs: ["y"], attributes: [attribute.float("alpha", 0.1)] }),
	],
	initializers: [weights(1), bias("b")],
};

describe("isSameGraph holds for", () => {
	it.each<[string, Parameters<typeof model>[0]]>([
		["the same file", plain],
		["other values of the weights", { ...plain, initializers: [weights(7, 8), bias("b")] }],
		[
			"other names of nodes",
			{
				...plain,
				nodes: [
					node({
						op: "Gemm",
						inputs: ["x", "w", "b"],
						outputs: ["h"],
						name: "renamed",
						attributes: [attribute.integer("transB", 1)],
					}),
					...(plain.nodes?.slice(1) ?? []),
				],
			},
		],
	])("%s", (_, other) => {
		expect(isSameGraph(graphOf(plain), graphOf(other))).toBe(true);
		expect(isSameGraph(graphOf(other), graphOf(plain))).toBe(true);
	});
});

const gemm = (changes: Partial<Parameters<typeof node>[0]>) =>
	node({
		op: "Gemm",
		inputs: ["x", "w", "b"],
		outputs: ["h"],
		attributes: [attribute.integer("transB", 1)],
		...changes,
	});
const rest = plain.nodes?.slice(1) ?? [];

describe("isSameGraph does not hold for", () => {
	it.each<[string, Parameters<typeof model>[0]]>([
		["another operator", { ...plain, nodes: [gemm({ op: "MatMul" }), ...rest] }],
		[
			"another attribute",
			{ ...plain, nodes: [gemm({ attributes: [attribute.integer("transB", 0)] }), ...rest] },
		],
		["another wiring", { ...plain, nodes: [gemm({ inputs: ["x", "w", "w"] }), ...rest] }],
		[
			"a node more",
			{ ...plain, nodes: [gemm({}), ...rest, node({ op: "Relu", inputs: ["y"], outputs: ["z"] })] },
		],
		["nodes in another order", { ...plain, nodes: [...rest, gemm({})] }],
		[
			"weights of another size",
			{
				...plain,
				initializers: [
					tensor({ name: "w", dims: [4, 5], raw: floats(...new Array<number>(20).fill(0)) }),
					bias("b"),
				],
			},
		],
		["an input of another type", { ...plain, inputs: [value("x", [1, 4], 10)] }],
	])("%s", (_, other) => {
		expect(isSameGraph(graphOf(plain), graphOf(other))).toBe(false);
		expect(isSameGraph(graphOf(other), graphOf(plain))).toBe(false);
	});

	it("another branch of a condition", () => {
		const choosing = (op: string) => {
			const branch = graph({ nodes: [node({ op, inputs: ["x"], outputs: ["y"] })], inputs: [] });
			return graphOf({
				nodes: [
					node({
						op: "If",
						inputs: ["c"],
						outputs: ["y"],
						attributes: [attribute.graph("then_branch", branch), attribute.graph("else_branch", branch)],
					}),
				],
				inputs: [value("x"), value("c", [], 9)],
			});
		};
		expect(isSameGraph(choosing("Relu"), choosing("Relu"))).toBe(true);
		expect(isSameGraph(choosing("Relu"), choosing("Sigmoid"))).toBe(false);
	});
});
