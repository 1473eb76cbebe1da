import { expect, it } from "vitest";
import { factsOf } from "../../../../src/core/onnx/static-shapes/infer.ts";
import {
	type Dim,
	int64s,
	ints,
	type ModelInit,
	modelOf,
	nodes,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

const facts = (init: ModelInit) => factsOf(modelOf(init));

/** `b 3, 4 ?`: two shapes; names are symbols, and ? is unknown. */
function shapes(text: string): Dim[][] {
	const dim = (word: string): Dim => (word === "?" ? null : /^\d+$/.test(word) ? Number(word) : word);
	return text === "" ? [] : text.split(",").map((shape) => (shape.match(/\S+/g) ?? []).map(dim));
}

/** @param target values of a constant last input. */
function infer(op: string, inputs: string, target?: number[], opset = 17) {
	const given = shapes(inputs).map((dims, at) => value(`in${at}`, dims));
	const names = [...given.map((_, at) => `in${at}`), ...(target ? ["t"] : [])];
	const initializers = target ? [ints("t", ...target)] : [];
	const nodes = `y = ${op}(${names.join(", ")})`;
	return facts({ inputs: given, initializers, nodes, opsets: { "": opset } }).static;
}

it.each<[op: string, inputs: string, expected: string | undefined, target?: number[], opset?: number]>([
	["Relu", "b 3", "b 3"],
	["Add", "b 1 4, 3 1", "b 3 4"],
	["Mul", "b, n", "?"],
	["MatMul", "b 2 4, 4 7", "b 2 7"],
	["MatMul", "2 4, 4", "2"],
	["MatMul", "b k, n 7", "b 7"],
	["Gemm<transA=1, transB=1>", "4 2, 7 4", "2 7"],
	["Conv<group=2>", "b 8 32 32, 16 4 3 3", "b 16 30 30"],
	["ConvTranspose<group=2>", "1 8 4, 8 3 2", "1 6 5"],
	["MaxPool", "1 8 4 4", "1 8 ? ?"],
	["GlobalAveragePool", "1 8 h w", "1 8 1 1"],
	["Transpose<perm=[0, 2, 1]>", "b 3 4", "b 4 3"],
	["Transpose", "b 3 4", "4 3 b"],
	["Flatten", "b 3 4", "? 12"],
	["Flatten<axis=0>", "2 3 4", "1 24"],
	["Expand", "1 3", "5 3", [5, 1]],
	["ConstantOfShape", "", "2 9", [2, 9]],
	["Reshape", "2 12", "2 4 3", [0, -1, 3]],
	["Reshape", "b 12", "b 4 3", [0, -1, 3]],
	["Concat<axis=-1>", "b 3, b 4", "b 7"],
	["Concat<axis=0>", "n 3, 2 3", "? 3"],
	["NonZero", "2 2", "2 ?"],
	["Shape", "b 3 4", "3"],
	["ReduceMean<axes=[-1]>", "b 3 4", "b 3 1"],
	["ReduceSum<keepdims=0>", "b 3 4", "b 4", [1]],
	["Squeeze", "b 1 4", "b 4", [1]],
	["Unsqueeze", "b 4", "1 b 4 1", [0, 3]],
	["Gather<axis=1>", "b 3 4, 2 5", "b 2 5 4"],
	["Slice<starts=[2], ends=[-1], axes=[1]>", "b 9", "b 6"],
	["Split<axis=1>", "b 9", "b 2", [2, 7]],
	["Pad", "b 3", "b 6", [0, 1, 0, 2]],
	["Tile", "b 3", "b 6", [1, 2]],
	["DepthToSpace<blocksize=2>", "b 12 2 3", "b 3 4 6"],
	["LSTM<hidden_size=5>", "s b 3, 2 20 3, 2 20 5", "s 2 b 5"],
	["ArgMax<axis=1, keepdims=0>", "b 3", "b"],
	["Unique", "2 2", undefined],
	["Relu", "2 2", undefined, undefined, 6],
])("shapes are followed through %s of %s", (...[op, inputs, expected, target, opset]) => {
	const found = infer(op, inputs, target, opset);
	expect(found.faults).toEqual([]);
	expect(found.shapes.get("y")).toEqual(expected && shapes(expected)[0]);
});

it.each<[op: string, inputs: string, fault: string, target?: number[]]>([
	["MatMul", "2 4, 5 7", "multiplies [2, 4] by [5, 7]: 4 and 5 must be the same"],
	["MatMul", "2 3 4, 5 4 7", "batch dimensions are incompatible"],
	["MatMul", ", 4", "scalar"],
	["Gemm<transB=1>", "2 4, 4 7", "multiplies [2, 4] by [7, 4]: 4 and 7"],
	["Gemm", "2 4 1, 4 7", "Gemm takes matrices"],
	["Conv", "1 4 8 8, 3 3 1 1", "weights [3, 3, 1, 1] for 3 channels, its input [1, 4, 8, 8] has 4"],
	["Conv<group=2>", "1 4 8, 4 4 1", "for 8 channels"],
	["Conv", "1 3 8 8, 3 3 1", "weights of 3 dimensions"],
	["ConvTranspose", "1 4 8, 3 3 1", "for 3 channels"],
	["Add", "2 4, 3", "combines incompatible shapes: [2, 4] and [3]"],
	["Reshape", "2 4", "reshapes [2, 4] (8 elements) to [3, 3]", [3, 3]],
	["Reshape", "2 4", "reshapes", [3, -1]],
	["Expand", "2 4", "expands", [2, 3]],
	["Concat<axis=0>", "2 4, 1 3", "joins [2, 4] and [1, 3] along axis 0"],
	["Transpose<perm=[0, 2, 1]>", "2 4", "permutes 3 axes"],
	["Squeeze", "2 4", "takes axes 1 out of [2, 4]", [1]],
	["Split<axis=1>", "2 9", "splits axis 1 of [2, 9] into 2 + 6", [2, 6]],
	["Concat<axis=2>", "2 4, 2 4", "takes axis 2 of [2, 4], which has 2"],
	["Gather<axis=-3>", "2 4, 1", "takes axis -3 of [2, 4]"],
	["Pad", "2 9", "pads [2, 9] by 2 numbers", [1, 1]],
	["LSTM", "7 1 4, 1 20 3, 1 20 5", "for inputs of size 3"],
])("%s of %s cannot be right: %s", (op, inputs, fault, target) => {
	const { faults } = infer(op, inputs, target);
	expect(faults.map(({ what }) => what)).toEqual([expect.stringContaining(fault)]);
});

it("shapes are followed through nodes in any order, and all outputs of a dynamic quantisation", () => {
	const nodes = "c = ConvInteger(q, w); q, scale, zero = DynamicQuantizeLinear(h); h = Cast<to=1>(x)";
	const initializers = [tensor({ name: "w", dtype: 2, dims: [6, 3, 3, 3], raw: new Uint8Array(162) })];
	const { static: known, types } = facts({ inputs: [value("x", ["b", 3, 8, 8], 10)], initializers, nodes });
	expect(Object.fromEntries(known.shapes)).toMatchObject({ q: ["b", 3, 8, 8], scale: [], c: ["b", 6, 6, 6] });
	expect([...types.values()][0]?.get("q")).toBe("uint8");
});

it("a cast to bool leaves 0 and 1, and a slice backwards to the largest integer stays open", () => {
	const initializers = [
		ints("sizes", 4, 0),
		ints("from", 1),
		ints("end", 2 ** 31 - 1),
		ints("axis", 1),
		ints("back", -1),
	];
	const nodes = "b = Cast<to=9>(sizes); n = Cast<to=7>(b); y = Slice(x, from, end, axis, back)";
	const { static: known } = facts({ inputs: [value("x", [3, 5])], initializers, nodes });
	expect(known.values.get("n")).toEqual([1, 0]);
	expect(known.shapes.get("y")).toEqual([3, null]);
});

it.each([
	[13, ["splits axis 1 of [2, 9] into 2 equal parts"]],
	[18, []],
])("parts without stated sizes are equal in opset %i, but for the last since 18", (opset, expected) => {
	const init = { inputs: [value("x", [2, 9])], nodes: "y, z = Split<axis=1>(x)", opsets: { "": opset } };
	expect(facts(init).static.faults.map(({ what }) => what)).toEqual(expected);
});

// Zeros and paddings become a matrix whose rows are reversed and whose columns are listed.
it("paddings that PyTorch computes give a known shape", () => {
	const fill = tensor({ dtype: 7, dims: [1], raw: int64s(0) });
	const padding = nodes(
		`z = ConstantOfShape<value=#0>(two); all = Concat<axis=0>(given, z); m = Reshape(all, pairs);
		r = Slice(m, last, first, rows, last); t = Transpose<perm=[1, 0]>(r); pads = Reshape(t, flat);
		y = Pad(a, pads)`,
		fill,
	);
	const initializers = [
		ints("two", 2),
		ints("given", 3, 4),
		ints("pairs", -1, 2),
		ints("last", -1),
		ints("first", -1000),
		ints("rows", 0),
		ints("flat", -1),
	];
	const found = facts({ inputs: [value("a", [1, 10])], initializers, nodes: padding }).static;
	expect(found.values.get("pads")).toEqual([0, 3, 0, 4]);
	expect(found.shapes.get("y")).toEqual([1, 17]);
});

it.each([
	["Equal", 3, 1],
	["Greater", 2, 1],
	["Less", 2, 0],
	["LessOrEqual", 3, 1],
])("%s of a size and %d gives %d, and Where follows it", (op, limit, outcome) => {
	const nodes = `
		s = Shape(a);
		c = ${op}(s, limit);
		size = Where(c, yes, no);
		n = Not(c);
		y = Expand(one, size)
	`;
	const initializers = [ints("limit", limit), ints("yes", 7), ints("no", 9), ints("one", 1)];
	const { values, shapes: known } = facts({ inputs: [value("a", [3])], initializers, nodes }).static;
	expect([values.get("c"), values.get("n")]).toEqual([[outcome], [1 - outcome]]);
	expect(known.get("y")).toEqual([outcome === 1 ? 7 : 9]);
});
