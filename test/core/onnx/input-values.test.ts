// Which values an input takes is read from the nodes that consume it.
import { expect, it } from "vitest";
import { valuesOfInputs } from "../../../src/core/onnx/input-values.ts";
import { graph, int64s, type ModelInit, modelOf, nodes, tensor, value } from "../../support/onnx-writer.ts";

const int64 = 7;
const constant = (name: string, dims: readonly number[], ...numbers: readonly number[]) =>
	tensor({ name, dtype: int64, dims, raw: int64s(...numbers) });
const table = (name: string, ...dims: readonly number[]) => tensor({ name, dims });

/** Finds the values that an int64 input `x` may hold if these nodes read it. */
function valuesOf(
	nodes: NonNullable<ModelInit["nodes"]>,
	initializers: readonly Uint8Array[] = [],
	dims: readonly number[] = [1, 8],
) {
	const onnx = modelOf({
		nodes,
		inputs: [value("x", dims, int64), value("rows", ["n", 4])],
		outputs: [value("y", null)],
		initializers,
	});
	const { why: _, ...found } = {
		why: "",
		...valuesOfInputs(onnx, ["x"]).get("x"),
	};
	return found;
}

it.each<[string, string, Uint8Array[], object]>([
	[
		"the smallest table it is looked up in",
		"ids = Cast(x); y = Gather(words, ids); z = Gather(kinds, x)",
		[table("words", 50, 4), table("kinds", 9, 4)],
		{ kind: "range", low: 0, high: 8 },
	],
	[
		"a table behind Identity and Unsqueeze",
		"near = Identity(base); words = Unsqueeze(near, axes); ids = Slice(x, a, b); y = Gather<axis=1>(words, ids)",
		[table("base", 21, 4), constant("axes", [1], 0)],
		{ kind: "range", low: 0, high: 20 },
	],
	[
		"a table after an offset",
		"ids = Add(x, two); y = Gather(words, ids)",
		[table("words", 50, 4), constant("two", [], 2)],
		{ kind: "range", low: -2, high: 47 },
	],
	[
		"a table whose rows negative ids count from the end, chosen by products",
		`
			wrapped = Add(x, fifty); float = Cast(x); negative = Less(float, zero); other = Not(negative);
			one = Cast(negative); two = Cast(other); kept = Mul(x, two); moved = Mul(one, wrapped);
			ids = Add(moved, kept); y = Gather(words, ids)
		`,
		[table("words", 50, 4), constant("fifty", [], 50), constant("zero", [], 0)],
		{ kind: "range", low: 0, high: 49 },
	],
	[
		"places along an axis, after an offset",
		"ids = Sub(x, one); y = Gather(rows, ids)",
		[constant("one", [], 1)],
		{ kind: "rows", axis: "n", shift: -1 },
	],
	["unknown where only a cycle reads it", "z = MatMul(x, z)", [], { kind: "unknown" }],
	[
		"a limit below all of many numbers",
		"y = GreaterOrEqual(steps, x)",
		[constant("steps", [4], 20, 10, 30, 40)],
		{ kind: "choice", values: [10], only: true },
	],
	[
		"the depth of a one-hot",
		"y = OneHot(x, depth, ends)",
		[constant("depth", [], 257)],
		{ kind: "range", low: 0, high: 256 },
	],
	[
		"a one-hot written as a comparison",
		"wide = Expand(x, size); y = Equal(wide, classes)",
		[constant("classes", [1, 1, 4], 3, 4, 5, 6)],
		{ kind: "range", low: 3, high: 6 },
	],
	[
		"a clip",
		"y = Clip(x, low, high)",
		[constant("low", [], 1), constant("high", [], 9)],
		{ kind: "range", low: 1, high: 9 },
	],
	[
		"Max and Min",
		"m = Max(x, low); y = Min(m, high)",
		[constant("low", [], 1), constant("high", [], 9)],
		{ kind: "range", low: 1, high: 9 },
	],
	["a remainder", "y = Mod(x, m)", [constant("m", [], 7)], { kind: "range", low: 0, high: 6 }],
	[
		"numbers it is compared with",
		"p = Equal(x, a); q = Less(b, x)",
		[constant("a", [], 16_000), constant("b", [], 8000)],
		{ kind: "choice", values: [16_000, 8000], only: true },
	],
	["a product with zero", "y = Mul(x, zero)", [constant("zero", [], 0)], { kind: "unused" }],
	[
		"the sizes of what it makes",
		"whole = Cast(x); sizes = Concat(batch, whole); y = Resize(picture, , , sizes)",
		[constant("batch", [], 1)],
		{ kind: "size" },
	],
	["steps of a recurrent layer", "y = LSTM(a, w, r, b, x)", [], { kind: "length" }],
	["the first state of one", "h = Squeeze(x); y = GRU(a, w, r, b, , h)", [], { kind: "state" }],
	["plain arithmetic", "y = Mul(x, two)", [constant("two", [], 2)], { kind: "unknown" }],
])("valuesOfInputs finds %s", (_, nodes, initializers, expected) => {
	expect(valuesOf(nodes, initializers)).toEqual(expected);
});

it("valuesOfInputs follows an input into the branches of an If", () => {
	const branch = (name: string) =>
		graph({
			nodes: `${name} = Gather(words, x)`,
			inputs: [],
			outputs: [value(name, null)],
			initializers: [table("words", 12, 4)],
		});
	const choice = nodes("y = If<then_branch=$0, else_branch=$1>(c)", branch("a"), branch("b"));
	expect(valuesOf(choice)).toEqual({ kind: "range", low: 0, high: 11 });
});
