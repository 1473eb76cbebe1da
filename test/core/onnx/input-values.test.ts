import { expect, it } from "vitest";
import { valuesOfInputs } from "../../../src/core/onnx/input-values.ts";
import {
	type Bytes,
	graph,
	int64s,
	type ModelInit,
	modelOf,
	nodes,
	tensor,
	value,
} from "../../support/onnx-writer.ts";

/** Such as `two 2`, `steps 20 10`, and the table `words 50×4`. */
function constants(text: string): Bytes[] {
	return text.split(", ").flatMap((each) => {
		const [name = "", ...values] = each.split(" ");
		if (name === "") return [];
		if (values[0]?.includes("×")) return tensor({ name, dims: values[0].split("×").map(Number) });
		const dims = values.length === 1 ? [] : [values.length];
		return tensor({ name, dtype: 7, dims, raw: int64s(...values.map(Number)) });
	});
}

function valuesOf(given: NonNullable<ModelInit["nodes"]>, weights = "") {
	const onnx = modelOf({
		nodes: given,
		inputs: [value("x", [1, 8], 7), value("rows", ["n", 4])],
		outputs: [value("y", null)],
		initializers: constants(weights),
	});
	const { why: _, ...found } = { why: "", ...valuesOfInputs(onnx, ["x"]).get("x") };
	return Object.values(found).join(" ");
}

it.each([
	["ids = Cast(x); y = Gather(words, ids); z = Gather(kinds, x)", "words 50×4, kinds 9×4", "range 0 8"],
	[
		"near = Identity(base); words = Unsqueeze(near, axes); ids = Slice(x, a, b); y = Gather<axis=1>(words, ids)",
		"base 21×4, axes 0",
		"range 0 20",
	],
	["ids = Add(x, two); y = Gather(words, ids)", "words 50×4, two 2", "range -2 47"],
	[
		// Negative ids count from the end of the table.
		`wrapped = Add(x, fifty); float = Cast(x); negative = Less(float, zero); other = Not(negative);
		one = Cast(negative); two = Cast(other); kept = Mul(x, two); moved = Mul(one, wrapped);
		ids = Add(moved, kept); y = Gather(words, ids)`,
		"words 50×4, fifty 50, zero 0",
		"range 0 49",
	],
	["ids = Sub(x, one); y = Gather(rows, ids)", "one 1", "rows n -1"],
	["z = MatMul(x, z)", "", "unknown"],
	["y = GreaterOrEqual(steps, x)", "steps 20 10 30 40", "choice 10 true"],
	["y = OneHot(x, depth, ends)", "depth 257", "range 0 256"],
	["wide = Expand(x, size); y = Equal(wide, classes)", "classes 3 4 5 6", "range 3 6"],
	["y = Clip(x, low, high)", "low 1, high 9", "range 1 9"],
	["m = Max(x, low); y = Min(m, high)", "low 1, high 9", "range 1 9"],
	["y = Mod(x, m)", "m 7", "range 0 6"],
	["p = Equal(x, a); q = Less(b, x)", "a 16000, b 8000", "choice 16000,8000 true"],
	["y = Mul(x, zero)", "zero 0", "unused"],
	["whole = Cast(x); sizes = Concat(batch, whole); y = Resize(picture, , , sizes)", "batch 1", "size"],
	["y = LSTM(a, w, r, b, x)", "", "length"],
	["h = Squeeze(x); y = GRU(a, w, r, b, , h)", "", "state"],
	["y = Mul(x, two)", "two 2", "unknown"],
])("valuesOfInputs finds in %s with %s: %s", (given, weights, expected) => {
	expect(valuesOf(given, weights)).toBe(expected);
});

it("valuesOfInputs follows an input into the branches of an If", () => {
	const branch = (name: string) =>
		graph({
			nodes: `${name} = Gather(words, x)`,
			inputs: [],
			outputs: [value(name, null)],
			initializers: constants("words 12×4"),
		});
	const choice = nodes("y = If<then_branch=$0, else_branch=$1>(c)", branch("a"), branch("b"));
	expect(valuesOf(choice)).toBe("range 0 11");
});
