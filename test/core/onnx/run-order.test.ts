// The order in which nodes can run, of a well-made graph and of a hostile one.
import { expect, it } from "vitest";
import type { OnnxGraph, OnnxNode } from "../../../src/core/onnx/model.ts";
import { nodesInRunOrder, producersOf, type Scope } from "../../../src/core/onnx/walk.ts";

const node = (name: string, inputs: readonly string[]): OnnxNode => ({
	name,
	domain: "",
	op: "Add",
	inputs,
	outputs: [name],
	attributes: [],
});

const graph = (nodes: readonly OnnxNode[], subgraphs: OnnxGraph["subgraphs"] = []): OnnxGraph => ({
	name: "",
	inputs: [],
	outputs: [],
	nodes,
	initializers: [],
	valueInfo: [],
	subgraphs,
});

function scope(nodes: readonly OnnxNode[], subgraphs: OnnxGraph["subgraphs"] = []): Scope {
	return {
		...graph(nodes, subgraphs),
		where: "",
		kind: "graph",
		inputs: [],
		outputs: [],
		declared: [],
		opsets: {},
		outer: null,
	};
}

it("nodesInRunOrder puts nodes on cycles and behind them last, in the order of the file", () => {
	const nodes = [
		node("behind", ["round"]),
		node("round", ["round", "first"]),
		node("second", ["first"]),
		node("first", ["x"]),
	];
	expect(nodesInRunOrder(scope(nodes)).map(({ name }) => name)).toEqual([
		"first",
		"second",
		"behind",
		"round",
	]);
});

it("producersOf handles bodies that read more outer names than a call can have arguments", () => {
	const names = Array.from({ length: 300_000 }, (_, at) => `t${at}`);
	const inner = graph([node("r", [...names, "a"])]);
	const middle = graph([node("q", [])], [{ nodeIndex: 0, attribute: "body", graph: inner }]);
	const found = producersOf(
		scope([node("a", []), node("if", [])], [{ nodeIndex: 1, attribute: "then_branch", graph: middle }]),
	);
	expect(found).toEqual([[], [0]]);
});
