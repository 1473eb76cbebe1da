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

type Shape = readonly Dim[];

interface Case {
	op: string;
	/** Shapes of the inputs a, b, c. */
	inputs: readonly Shape[];
	/** Values of a constant last input. */
	target?: readonly number[];
	attributes?: readonly Bytes[];
	opset?: number;
}

function infer(given: Case): StaticShapes {
	const names = ["a", "b", "c"].slice(0, given.inputs.length);
	const constant =
		given.target === undefined
			? []
			: [tensor({ name: "t", dtype: 7, dims: [given.target.length], raw: int64s(...given.target) })];
	const onnx = readOnnx(
		memorySource(
			model({
				inputs: given.inputs.map((dims, index) => value(names[index] ?? "", dims)),
				initializers: constant,
				nodes: [
					node({
						op: given.op,
						inputs: [...names, ...(constant.length > 0 ? ["t"] : [])],
						attributes: given.attributes ?? [],
					}),
				],
				opsets: { "": given.opset ?? 17 },
			}),
		),
		"m.onnx",
	);
	return subjectOf({ path: "m.onnx", onnx, sha256: "", external: [] }, { backend: "tensorrt" }).static;
}

const { integer, integers } = attribute;

it.each<[string, Case, Shape | undefined]>([
	["an activation", { op: "Relu", inputs: [["b", 3]] }, ["b", 3]],
	[
		"broadcasting",
		{
			op: "Add",
			inputs: [
				["b", 1, 4],
				[3, 1],
			],
		},
		["b", 3, 4],
	],
	["broadcasting of different symbols", { op: "Mul", inputs: [["b"], ["n"]] }, [null]],
	[
		"a matrix product",
		{
			op: "MatMul",
			inputs: [
				["b", 2, 4],
				[4, 7],
			],
		},
		["b", 2, 7],
	],
	["a product with a vector", { op: "MatMul", inputs: [[2, 4], [4]] }, [2]],
	[
		"a product of symbols",
		{
			op: "MatMul",
			inputs: [
				["b", "k"],
				["n", 7],
			],
		},
		["b", 7],
	],
	[
		"Gemm",
		{
			op: "Gemm",
			inputs: [
				[2, 4],
				[7, 4],
			],
			attributes: [integer("transB", 1)],
		},
		[2, 7],
	],
	[
		"Gemm, both turned",
		{
			op: "Gemm",
			inputs: [
				[4, 2],
				[7, 4],
			],
			attributes: [integer("transA", 1), integer("transB", 1)],
		},
		[2, 7],
	],
	[
		"a convolution",
		{
			op: "Conv",
			inputs: [
				["b", 8, 32, 32],
				[16, 4, 3, 3],
			],
			attributes: [integer("group", 2)],
		},
		["b", 16, 30, 30],
	],
	[
		"a transposed convolution",
		{
			op: "ConvTranspose",
			inputs: [
				[1, 8, 4],
				[8, 3, 2],
			],
			attributes: [integer("group", 2)],
		},
		[1, 6, 5],
	],
	["pooling", { op: "MaxPool", inputs: [[1, 8, 4, 4]] }, [1, 8, null, null]],
	["global pooling", { op: "GlobalAveragePool", inputs: [[1, 8, "h", "w"]] }, [1, 8, 1, 1]],
	[
		"Transpose",
		{ op: "Transpose", inputs: [["b", 3, 4]], attributes: [integers("perm", [0, 2, 1])] },
		["b", 4, 3],
	],
	["Transpose without order", { op: "Transpose", inputs: [["b", 3, 4]] }, [4, 3, "b"]],
	["Flatten", { op: "Flatten", inputs: [["b", 3, 4]] }, [null, 12]],
	["Flatten of all", { op: "Flatten", inputs: [[2, 3, 4]], attributes: [integer("axis", 0)] }, [1, 24]],
	["Expand", { op: "Expand", inputs: [[1, 3]], target: [5, 1] }, [5, 3]],
	["ConstantOfShape", { op: "ConstantOfShape", inputs: [], target: [2, 9] }, [2, 9]],
	["Reshape with a gap", { op: "Reshape", inputs: [[2, 12]], target: [0, -1, 3] }, [2, 4, 3]],
	["Reshape around a symbol", { op: "Reshape", inputs: [["b", 12]], target: [0, -1, 3] }, ["b", 4, 3]],
	[
		"Concat",
		{
			op: "Concat",
			inputs: [
				["b", 3],
				["b", 4],
			],
			attributes: [integer("axis", -1)],
		},
		["b", 7],
	],
	[
		"Concat of symbols",
		{
			op: "Concat",
			inputs: [
				["n", 3],
				[2, 3],
			],
			attributes: [integer("axis", 0)],
		},
		[null, 3],
	],
	["NonZero", { op: "NonZero", inputs: [[2, 2]] }, [2, null]],
	["Shape", { op: "Shape", inputs: [["b", 3, 4]] }, [3]],
	[
		"a reduction",
		{ op: "ReduceMean", inputs: [["b", 3, 4]], attributes: [integers("axes", [-1])] },
		["b", 3, 1],
	],
	[
		"a reduction that drops its axes",
		{ op: "ReduceSum", inputs: [["b", 3, 4]], target: [1], attributes: [integer("keepdims", 0)] },
		["b", 4],
	],
	["Squeeze", { op: "Squeeze", inputs: [["b", 1, 4]], target: [1] }, ["b", 4]],
	["Unsqueeze", { op: "Unsqueeze", inputs: [["b", 4]], target: [0, 3] }, [1, "b", 4, 1]],
	[
		"Gather",
		{
			op: "Gather",
			inputs: [
				["b", 3, 4],
				[2, 5],
			],
			attributes: [integer("axis", 1)],
		},
		["b", 2, 5, 4],
	],
	[
		"Slice of old",
		{
			op: "Slice",
			inputs: [["b", 9]],
			attributes: [integers("starts", [2]), integers("ends", [-1]), integers("axes", [1])],
		},
		["b", 6],
	],
	["Split", { op: "Split", inputs: [["b", 9]], attributes: [integer("axis", 1)], target: [2, 7] }, ["b", 2]],
	["Pad", { op: "Pad", inputs: [["b", 3]], target: [0, 1, 0, 2] }, ["b", 6]],
	["Tile", { op: "Tile", inputs: [["b", 3]], target: [1, 2] }, ["b", 6]],
	[
		"DepthToSpace",
		{ op: "DepthToSpace", inputs: [["b", 12, 2, 3]], attributes: [integer("blocksize", 2)] },
		["b", 3, 4, 6],
	],
	[
		"LSTM",
		{
			op: "LSTM",
			inputs: [
				["s", "b", 3],
				[2, 20, 3],
				[2, 20, 5],
			],
			attributes: [integer("hidden_size", 5)],
		},
		["s", 2, "b", 5],
	],
	[
		"ArgMax",
		{ op: "ArgMax", inputs: [["b", 3]], attributes: [integer("axis", 1), integer("keepdims", 0)] },
		["b"],
	],
	["nothing it does not know", { op: "Unique", inputs: [[2, 2]] }, undefined],
	["nothing of opsets with other rules", { op: "Relu", inputs: [[2, 2]], opset: 6 }, undefined],
])("shape inference follows shapes through %s", (...[, given, expected]) => {
	const { shapes, faults } = infer(given);
	expect(faults).toEqual([]);
	expect(shapes.get("y")).toEqual(expected);
});

