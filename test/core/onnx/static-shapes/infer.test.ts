// Shapes inside a graph, as ONNX itself infers them.
import { expect, it } from "vitest";
import { subjectOf } from "../../../../src/core/onnx/findings/subject.ts";
import type { StaticShapes } from "../../../../src/core/onnx/static-shapes/infer.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import {
	attribute,
	type Bytes,
	type Dim,
	int64s,
	model,
	node,
	tensor,
	value,
} from "../../../support/onnx-writer.ts";

/** Shapes as text: `b,3,4` has three axes, `` is a scalar. */
const dimsOf = (shape: string): Dim[] =>
	shape === ""
		? []
		: shape.split(",").map((dim) => (dim === "?" ? null : /^\d+$/.test(dim) ? Number(dim) : dim));

interface Extras {
	/** Values of a constant last input. */
	target?: readonly number[];
	/** Attributes: whole numbers, or lists of them. */
	with?: Readonly<Record<string, number | number[]>>;
	opset?: number;
}

function inferModel(bytes: Bytes): StaticShapes {
	const onnx = readOnnx(memorySource(bytes), "m.onnx");
	return subjectOf({ path: "m.onnx", onnx, sha256: "", external: [] }, { backend: "tensorrt" }).static;
}

const list = (name: string, ...values: number[]): Bytes =>
	tensor({ name, dtype: 7, dims: [values.length], raw: int64s(...values) });

/** One node on inputs a, b, c of these shapes. */
function infer(
	op: string,
	shapes: readonly string[],
	{ target, opset = 17, ...more }: Extras = {},
): StaticShapes {
	const names = ["a", "b", "c"].slice(0, shapes.length);
	const attributes = Object.entries(more.with ?? {}).map(([name, own]) =>
		typeof own === "number" ? attribute.integer(name, own) : attribute.integers(name, own),
	);
	return inferModel(
		model({
			inputs: shapes.map((shape, index) => value(names[index] ?? "", dimsOf(shape))),
			initializers: target === undefined ? [] : [list("t", ...target)],
			nodes: [node({ op, inputs: [...names, ...(target === undefined ? [] : ["t"])], attributes })],
			opsets: { "": opset },
		}),
	);
}

it.each<[string, string[], string | undefined, Extras?]>([
	["Relu", ["b,3"], "b,3"],
	["Add", ["b,1,4", "3,1"], "b,3,4"],
	["Mul", ["b", "n"], "?"],
	["MatMul", ["b,2,4", "4,7"], "b,2,7"],
	["MatMul", ["2,4", "4"], "2"],
	["MatMul", ["b,k", "n,7"], "b,7"],
	["Gemm", ["2,4", "7,4"], "2,7", { with: { transB: 1 } }],
	["Gemm", ["4,2", "7,4"], "2,7", { with: { transA: 1, transB: 1 } }],
	["Conv", ["b,8,32,32", "16,4,3,3"], "b,16,30,30", { with: { group: 2 } }],
	["ConvTranspose", ["1,8,4", "8,3,2"], "1,6,5", { with: { group: 2 } }],
	["MaxPool", ["1,8,4,4"], "1,8,?,?"],
	["GlobalAveragePool", ["1,8,h,w"], "1,8,1,1"],
	["Transpose", ["b,3,4"], "b,4,3", { with: { perm: [0, 2, 1] } }],
	["Transpose", ["b,3,4"], "4,3,b"],
	["Flatten", ["b,3,4"], "?,12"],
	["Flatten", ["2,3,4"], "1,24", { with: { axis: 0 } }],
	["Expand", ["1,3"], "5,3", { target: [5, 1] }],
	["ConstantOfShape", [], "2,9", { target: [2, 9] }],
	["Reshape", ["2,12"], "2,4,3", { target: [0, -1, 3] }],
	["Reshape", ["b,12"], "b,4,3", { target: [0, -1, 3] }],
	["Concat", ["b,3", "b,4"], "b,7", { with: { axis: -1 } }],
	["Concat", ["n,3", "2,3"], "?,3", { with: { axis: 0 } }],
	["NonZero", ["2,2"], "2,?"],
	["Shape", ["b,3,4"], "3"],
	["ReduceMean", ["b,3,4"], "b,3,1", { with: { axes: [-1] } }],
	["ReduceSum", ["b,3,4"], "b,4", { target: [1], with: { keepdims: 0 } }],
	["Squeeze", ["b,1,4"], "b,4", { target: [1] }],
	["Unsqueeze", ["b,4"], "1,b,4,1", { target: [0, 3] }],
	["Gather", ["b,3,4", "2,5"], "b,2,5,4", { with: { axis: 1 } }],
	["Slice", ["b,9"], "b,6", { with: { starts: [2], ends: [-1], axes: [1] } }],
	["Split", ["b,9"], "b,2", { target: [2, 7], with: { axis: 1 } }],
	["Pad", ["b,3"], "b,6", { target: [0, 1, 0, 2] }],
	["Tile", ["b,3"], "b,6", { target: [1, 2] }],
	["DepthToSpace", ["b,12,2,3"], "b,3,4,6", { with: { blocksize: 2 } }],
	["LSTM", ["s,b,3", "2,20,3", "2,20,5"], "s,2,b,5", { with: { hidden_size: 5 } }],
	["ArgMax", ["b,3"], "b", { with: { axis: 1, keepdims: 0 } }],
	["Unique", ["2,2"], undefined],
	["Relu", ["2,2"], undefined, { opset: 6 }],
])("%s of %j gives %s", (op, inputs, expected, extras) => {
	const { shapes, faults } = infer(op, inputs, extras);
	expect(faults).toEqual([]);
	expect(shapes.get("y")).toEqual(expected === undefined ? undefined : dimsOf(expected));
});

