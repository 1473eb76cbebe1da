import { expect, it } from "vitest";
import { changedNodes } from "../../../../src/core/onnx/cost/compare.ts";
import type { CountedGraph, InputSizes } from "../../../../src/core/onnx/cost/control-flow.ts";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import {
	attribute,
	type Bytes,
	definition,
	floats,
	graph,
	ints,
	type ModelInit,
	modelOf,
	node,
	nodes,
	readFixture,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

const weights = tensor({ name: "w", dims: [4, 4] });

function count(init: ModelInit, values: InputSizes["values"] = {}, shapes = {}) {
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
	const nodes = "h = MatMul(x, w); n = NonZero(h); f = Cast<to=1>(n); y = MatMul(x2, f)";
	const cost = count({ inputs: [value("x", [2, 4]), value("x2", [3, 2])], nodes });
	expect(figures(cost)).toEqual([32, 1]);
});

it.each(["com.acme.Fast", "com.microsoft.constructor"])("an operator %s is unknown, not free", (op) => {
	const cost = count({ nodes: `y = ${op}(x)` });
	expect(figures(cost)).toEqual([0, 1]);
	expect(reasons(cost)).toEqual(["is an operator whose multiply-adds are not known"]);
});

it("an If counts as its cheaper branch, and is named, if its condition is unknown", () => {
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

it.each([
	["t = MatMul(x, w)", "h = Relu(x); e = MatMul(h, w)", [32, 0], 1, []],
	["t = Relu(x)", "n = NonZero(x); f = Cast<to=1>(n); e = MatMul(f, f)", [0, 1], 2, ["0 or at least 0"]],
	["t = MatMul(x, w)", "e = MatMul(x, w)", [32, 0], 0, []],
])("an If of %s or %s is as known as both", (then, other, expected, unknownTensors, why) => {
	const branch = (text: string, output: string) =>
		graph({ nodes: text, inputs: [], outputs: [value(output, null)], name: output });
	const gate = "y = If<then_branch=$0, else_branch=$1>(c)";
	const cost = count({
		inputs: [value("x", [2, 4]), value("c", [], 9)],
		nodes: nodes(gate, branch(then, "t"), branch(other, "e")),
	});
	expect([figures(cost), cost.unknownTensors]).toEqual([expected, unknownTensors]);
	expect(reasons(cost)).toEqual(why.map((text) => expect.stringContaining(text)));
});

it("operators of ONNX Runtime's QOperator format pass shapes and types on", () => {
	const quantised = (name: string, dims: number[]) => value(name, dims, 2);
	const cost = count({
		inputs: [quantised("q", [2, 3, 4, 4]), quantised("b", [3, 1, 1])],
		opsets: { "": 17, "com.microsoft": 1 },
		initializers: [
			tensor({ name: "s", raw: floats(1) }),
			tensor({ name: "z", dtype: 2, raw: new Uint8Array(1) }),
			tensor({ name: "k", dtype: 2, dims: [5, 6, 3, 3], raw: new Uint8Array(270) }),
		],
		nodes: `a = com.microsoft.QLinearAdd(b, s, z, q, s, z, s, z); m = com.microsoft.QLinearMul(a, s, z, b, s, z, s, z);
		c = com.microsoft.QLinearConcat<axis=1>(s, z, a, s, z, m, s, z);
		p = com.microsoft.QLinearAveragePool<kernel_shape=[2, 2]>(c, s, z, s, z);
		v = QLinearConv(p, s, z, k, s, z, s, z); y = com.microsoft.QLinearGlobalAveragePool(v, s, z, s, z)`,
	});
	expect([...figures(cost), cost.unknownTensors]).toEqual([2 * 5 * 6 * 9, 0, 0]);
	expect(cost.nodes.map(({ output }) => output)).toEqual([
		[2, 3, 4, 4],
		[2, 3, 4, 4],
		[2, 6, 4, 4],
		[2, 6, 3, 3],
		[2, 5, 1, 1],
		[2, 5, 1, 1],
	]);
});

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

it("a Loop of unknown count costs nothing, and says what one pass costs", () => {
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

it("weights count at the node that multiplies by them, behind those that convert them", () => {
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

const [batch, heads, queries, keys, size, valueSize] = [2, 4, 5, 7, 8, 6] as const;
const pairProducts = batch * heads * queries * keys * (size + valueSize);
const { integer, integers } = attribute;
const microsoft = "com.microsoft";

/** Shapes such as `2×3 4`; – is an input that is left out. */
function countOf(op: string, domain: string, shapes: string, attributes: readonly Bytes[] = []) {
	const given = shapes.split(" ").map((text) => (text === "–" ? null : text.split("×").map(Number)));
	const onnx = modelOf({
		inputs: given.flatMap((shape, at) => (shape === null ? [] : [value(`x${at}`, shape)])),
		nodes: [
			node({ op, domain, inputs: given.map((shape, at) => (shape === null ? "" : `x${at}`)), attributes }),
		],
		opsets: { "": 23, [microsoft]: 1 },
	});
	return costsOf(onnx)({ shapes: {} });
}

it.each<[string, Parameters<typeof countOf>, number, readonly number[]]>([
	["with an axis of heads", ["Attention", "", "2×4×5×8 2×4×7×8 2×4×7×6"], pairProducts, [2, 4, 5, 6]],
	[
		"with heads and size in one axis, keys shared",
		["Attention", "", "2×5×32 2×7×16 2×7×12", [integer("q_num_heads", heads), integer("kv_num_heads", 2)]],
		pairProducts,
		[batch, queries, heads * valueSize],
	],
	[
		"with keys of the past",
		["Attention", "", "2×4×5×8 2×4×3×8 2×4×3×6 – 2×4×4×8"],
		pairProducts,
		[batch, heads, queries, valueSize],
	],
	[
		"of com.microsoft, on separate inputs",
		["MultiHeadAttention", microsoft, "2×5×32 2×7×32 2×7×24"],
		pairProducts,
		[batch, queries, heads * valueSize],
	],
	[
		"of com.microsoft, with values of another size",
		["Attention", microsoft, "2×5×16 16×88", [integers("qkv_hidden_sizes", [32, 32, 24])]],
		batch * queries * 16 * 88 + batch * queries * queries * (32 + 24),
		[batch, queries, 24],
	],
	[
		"of com.microsoft, quantised, with a past",
		["QAttention", microsoft, "2×5×16 16×96 96 1 1 – – – 2×2×4×4×8"],
		batch * queries * 16 * 96 + 2 * batch * queries * (queries + 4) * 32,
		[batch, queries, 32],
	],
])("attention %s", (_, given, multiplyAdds, output) => {
	const cost = countOf(...given);
	expect(cost.multiplyAdds).toBe(multiplyAdds);
	expect(cost.nodes[0]?.output).toEqual(output);
});

it("attention on packed keys and values is unknown", () => {
	expect(figures(countOf("MultiHeadAttention", microsoft, "2×5×4×3×8"))).toEqual([0, 1]);
});

function chain(...layers: readonly (readonly [name: string, size: number])[]) {
	let [from, width] = ["x", 4];
	const nodes: Uint8Array[] = [];
	const weights: Uint8Array[] = [];
	for (const [at, [name, size]] of layers.entries()) {
		nodes.push(node({ op: "MatMul", name, inputs: [from, `w${at}`], outputs: [`h${at}`] }));
		weights.push(tensor({ name: `w${at}`, dims: [width, size] }));
		[from, width] = [`h${at}`, size];
	}
	return costsOf(modelOf({ inputs: [value("x", [1, 4])], nodes, initializers: weights }))({ shapes: {} });
}

const changesOf = (...sides: Parameters<typeof changedNodes>) =>
	changedNodes(...sides).map(({ node, base, head }) => [node, base?.weights, head?.weights]);

it("a wider layer and the one behind it are named, the larger change first", () => {
	expect(changesOf(chain(["a", 8], ["b", 2], ["c", 3]), chain(["a", 16], ["b", 2], ["c", 3]))).toEqual([
		["a", 32, 64],
		["b", 16, 32],
	]);
});

it("renamed nodes are not a change", () => {
	expect(changesOf(chain(["a", 8], ["b", 2]), chain(["x1", 8], ["x2", 2]))).toEqual([]);
});

it("the wider classifier of the fixtures differs in two layers", () => {
	const shapes = { images: [8, 3, 32, 32] };
	const fixture = (name: string) => costsOf(readFixture(`models/${name}.onnx`))({ shapes });
	const changes = changedNodes(fixture("classifier"), fixture("head-classifier-wider"));
	expect(changes.map(({ node, base, head }) => [node, base?.multiplyAdds, head?.multiplyAdds])).toEqual([
		["block1", 9_437_184, 37_748_736],
		["stem", 3_538_944, 14_155_776],
	]);
});

it("an added and a removed layer are named as such", () => {
	const [short, long] = [chain(["a", 4], ["b", 4]), chain(["a", 4], ["new", 4], ["b", 4])];
	expect(changesOf(short, long)).toEqual([["new", undefined, 16]]);
	expect(changesOf(long, short)).toEqual([["new", 16, undefined]]);
});

it("nodes with the same name are distinguished by their order", () => {
	const [base, head] = [chain(["n", 4], ["n", 4], ["n", 4]), chain(["n", 4], ["n", 4], ["n", 8])];
	expect(changesOf(base, head)).toEqual([["n", 16, 32]]);
});
