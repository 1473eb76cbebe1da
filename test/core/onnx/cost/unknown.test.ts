// If a file alone does not tell everything, the figures are lower bounds, and the nodes are named.
import { expect, it } from "vitest";
import type { CountedGraph, InputSizes } from "../../../../src/core/onnx/cost/control-flow.ts";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import {
	attribute,
	definition,
	floats,
	graph,
	int64s,
	type ModelInit,
	modelOf,
	node,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

function count(init: ModelInit, sizes: InputSizes = { shapes: {} }): CountedGraph {
	return costsOf(modelOf(init))(sizes);
}

const weights = tensor({ name: "w", dims: [4, 4] });
const product = (from: string, to: string, name = "") =>
	node({ op: "MatMul", inputs: [from, "w"], outputs: [to], name });

it("a symbolic size makes the multiply-adds of a node unknown until it is given", () => {
	const init = {
		inputs: [value("x", ["batch", 4])],
		initializers: [weights],
		nodes: [product("x", "y", "dense")],
	};
	const open = count(init);
	expect(open).toMatchObject({
		multiplyAdds: 0,
		unknownNodes: 1,
		parameters: 16,
		weightBytes: 64,
		unknownTensors: 2,
	});
	expect(open.nodes[0]?.why).toBe("has shapes that depend on data or are not known");
	expect(count(init, { shapes: { x: [3, 4] } })).toMatchObject({
		multiplyAdds: 48,
		unknownNodes: 0,
		activationBytes: 96,
	});
});

it("a size that depends on data leaves only the nodes behind it unknown", () => {
	const nodes = [
		product("x", "h"),
		node({ op: "NonZero", inputs: ["h"], outputs: ["n"] }),
		node({ op: "Cast", inputs: ["n"], outputs: ["f"], attributes: [attribute.integer("to", 1)] }),
		node({ op: "MatMul", inputs: ["x2", "f"], outputs: ["y"] }),
	];
	const cost = count({ inputs: [value("x", [2, 4]), value("x2", [3, 2])], initializers: [weights], nodes });
	expect(cost).toMatchObject({ multiplyAdds: 32, unknownNodes: 1 });
});

it("an operator that nothing here knows counts as unknown, not as free", () => {
	const cost = count({ inputs: [value("x", [2, 4])], nodes: "y = com.acme.Fast(x)" });
	expect(cost).toMatchObject({ multiplyAdds: 0, unknownNodes: 1 });
	expect(cost.nodes[0]?.why).toBe("is an operator whose multiply-adds are not known");
});

it("an operator named like a property of every object is unknown", () => {
	const nodes = "y = com.microsoft.constructor(x)";
	expect(count({ inputs: [value("x", [2, 4])], nodes }).unknownNodes).toBe(1);
});

const branch = (nodes: readonly Uint8Array[], output: string) =>
	graph({ nodes, inputs: [], outputs: [value(output, null)], name: output });
const choice = node({
	op: "If",
	name: "gate",
	inputs: ["c"],
	outputs: ["y"],
	attributes: [
		attribute.graph("then_branch", branch([product("x", "h1"), product("h1", "t")], "t")),
		attribute.graph("else_branch", branch([product("x", "e")], "e")),
	],
});
const gated = { inputs: [value("x", [2, 4]), value("c", [], 9)], initializers: [weights], nodes: [choice] };

it("an If whose condition depends on data counts as its cheaper branch, and is named", () => {
	const cost = count(gated);
	expect(cost).toMatchObject({ multiplyAdds: 32, unknownNodes: 1 });
	expect(cost.nodes.find(({ multiplyAdds }) => multiplyAdds === null)?.why).toBe(
		"depends on data which branch runs: 32 or 64 multiply-adds",
	);
});

it("an input from the config decides which branch of an If counts", () => {
	expect(count(gated, { shapes: {}, values: { c: 1 } })).toMatchObject({ multiplyAdds: 64, unknownNodes: 0 });
	expect(count(gated, { shapes: {}, values: { c: 0 } })).toMatchObject({ multiplyAdds: 32, unknownNodes: 0 });
});

/** A Loop over the nodes, which carries `x` to `t`. */
const loopOver = (nodes: readonly Uint8Array[], size: number | null, output: string) => {
	const body = graph({
		name: "b",
		inputs: [value("i", [], 7), value("ci", [], 9), value("x", [2, size])],
		nodes: [node({ op: "Identity", inputs: ["ci"], outputs: ["co"] }), ...nodes],
		outputs: [value("co", [], 9), value("t", null)],
	});
	return node({
		op: "Loop",
		inputs: ["m", "", "x"],
		outputs: [output],
		attributes: [attribute.graph("body", body)],
	});
};

it("a Loop whose count depends on data counts as nothing, and says what one pass costs", () => {
	const nodes = [loopOver([product("x", "t")], 4, "y")];
	const init = { inputs: [value("x", [2, 4]), value("m", [], 7)], initializers: [weights], nodes };
	const cost = count(init);
	expect(cost).toMatchObject({ multiplyAdds: 0, unknownNodes: 1 });
	expect(cost.nodes[0]?.why).toBe("depends on data how often its body runs, each time with 32 multiply-adds");
	expect(count(init, { shapes: {}, values: { m: 5 } })).toMatchObject({ multiplyAdds: 160, unknownNodes: 0 });
});

it("Loops within Loops beyond any sensible depth end, and are unknown", () => {
	const nest = (depth: number): Uint8Array =>
		depth === 0 ? product("x", "t") : loopOver([nest(depth - 1)], null, "t");
	const limit = tensor({ name: "m", dtype: 7, raw: int64s(2) });
	const init = { inputs: [value("x", [2, 4])], initializers: [weights, limit], nodes: [nest(20)] };
	expect(count(init).unknownNodes).toBeGreaterThan(0);
});

it("a function that calls itself is left as an unknown call", () => {
	const cost = count({
		inputs: [value("x", [2, 4])],
		nodes: "y = own.f(x)",
		opsets: { "": 17, own: 1 },
		modelMore: definition("y = own.f(x)", "y = own.f(x)"),
	});
	expect(cost.unknownNodes).toBe(1);
});

it("weights reach the node that multiplies by them through the nodes that convert them", () => {
	const small = tensor({ name: "w", dtype: 3, dims: [4, 4] });
	const scale = tensor({ name: "s", dims: [], raw: floats(1) });
	const nodes = "d = DequantizeLinear(w, s); [dense] y = MatMul(x, d)";
	const cost = count({ inputs: [value("x", [2, 4])], initializers: [small, scale], nodes });
	expect(cost.nodes.map(({ node, weights }) => [node.op, weights])).toEqual([
		["DequantizeLinear", 0],
		["MatMul", 16],
	]);
	expect(cost).toMatchObject({ parameters: 17, weightBytes: 20 });
});

it("a product beyond exact whole numbers is unknown", () => {
	const big = 2 ** 31 - 1;
	const cost = count({
		inputs: [value("x", [big, big]), value("z", [big, big])],
		nodes: "y = MatMul(x, z)",
	});
	expect(cost).toMatchObject({ multiplyAdds: 0, unknownNodes: 1, unknownTensors: 3 });
});