it.each<[string, string[], RegExp, Extras?]>([
	["MatMul", ["2,4", "5,7"], /multiplies \[2, 4\] by \[5, 7\]: 4 and 5 must be the same/],
	["MatMul", ["2,3,4", "5,4,7"], /batch dimensions are incompatible/],
	["MatMul", ["", "4"], /scalar/],
	["Gemm", ["2,4", "4,7"], /multiplies \[2, 4\] by \[7, 4\]: 4 and 7/, { with: { transB: 1 } }],
	["Gemm", ["2,4,1", "4,7"], /Gemm takes matrices/],
	["Conv", ["1,4,8,8", "3,3,1,1"], /weights \[3, 3, 1, 1\] for 3 channels, its input \[1, 4, 8, 8\] has 4/],
	["Conv", ["1,4,8", "4,4,1"], /for 8 channels/, { with: { group: 2 } }],
	["Conv", ["1,3,8,8", "3,3,1"], /weights of 3 dimensions/],
	["ConvTranspose", ["1,4,8", "3,3,1"], /for 3 channels/],
	["Add", ["2,4", "3"], /combines incompatible shapes: \[2, 4\] and \[3\]/],
	["Reshape", ["2,4"], /reshapes \[2, 4\] \(8 elements\) to \[3, 3\]/, { target: [3, 3] }],
	["Reshape", ["2,4"], /reshapes/, { target: [3, -1] }],
	["Expand", ["2,4"], /expands/, { target: [2, 3] }],
	["Concat", ["2,4", "1,3"], /joins \[2, 4\] and \[1, 3\] along axis 0/, { with: { axis: 0 } }],
	["Transpose", ["2,4"], /permutes 3 axes/, { with: { perm: [0, 2, 1] } }],
	["Squeeze", ["2,4"], /takes axes 1 out of \[2, 4\]/, { target: [1] }],
	["Split", ["2,9"], /splits axis 1 of \[2, 9\] into 2 \+ 6/, { target: [2, 6], with: { axis: 1 } }],
	["Pad", ["2,9"], /pads \[2, 9\] by 2 numbers/, { target: [1, 1] }],
	["LSTM", ["7,1,4", "1,20,3", "1,20,5"], /for inputs of size 3/],
])("%s of %j cannot be right", (op, inputs, expected, extras) => {
	expect(infer(op, inputs, extras).faults.map(({ what }) => what)).toEqual([expect.stringMatching(expected)]);
});