it.each<[string, Case, RegExp]>([
	[
		"MatMul",
		{
			op: "MatMul",
			inputs: [
				[2, 4],
				[5, 7],
			],
		},
		/multiplies \[2, 4\] by \[5, 7\]: 4 and 5 must be the same/,
	],
	[
		"batches of MatMul",
		{
			op: "MatMul",
			inputs: [
				[2, 3, 4],
				[5, 4, 7],
			],
		},
		/batch dimensions are incompatible/,
	],
	["MatMul of a scalar", { op: "MatMul", inputs: [[], [4]] }, /scalar/],
	[
		"Gemm",
		{
			op: "Gemm",
			inputs: [
				[2, 4],
				[4, 7],
			],
			attributes: [integer("transB", 1)],
		},
		/multiplies \[2, 4\] by \[7, 4\]: 4 and 7/,
	],
	[
		"Gemm of no matrix",
		{
			op: "Gemm",
			inputs: [
				[2, 4, 1],
				[4, 7],
			],
		},
		/Gemm takes matrices/,
	],
	[
		"Conv",
		{
			op: "Conv",
			inputs: [
				[1, 4, 8, 8],
				[3, 3, 1, 1],
			],
		},
		/weights \[3, 3, 1, 1\] for 3 channels, its input \[1, 4, 8, 8\] has 4/,
	],
	[
		"groups of Conv",
		{
			op: "Conv",
			inputs: [
				[1, 4, 8],
				[4, 4, 1],
			],
			attributes: [integer("group", 2)],
		},
		/for 8 channels/,
	],
	[
		"the rank of Conv",
		{
			op: "Conv",
			inputs: [
				[1, 3, 8, 8],
				[3, 3, 1],
			],
		},
		/weights of 3 dimensions/,
	],
	[
		"ConvTranspose",
		{
			op: "ConvTranspose",
			inputs: [
				[1, 4, 8],
				[3, 3, 1],
			],
		},
		/for 3 channels/,
	],
	["Add", { op: "Add", inputs: [[2, 4], [3]] }, /combines incompatible shapes: \[2, 4\] and \[3\]/],
	[
		"Reshape",
		{ op: "Reshape", inputs: [[2, 4]], target: [3, 3] },
		/reshapes \[2, 4\] \(8 elements\) to \[3, 3\]/,
	],
	["Reshape with a gap", { op: "Reshape", inputs: [[2, 4]], target: [3, -1] }, /reshapes/],
	["Expand", { op: "Expand", inputs: [[2, 4]], target: [2, 3] }, /expands/],
	[
		"Concat",
		{
			op: "Concat",
			inputs: [
				[2, 4],
				[1, 3],
			],
			attributes: [integer("axis", 0)],
		},
		/joins \[2, 4\] and \[1, 3\] along axis 0/,
	],
	[
		"Transpose",
		{ op: "Transpose", inputs: [[2, 4]], attributes: [integers("perm", [0, 2, 1])] },
		/permutes 3 axes/,
	],
	["Squeeze", { op: "Squeeze", inputs: [[2, 4]], target: [1] }, /takes axes 1 out of \[2, 4\]/],
	[
		"Split",
		{ op: "Split", inputs: [[2, 9]], attributes: [integer("axis", 1)], target: [2, 6] },
		/splits axis 1 of \[2, 9\] into 2 \+ 6/,
	],
	["Pad", { op: "Pad", inputs: [[2, 9]], target: [1, 1] }, /pads \[2, 9\] by 2 numbers/],
	[
		"weights of LSTM",
		{
			op: "LSTM",
			inputs: [
				[7, 1, 4],
				[1, 20, 3],
				[1, 20, 5],
			],
		},
		/for inputs of size 3/,
	],
])("shape inference names what cannot be right: %s", (...[, given, expected]) => {
	expect(infer(given).faults.map((fault) => fault.what)).toEqual([expect.stringMatching(expected)]);
});

