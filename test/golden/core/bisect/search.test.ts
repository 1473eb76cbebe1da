import { expect, it } from "vitest";
import type { OnnxModel, OnnxNode } from "../../../../src/core/onnx/model.ts";
import {
	type BisectGraph,
	beginSearch,
	bisectGraph,
	describeFound,
	nextTensors,
	type Search,
	settle,
	suspectNodes,
	type TensorErrors,
} from "../../../../src/golden/core/bisect/search.ts";
import { emptyModel } from "../../../support/fakes.ts";
import { randomFrom } from "../../../support/random.ts";

const node = (at: number, inputs: readonly string[], op = "Relu") => ({
	...{ name: `n${at}`, domain: "", op, inputs, outputs: [`t${at}`], attributes: [] },
});

function modelOf(nodes: readonly OnnxNode[]) {
	const value = (name: string) => ({ name, kind: "tensor" as const, dtype: "float" as const, dims: [1] });
	const last = nodes.at(-1)?.outputs[0] ?? "";
	return {
		...{ ...emptyModel, opsets: { "": 17 } },
		graph: { ...emptyModel.graph, inputs: [value("x")], outputs: [value(last)], nodes },
	};
}

function randomModel(count: number, random: () => number) {
	const before = (at: number) => (at === 0 ? "x" : `t${Math.max(0, at - 1 - Math.floor(random() ** 3 * 8))}`);
	return modelOf(
		Array.from({ length: count }, (_, at) =>
			node(at, random() < 0.3 ? [before(at), before(at)] : [before(at)], "Max"),
		),
	);
}

function residual(blocks: number) {
	const nodes: OnnxNode[] = [];
	for (let at = 0; at < blocks * 3; at += 3) {
		const input = at === 0 ? "x" : `t${at - 1}`;
		nodes.push(node(at, [input]), node(at + 1, [`t${at}`]), node(at + 2, [`t${at + 1}`, input], "Add"));
	}
	return modelOf(nodes);
}

function errorsOf({ graph: { nodes } }: OnnxModel, wrong: number) {
	const bad = new Set([`t${wrong}`]);
	for (const { inputs, outputs } of nodes.slice(wrong + 1))
		if (inputs.some((name) => bad.has(name))) bad.add(outputs[0] ?? "");
	return new Map(
		nodes.map(({ outputs: [name = ""] }) => [name, { head: bad.has(name) ? 0.05 : 1e-6, base: 1e-6 }]),
	);
}

function run(graph: BisectGraph, begun: Search, truth: ReadonlyMap<string, TensorErrors>) {
	let [search, rounds] = [begun, 0];
	for (let next = nextTensors(graph, search, 8); next.length > 0; next = nextTensors(graph, search, 8)) {
		rounds += 1;
		search = settle(graph, search, new Map(next.map((name) => [name, truth.get(name)!])));
	}
	return { search, rounds };
}

function find(model: OnnxModel, wrong: number) {
	const [graph, truth] = [bisectGraph(model, model), errorsOf(model, wrong)];
	const output = model.graph.outputs[0]?.name ?? "";
	const begun = beginSearch(output, truth.get(output)!, 1e-3);
	return begun && { graph, ...run(graph, begun, truth) };
}

it("the search finds the wrong node of every random graph in which it reaches the output", () => {
	const random = randomFrom(7).uniform;
	let found = 0;
	for (let turn = 0; turn < 150; turn += 1) {
		const model = randomModel(10 + Math.floor(random() * 150), random);
		const wrong = Math.floor(random() * model.graph.nodes.length);
		const end = find(model, wrong);
		if (end === null) continue;
		found += 1;
		expect(end.search.bad, `turn ${turn}`).toBe(`t${wrong}`);
		expect(suspectNodes(end.graph, end.search)).toEqual([wrong]);
	}
	expect(found).toBeGreaterThan(50);
});

it("a search takes five rounds at most on a thousand residual blocks", () => {
	for (const wrong of [0, 1, 2, 1500, 1501, 2999]) {
		const end = find(residual(1000), wrong);
		expect(end?.search.bad).toBe(`t${wrong}`);
		expect(end?.rounds).toBeLessThanOrEqual(5);
	}
});

it("the search looks past tensors that only one model has, and says that any of their nodes may be the cause", () => {
	const head = residual(4);
	const renamed = (names: readonly string[]) =>
		names.map((name) => (["t4", "t5"].includes(name) ? `${name}_new` : name));
	const reference = modelOf(
		head.graph.nodes.map((one) => ({ ...one, inputs: renamed(one.inputs), outputs: renamed(one.outputs) })),
	);
	const graph = bisectGraph(head, reference);
	const begun = beginSearch("t11", { head: 0.05, base: 0 }, 1e-3)!;
	const { search } = run(graph, begun, errorsOf(head, 4));
	expect(suspectNodes(graph, search)).toEqual([4, 5, 6]);
	const { message } = describeFound({ search, graph, head, reference });
	expect(message).toContain("It, or one of 2 nodes before it whose tensors cannot be compared.");
});

it("the search blames no node if the error grows little by little, and does not begin if the output agrees", () => {
	const model = residual(30);
	const graph = bisectGraph(model, model);
	const growing = new Map(
		model.graph.nodes.map((_, at) => [`t${at}`, { head: 1e-4 * 1.05 ** at, base: null }]),
	);
	const { search } = run(graph, beginSearch("t89", growing.get("t89")!, 1e-3)!, growing);
	expect(describeFound({ search, graph, head: model, reference: model }).state).toBe("accumulates");
	expect(beginSearch("t89", { head: 1e-7, base: 1e-7 }, 1e-3)).toBeNull();
	expect(beginSearch("t89", { head: 0, base: null }, 1e-3)).toBeNull();
	expect(beginSearch("t89", { head: Infinity, base: null }, 1e-3)?.allowed).toBe(1e-3);
});

it("the search compares no constants, and no tensors without a float type", () => {
	const constant = { ...node(1, [], "Constant"), attributes: [{ name: "value_float", value: 1 }] };
	const graph = bisectGraph(
		modelOf([node(0, ["x"]), constant, node(2, ["t0"], "ArgMax"), node(3, ["t0", "t1"], "Add")]),
		modelOf([node(0, ["x"])]),
	);
	expect([...graph.comparable.keys()]).toEqual(["t0"]);
	expect(graph.reads).toEqual([[], [], ["t0"], ["t0"]]);
});
