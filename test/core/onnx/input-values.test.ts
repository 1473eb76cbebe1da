// Which values an input takes is read from the nodes that consume it.
import { expect, it } from "vitest";
import { valuesOfInputs } from "../../../src/core/onnx/input-values.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { attribute, graph, int64s, model, node, tensor, value } from "../../support/onnx-writer.ts";

const int64 = 7;
const constant = (name: string, dims: readonly number[], ...numbers: readonly number[]) =>
	tensor({ name, dtype: int64, dims, raw: int64s(...numbers) });
const table = (name: string, ...dims: readonly number[]) => tensor({ name, dims });

/** Finds the values that an int64 input `x` may hold if these nodes read it. */
function valuesOf(
	nodes: readonly Parameters<typeof node>[0][],
	initializers: readonly Uint8Array[] = [],
	dims: readonly number[] = [1, 8],
) {
	const bytes = model({
		nodes: nodes.map(node),
		inputs: [value("x", dims, int64), value("rows", ["n", 4])],
		outputs: [value("y", null)],
		initializers,
	});
	const { why: _, ...found } = {
		why: "",
		...valuesOfInputs(readOnnx(memorySource(bytes), "m.onnx"), ["x"]).get("x"),
	};
	return found;
}

const gather = { op: "Gather", inputs: ["words", "ids"], outputs: ["y"] };