it("inferShapes follows nodes that stand behind those that read them, and both outputs of a dynamic quantisation", () => {
	const nodes = [
		node({ op: "ConvInteger", inputs: ["q", "w"], outputs: ["c"] }),
		node({ op: "DynamicQuantizeLinear", inputs: ["h"], outputs: ["q", "scale", "zero"] }),
		node({ op: "Cast", inputs: ["x"], outputs: ["h"], attributes: [attribute.integer("to", 1)] }),
	];
	const weights = [tensor({ name: "w", dtype: 2, dims: [6, 3, 3, 3], raw: new Uint8Array(162) })];
	const bytes = model({
		inputs: [value("x", ["b", 3, 8, 8], 10)],
		initializers: weights,
		nodes,
		opsets: { "": 17 },
	});
	const onnx = readOnnx(memorySource(bytes), "m.onnx");
	const { static: known, types } = subjectOf(
		{ path: "m.onnx", onnx, sha256: "", external: [] },
		{ backend: "tensorrt" },
	);
	expect(Object.fromEntries(known.shapes)).toMatchObject({ q: ["b", 3, 8, 8], scale: [], c: ["b", 6, 6, 6] });
	expect([...types.values()][0]?.get("q")).toBe("uint8");
});

/** PyTorch's export of a padding: a list of zeros and paddings, as a matrix whose rows it reverses and whose columns it lists. */
it("paddings that PyTorch computes give a known shape", () => {
	const zeros = node({
		op: "ConstantOfShape",
		inputs: ["two"],
		outputs: ["z"],
		attributes: [attribute.tensor("value", tensor({ dtype: 7, dims: [1], raw: int64s(0) }))],
	});
	const nodes = [
		zeros,
		node({
			op: "Concat",
			inputs: ["given", "z"],
			outputs: ["all"],
			attributes: [attribute.integer("axis", 0)],
		}),
		node({ op: "Reshape", inputs: ["all", "pairs"], outputs: ["m"] }),
		node({ op: "Slice", inputs: ["m", "last", "first", "rows", "last"], outputs: ["r"] }),
		node({
			op: "Transpose",
			inputs: ["r"],
			outputs: ["t"],
			attributes: [attribute.integers("perm", [1, 0])],
		}),
		node({ op: "Reshape", inputs: ["t", "flat"], outputs: ["pads"] }),
		node({ op: "Pad", inputs: ["a", "pads"], outputs: ["y"] }),
	];
	const lists = [
		list("two", 2),
		list("given", 3, 4),
		list("pairs", -1, 2),
		list("last", -1),
		list("first", -1000),
		list("rows", 0),
		list("flat", -1),
	];
	const found = inferModel(model({ inputs: [value("a", [1, 10])], initializers: lists, nodes }));
	expect([found.values.get("pads"), found.shapes.get("y")]).toEqual([
		[0, 3, 0, 4],
		[1, 17],
	]);
});

it.each<[string, number, number]>([
	["Equal", 3, 1],
	["Greater", 2, 1],
	["Less", 2, 0],
	["LessOrEqual", 3, 1],
])("%s of a size and %d gives %d, and Where follows it", (op, limit, outcome) => {
	const nodes = [
		node({ op: "Shape", inputs: ["a"], outputs: ["s"] }),
		node({ op, inputs: ["s", "limit"], outputs: ["c"] }),
		node({ op: "Where", inputs: ["c", "yes", "no"], outputs: ["size"] }),
		node({ op: "Not", inputs: ["c"], outputs: ["n"] }),
		node({ op: "Expand", inputs: ["one", "size"], outputs: ["y"] }),
	];
	const lists = [list("limit", limit), list("yes", 7), list("no", 9), list("one", 1)];
	const found = inferModel(model({ inputs: [value("a", [3])], initializers: lists, nodes }));
	expect([found.values.get("c"), found.values.get("n"), found.shapes.get("y")]).toEqual([
		[outcome],
		[1 - outcome],
		[outcome === 1 ? 7 : 9],
	]);
});
