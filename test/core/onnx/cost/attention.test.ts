// Attention in one operator costs what its products cost one by one: scores of each query with each key, then sums of values.
import { expect, it } from "vitest";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import { attribute, type Bytes, modelOf, node, value } from "../../../support/onnx-writer.ts";

const [batch, heads, queries, keys, size, valueSize] = [2, 4, 5, 7, 8, 6] as const;
const products = batch * heads * queries * keys * (size + valueSize);
const { integer, integers } = attribute;
const microsoft = "com.microsoft";

/** Shapes of the inputs as `2×3 4`; – is an input that is left out. */
function count(op: string, domain: string, shapes: string, attributes: readonly Bytes[] = []) {
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

it.each<[what: string, Parameters<typeof count>, multiplyAdds: number, output: readonly number[]]>([
	["with an axis of heads", ["Attention", "", "2×4×5×8 2×4×7×8 2×4×7×6"], products, [2, 4, 5, 6]],
	[
		"with heads and size in one axis, keys shared",
		["Attention", "", "2×5×32 2×7×16 2×7×12", [integer("q_num_heads", heads), integer("kv_num_heads", 2)]],
		products,
		[batch, queries, heads * valueSize],
	],
	[
		"with keys of the past",
		["Attention", "", "2×4×5×8 2×4×3×8 2×4×3×6 – 2×4×4×8"],
		products,
		[batch, heads, queries, valueSize],
	],
	[
		"of com.microsoft, on separate inputs",
		["MultiHeadAttention", microsoft, "2×5×32 2×7×32 2×7×24"],
		products,
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
	const cost = count(...given);
	expect(cost.multiplyAdds).toBe(multiplyAdds);
	expect(cost.nodes[0]?.output).toEqual(output);
});

it("attention on packed keys and values is unknown", () => {
	expect(count("MultiHeadAttention", microsoft, "2×5×4×3×8")).toMatchObject({
		multiplyAdds: 0,
		unknownNodes: 1,
	});
});
