// Shapes inside a graph, as ONNX itself infers them.
import { expect, it } from "vitest";
import { factsOf } from "../../../../src/core/onnx/static-shapes/infer.ts";
import {
	attribute,
	type Bytes,
	type Dim,
	int64s,
	ints,
	type ModelInit,
	modelOf,
	node,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

const { integer, integers } = attribute;

const facts = (init: ModelInit) => factsOf(modelOf(init));

/** `b 3, 4 ?`: two shapes; names are symbols, and ? is unknown. */
function shapes(text: string): Dim[][] {
	const dim = (word: string): Dim => (word === "?" ? null : /^\d+$/.test(word) ? Number(word) : word);
	return text === "" ? [] : text.split(",").map((shape) => (shape.match(/\S+/g) ?? []).map(dim));
}

interface More {
	/** Values of a constant last input. */
	target?: readonly number[];
	attributes?: readonly Bytes[];
	opset?: number;
}

function infer(op: string, inputs: string, { target, attributes = [], opset = 17 }: More = {}) {
	const given = shapes(inputs).map((dims, at) => value(`in${at}`, dims));
	const names = given.map((_, at) => `in${at}`);
	return facts({
		inputs: given,
		initializers: target === undefined ? [] : [ints("t", ...target)],
		nodes: [node({ op, inputs: target === undefined ? names : [...names, "t"], attributes })],
		opsets: { "": opset },
	}).static;
}

const axis = (at: number) => [integer("axis", at)];
const perm = (...order: number[]) => [integers("perm", order)];

it.each<[what: string, op: string, inputs: string, expected: string | undefined, more?: More]>([
	["an activation", "Relu", "b 3", "b 3"],
	["broadcasting", "Add", "b 1 4, 3 1", "b 3 4"],
	["broadcasting of different symbols", "Mul", "b, n", "?"],
	["a matrix product", "MatMul", "b 2 4, 4 7", "b 2 7"],
	["a product with a vector", "MatMul", "2 4, 4", "2"],
	["a product of symbols", "MatMul", "b k, n 7", "b 7"],
	["Gemm", "Gemm", "2 4, 7 4", "2 7", { attributes: [integer("transB", 1)] }],
	[
		"Gemm, both turned",
		"Gemm",
		"4 2, 7 4",
		"2 7",
		{ attributes: [integer("transA", 1), integer("transB", 1)] },
	],
	["a convolution", "Conv", "b 8 32 32, 16 4 3 3", "b 16 30 30", { attributes: [integer("group", 2)] }],
	[
		"a transposed convolution",
		"ConvTranspose",
		"1 8 4, 8 3 2",
		"1 6 5",
		{ attributes: [integer("group", 2)] },
	],
	["pooling", "MaxPool", "1 8 4 4", "1 8 ? ?"],
	["global pooling", "GlobalAveragePool", "1 8 h w", "1 8 1 1"],
	["Transpose", "Transpose", "b 3 4", "b 4 3", { attributes: perm(0, 2, 1) }],
	["Transpose without order", "Transpose", "b 3 4", "4 3 b"],
	["Flatten", "Flatten", "b 3 4", "? 12"],
	["Flatten of all", "Flatten", "2 3 4", "1 24", { attributes: axis(0) }],
	["Expand", "Expand", "1 3", "5 3", { target: [5, 1] }],
	["ConstantOfShape", "ConstantOfShape", "", "2 9", { target: [2, 9] }],
	["Reshape with a gap", "Reshape", "2 12", "2 4 3", { target: [0, -1, 3] }],
	["Reshape around a symbol", "Reshape", "b 12", "b 4 3", { target: [0, -1, 3] }],
	["Concat", "Concat", "b 3, b 4", "b 7", { attributes: axis(-1) }],
	["Concat of symbols", "Concat", "n 3, 2 3", "? 3", { attributes: axis(0) }],
	["NonZero", "NonZero", "2 2", "2 ?"],
	["Shape", "Shape", "b 3 4", "3"],
	["a reduction", "ReduceMean", "b 3 4", "b 3 1", { attributes: [integers("axes", [-1])] }],
	[
		"a reduction that drops its axes",
		"ReduceSum",
		"b 3 4",
		"b 4",
		{ target: [1], attributes: [integer("keepdims", 0)] },
	],
	["Squeeze", "Squeeze", "b 1 4", "b 4", { target: [1] }],
	["Unsqueeze", "Unsqueeze", "b 4", "1 b 4 1", { target: [0, 3] }],
	["Gather", "Gather", "b 3 4, 2 5", "b 2 5 4", { attributes: axis(1) }],
	[
		"Slice of old",
		"Slice",
		"b 9",
		"b 6",
		{ attributes: [integers("starts", [2]), integers("ends", [-1]), integers("axes", [1])] },
	],
	["Split", "Split", "b 9", "b 2", { attributes: axis(1), target: [2, 7] }],
	["Pad", "Pad", "b 3", "b 6", { target: [0, 1, 0, 2] }],
	["Tile", "Tile", "b 3", "b 6", { target: [1, 2] }],
	["DepthToSpace", "DepthToSpace", "b 12 2 3", "b 3 4 6", { attributes: [integer("blocksize", 2)] }],
	["LSTM", "LSTM", "s b 3, 2 20 3, 2 20 5", "s 2 b 5", { attributes: [integer("hidden_size", 5)] }],
	["ArgMax", "ArgMax", "b 3", "b", { attributes: [...axis(1), integer("keepdims", 0)] }],
	["nothing it does not know", "Unique", "2 2", undefined],
	["nothing of opsets with other rules", "Relu", "2 2", undefined, { opset: 6 }],
])("shapes are followed through %s", (_, op, inputs, expected, more) => {
	const found = infer(op, inputs, more);
	expect(found.faults).toEqual([]);
	expect(found.shapes.get("y")).toEqual(expected && shapes(expected)[0]);
});

it.each<[op: string, inputs: string, fault: string, more?: More]>([
	["MatMul", "2 4, 5 7", "multiplies [2, 4] by [5, 7]: 4 and 5 must be the same"],
	["MatMul", "2 3 4, 5 4 7", "batch dimensions are incompatible"],
	["MatMul", ", 4", "scalar"],
	["Gemm", "2 4, 4 7", "multiplies [2, 4] by [7, 4]: 4 and 7", { attributes: [integer("transB", 1)] }],
	["Gemm", "2 4 1, 4 7", "Gemm takes matrices"],
	["Conv", "1 4 8 8, 3 3 1 1", "weights [3, 3, 1, 1] for 3 channels, its input [1, 4, 8, 8] has 4"],
	["Conv", "1 4 8, 4 4 1", "for 8 channels", { attributes: [integer("group", 2)] }],
	["Conv", "1 3 8 8, 3 3 1", "weights of 3 dimensions"],
	["ConvTranspose", "1 4 8, 3 3 1", "for 3 channels"],
	["Add", "2 4, 3", "combines incompatible shapes: [2, 4] and [3]"],
	["Reshape", "2 4", "reshapes [2, 4] (8 elements) to [3, 3]", { target: [3, 3] }],
	["Reshape", "2 4", "reshapes", { target: [3, -1] }],
	["Expand", "2 4", "expands", { target: [2, 3] }],
	["Concat", "2 4, 1 3", "joins [2, 4] and [1, 3] along axis 0", { attributes: axis(0) }],
	["Transpose", "2 4", "permutes 3 axes", { attributes: perm(0, 2, 1) }],
	["Squeeze", "2 4", "takes axes 1 out of [2, 4]", { target: [1] }],
	["Split", "2 9", "splits axis 1 of [2, 9] into 2 + 6", { attributes: axis(1), target: [2, 6] }],
	["Pad", "2 9", "pads [2, 9] by 2 numbers", { target: [1, 1] }],
	["LSTM", "7 1 4, 1 20 3, 1 20 5", "for inputs of size 3"],
])("%s of %s cannot be right: %s", (op, inputs, fault, more) => {
	expect(infer(op, inputs, more).faults.map(({ what }) => what)).toEqual([expect.stringContaining(fault)]);
});

it("shapes are followed through nodes that stand behind those that read them, and all outputs of a dynamic quantisation", () => {
	const nodes = "c = ConvInteger(q, w); q, scale, zero = DynamicQuantizeLinear(h); h = Cast<to=1>(x)";
	const initializers = [tensor({ name: "w", dtype: 2, dims: [6, 3, 3, 3], raw: new Uint8Array(162) })];
	const { static: known, types } = facts({ inputs: [value("x", ["b", 3, 8, 8], 10)], initializers, nodes });
	expect(Object.fromEntries(known.shapes)).toMatchObject({ q: ["b", 3, 8, 8], scale: [], c: ["b", 6, 6, 6] });
	expect([...types.values()][0]?.get("q")).toBe("uint8");
});

/** PyTorch's export of a padding: a list of zeros and paddings, as a matrix whose rows it reverses and whose columns it lists. */
it("paddings that PyTorch computes give a known shape", () => {
	const fill = attribute.tensor("value", tensor({ dtype: 7, dims: [1], raw: int64s(0) }));
	const nodes = [
		node({ op: "ConstantOfShape", inputs: ["two"], outputs: ["z"], attributes: [fill] }),
		node({ op: "Concat", inputs: ["given", "z"], outputs: ["all"], attributes: axis(0) }),
		node({ op: "Reshape", inputs: ["all", "pairs"], outputs: ["m"] }),
		node({ op: "Slice", inputs: ["m", "last", "first", "rows", "last"], outputs: ["r"] }),
		node({ op: "Transpose", inputs: ["r"], outputs: ["t"], attributes: perm(1, 0) }),
		node({ op: "Reshape", inputs: ["t", "flat"], outputs: ["pads"] }),
		node({ op: "Pad", inputs: ["a", "pads"], outputs: ["y"] }),
	];
	const initializers = [
		ints("two", 2),
		ints("given", 3, 4),
		ints("pairs", -1, 2),
		ints("last", -1),
		ints("first", -1000),
		ints("rows", 0),
		ints("flat", -1),
	];
	const found = facts({ inputs: [value("a", [1, 10])], initializers, nodes }).static;
	expect(found.values.get("pads")).toEqual([0, 3, 0, 4]);
	expect(found.shapes.get("y")).toEqual([1, 17]);
});

it.each<[string, number, number]>([
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
