// If a file alone does not tell everything, the figures are lower bounds, and the nodes are named.
import { expect, it } from "vitest";
import type { CountedGraph, InputSizes } from "../../../../src/core/onnx/cost/control-flow.ts";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import {
	definition,
	floats,
	graph,
	ints,
	type ModelInit,
	modelOf,
	nodes,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

const weights = tensor({ name: "w", dims: [4, 4] });

/** On an input `x` of [2, 4] and weights `w` of [4, 4], unless the model has its own. */
function count(init: ModelInit, values: InputSizes["values"] = {}, shapes = {}): CountedGraph {
	const onnx = modelOf({ inputs: [value("x", [2, 4])], initializers: [weights], ...init });
	return costsOf(onnx)({ shapes, values });
}

const figures = ({ multiplyAdds, unknownNodes }: CountedGraph) => [multiplyAdds, unknownNodes];
const reasons = (cost: CountedGraph) => cost.nodes.flatMap(({ why }) => why ?? []);

it("a symbolic size makes the multiply-adds of a node unknown until it is given", () => {
	const init = { inputs: [value("x", ["batch", 4])], nodes: "[dense] y = MatMul(x, w)" };
	const open = count(init);
	expect(open).toMatchObject({ parameters: 16, weightBytes: 64, unknownTensors: 2 });
	expect(figures(open)).toEqual([0, 1]);
	expect(reasons(open)).toEqual(["has shapes that depend on data or are not known"]);
	const given = count(init, {}, { x: [3, 4] });
	expect([...figures(given), given.activationBytes]).toEqual([48, 0, 96]);
});

it("a size that depends on data leaves only the nodes behind it unknown", () => {
	const chain = "h = MatMul(x, w); n = NonZero(h); f = Cast<to=1>(n); y = MatMul(x2, f)";
	expect(figures(count({ inputs: [value("x", [2, 4]), value("x2", [3, 2])], nodes: chain }))).toEqual([
		32, 1,
	]);
});

it.each(["com.acme.Fast", "com.microsoft.constructor"])("an operator %s is unknown, not free", (op) => {
	const cost = count({ nodes: `y = ${op}(x)` });
	expect(figures(cost)).toEqual([0, 1]);
	expect(reasons(cost)).toEqual(["is an operator whose multiply-adds are not known"]);
});

it("an If counts as its cheaper branch, and is named, unless its condition is known", () => {
	const branch = (text: string, output: string) =>
		graph({ nodes: text, inputs: [], outputs: [value(output, null)], name: output });
	const init = {
		inputs: [value("x", [2, 4]), value("c", [], 9)],
		nodes: nodes(
			"[gate] y = If<then_branch=$0, else_branch=$1>(c)",
			branch("h1 = MatMul(x, w); t = MatMul(h1, w)", "t"),
			branch("e = MatMul(x, w)", "e"),
		),
	};
	const cost = count(init);
	expect(figures(cost)).toEqual([32, 1]);
	expect(reasons(cost)).toEqual(["depends on data which branch runs: 32 or 64 multiply-adds"]);
	expect(figures(count(init, { c: 1 }))).toEqual([64, 0]);
	expect(figures(count(init, { c: 0 }))).toEqual([32, 0]);
});

/** A Loop over the nodes, which carries `x` to `t`. */
function loopOver(inner: readonly Uint8Array[], size: number | null, output: string) {
	const body = graph({
		name: "b",
		inputs: [value("i", [], 7), value("ci", [], 9), value("x", [2, size])],
		nodes: [...nodes("co = Identity(ci)"), ...inner],
		outputs: [value("co", [], 9), value("t", null)],
	});
	return nodes(`${output} = Loop<body=$0>(m, , x)`, body);
}
const product = nodes("t = MatMul(x, w)");

it("a Loop whose count depends on data counts as nothing, and says what one pass costs", () => {
	const init = { inputs: [value("x", [2, 4]), value("m", [], 7)], nodes: loopOver(product, 4, "y") };
	const cost = count(init);
	expect(figures(cost)).toEqual([0, 1]);
	expect(reasons(cost)).toEqual(["depends on data how often its body runs, each time with 32 multiply-adds"]);
	expect(figures(count(init, { m: 5 }))).toEqual([160, 0]);
});

it("Loops within Loops beyond any sensible depth end, and are unknown", () => {
	let nest = product;
	for (let depth = 0; depth < 20; depth++) nest = loopOver(nest, null, "t");
	expect(count({ initializers: [weights, ints("m", 2)], nodes: nest }).unknownNodes).toBeGreaterThan(0);
});

it("a function that calls itself is left as an unknown call", () => {
	const call = "y = own.f(x)";
	const init = { nodes: call, opsets: { "": 17, own: 1 }, modelMore: definition(call, call) };
	expect(count(init).unknownNodes).toBe(1);
});

it("weights reach the node that multiplies by them through the nodes that convert them", () => {
	const small = tensor({ name: "w", dtype: 3, dims: [4, 4] });
	const initializers = [small, tensor({ name: "s", raw: floats(1) })];
	const cost = count({ initializers, nodes: "d = DequantizeLinear(w, s); y = MatMul(x, d)" });
	expect(cost.nodes.map((each) => [each.node.op, each.weights])).toEqual([
		["DequantizeLinear", 0],
		["MatMul", 16],
	]);
	expect(cost).toMatchObject({ parameters: 17, weightBytes: 20 });
});

it("a product beyond exact whole numbers is unknown", () => {
	const big = [2 ** 31 - 1, 2 ** 31 - 1];
	const cost = count({ inputs: [value("x", big), value("z", big)], nodes: "y = MatMul(x, z)" });
	expect([...figures(cost), cost.unknownTensors]).toEqual([0, 1, 3]);
});