it.each<[string, Parameters<typeof node>[0][], Uint8Array[], object]>([
	[
		"the smallest table it is looked up in",
		[{ op: "Cast", outputs: ["ids"] }, gather, { op: "Gather", inputs: ["kinds", "x"], outputs: ["z"] }],
		[table("words", 50, 4), table("kinds", 9, 4)],
		{ kind: "range", low: 0, high: 8 },
	],
	[
		"a table behind Identity and Unsqueeze",
		[
			{ op: "Identity", inputs: ["base"], outputs: ["near"] },
			{ op: "Unsqueeze", inputs: ["near", "axes"], outputs: ["words"] },
			{ op: "Slice", inputs: ["x", "a", "b"], outputs: ["ids"] },
			{ ...gather, attributes: [attribute.integer("axis", 1)] },
		],
		[table("base", 21, 4), constant("axes", [1], 0)],
		{ kind: "range", low: 0, high: 20 },
	],
	[
		"a table after an offset",
		[{ op: "Add", inputs: ["x", "two"], outputs: ["ids"] }, gather],
		[table("words", 50, 4), constant("two", [], 2)],
		{ kind: "range", low: -2, high: 47 },
	],
	[
		"a table whose rows negative ids count from the end, chosen by products",
		[
			{ op: "Add", inputs: ["x", "fifty"], outputs: ["wrapped"] },
			{ op: "Cast", inputs: ["x"], outputs: ["float"] },
			{ op: "Less", inputs: ["float", "zero"], outputs: ["negative"] },
			{ op: "Not", inputs: ["negative"], outputs: ["other"] },
			{ op: "Cast", inputs: ["negative"], outputs: ["one"] },
			{ op: "Cast", inputs: ["other"], outputs: ["two"] },
			{ op: "Mul", inputs: ["x", "two"], outputs: ["kept"] },
			{ op: "Mul", inputs: ["one", "wrapped"], outputs: ["moved"] },
			{ op: "Add", inputs: ["moved", "kept"], outputs: ["ids"] },
			gather,
		],
		[table("words", 50, 4), constant("fifty", [], 50), constant("zero", [], 0)],
		{ kind: "range", low: 0, high: 49 },
	],
	[
		"places along an axis, after an offset",
		[
			{ op: "Sub", inputs: ["x", "one"], outputs: ["ids"] },
			{ op: "Gather", inputs: ["rows", "ids"] },
		],
		[constant("one", [], 1)],
		{ kind: "rows", axis: "n", shift: -1 },
	],
	[
		"unknown where only a cycle reads it",
		[{ op: "MatMul", inputs: ["x", "z"], outputs: ["z"] }],
		[],
		{ kind: "unknown" },
	],
	[
		"a limit below all of many numbers",
		[{ op: "GreaterOrEqual", inputs: ["steps", "x"] }],
		[constant("steps", [4], 20, 10, 30, 40)],
		{ kind: "choice", values: [10], only: true },
	],
	[
		"the depth of a one-hot",
		[{ op: "OneHot", inputs: ["x", "depth", "ends"] }],
		[constant("depth", [], 257)],
		{ kind: "range", low: 0, high: 256 },
	],
	[
		"a one-hot written as a comparison",
		[
			{ op: "Expand", inputs: ["x", "size"], outputs: ["wide"] },
			{ op: "Equal", inputs: ["wide", "classes"] },
		],
		[constant("classes", [1, 1, 4], 3, 4, 5, 6)],
		{ kind: "range", low: 3, high: 6 },
	],
	[
		"a clip",
		[{ op: "Clip", inputs: ["x", "low", "high"] }],
		[constant("low", [], 1), constant("high", [], 9)],
		{ kind: "range", low: 1, high: 9 },
	],
	[
		"Max and Min",
		[
			{ op: "Max", inputs: ["x", "low"], outputs: ["m"] },
			{ op: "Min", inputs: ["m", "high"] },
		],
		[constant("low", [], 1), constant("high", [], 9)],
		{ kind: "range", low: 1, high: 9 },
	],
	[
		"a remainder",
		[{ op: "Mod", inputs: ["x", "m"] }],
		[constant("m", [], 7)],
		{ kind: "range", low: 0, high: 6 },
	],
	[
		"numbers it is compared with",
		[
			{ op: "Equal", inputs: ["x", "a"], outputs: ["p"] },
			{ op: "Less", inputs: ["b", "x"], outputs: ["q"] },
		],
		[constant("a", [], 16_000), constant("b", [], 8000)],
		{ kind: "choice", values: [16_000, 8000], only: true },
	],
	[
		"a product with zero",
		[{ op: "Mul", inputs: ["x", "zero"] }],
		[constant("zero", [], 0)],
		{ kind: "unused" },
	],
	[
		"the sizes of what it makes",
		[
			{ op: "Cast", outputs: ["whole"] },
			{ op: "Concat", inputs: ["batch", "whole"], outputs: ["sizes"] },
			{ op: "Resize", inputs: ["picture", "", "", "sizes"], outputs: ["y"] },
		],
		[constant("batch", [], 1)],
		{ kind: "size" },
	],
	["steps of a recurrent layer", [{ op: "LSTM", inputs: ["a", "w", "r", "b", "x"] }], [], { kind: "length" }],
	[
		"the first state of one",
		[
			{ op: "Squeeze", outputs: ["h"] },
			{ op: "GRU", inputs: ["a", "w", "r", "b", "", "h"] },
		],
		[],
		{ kind: "state" },
	],
	["plain arithmetic", [{ op: "Mul", inputs: ["x", "two"] }], [constant("two", [], 2)], { kind: "unknown" }],
])("valuesOfInputs finds %s", (_, nodes, initializers, expected) => {
	expect(valuesOf(nodes, initializers)).toEqual(expected);
});

it("valuesOfInputs follows an input into the branches of an If", () => {
	const branch = (name: string) =>
		graph({
			nodes: [node({ op: "Gather", inputs: ["words", "x"], outputs: [name] })],
			inputs: [],
			outputs: [value(name, null)],
			initializers: [table("words", 12, 4)],
		});
	const attributes = [
		attribute.graph("then_branch", branch("a")),
		attribute.graph("else_branch", branch("b")),
	];
	expect(valuesOf([{ op: "If", inputs: ["c"], attributes }])).toEqual({ kind: "range", low: 0, high: 11 });
});