it("inferShapes follows nodes that stand behind those that read them, and both outputs of a dynamic quantisation", () => {
	const nodes = [
		node({ op: "ConvInteger", inputs: ["q", "w"], outputs: ["c"] }),
		node({ op: "DynamicQuantizeLinear", inputs: ["h"], outputs: ["q", "scale", "zero"] }),
		node({ op: "Cast", inputs: ["x"], outputs: ["h"], attributes: [integer("to", 1)] }),
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
		node({ op: "Concat", inputs: ["given", "z"], outputs: ["all"], attributes: [integer("axis", 0)] }),
		node({ op: "Reshape", inputs: ["all", "pairs"], outputs: ["m"] }),
		node({ op: "Slice", inputs: ["m", "last", "first", "rows", "last"], outputs: ["r"] }),
		node({ op: "Transpose", inputs: ["r"], outputs: ["t"], attributes: [integers("perm", [1, 0])] }),
		node({ op: "Reshape", inputs: ["t", "flat"], outputs: ["pads"] }),
		node({ op: "Pad", inputs: ["a", "pads"], outputs: ["y"] }),
	];
	const list = (name: string, ...values: number[]) =>
		tensor({ name, dtype: 7, dims: [values.length], raw: int64s(...values) });
	const lists = [
		list("two", 2),
		list("given", 3, 4),
		list("pairs", -1, 2),
		list("last", -1),
		list("first", -1000),
		list("rows", 0),
		list("flat", -1),
	];
	const onnx = readOnnx(
		memorySource(model({ inputs: [value("a", [1, 10])], initializers: lists, nodes })),
		"m.onnx",
	);
	const found = subjectOf(
		{ path: "m.onnx", onnx, sha256: "", external: [] },
		{ backend: "onnxruntime" },
	).static;
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
	const list = (name: string, ...values: number[]) =>
		tensor({ name, dtype: 7, dims: [values.length], raw: int64s(...values) });
	const nodes = [
		node({ op: "Shape", inputs: ["a"], outputs: ["s"] }),
		node({ op, inputs: ["s", "limit"], outputs: ["c"] }),
		node({ op: "Where", inputs: ["c", "yes", "no"], outputs: ["size"] }),
		node({ op: "Not", inputs: ["c"], outputs: ["n"] }),
		node({ op: "Expand", inputs: ["one", "size"], outputs: ["y"] }),
	];
	const lists = [list("limit", limit), list("yes", 7), list("no", 9), list("one", 1)];
	const onnx = readOnnx(
		memorySource(model({ inputs: [value("a", [3])], initializers: lists, nodes })),
		"m.onnx",
	);
	const found = subjectOf(
		{ path: "m.onnx", onnx, sha256: "", external: [] },
		{ backend: "onnxruntime" },
	).static;
	expect([found.values.get("c"), found.values.get("n"), found.shapes.get("y")]).toEqual([
		[outcome],
		[1 - outcome],
		[outcome === 1 ? 7 : 9],
	]);
});
