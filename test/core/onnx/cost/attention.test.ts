// Attention in one operator costs what its products cost one by one: scores of each query with each key, then sums of values.
import { expect, it } from "vitest";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import { attribute, type Bytes, model, node, value } from "../../../support/onnx-writer.ts";

type Shapes = readonly (readonly number[] | null)[];

function count(
	op: string,
	domain: string,
	{ shapes, attributes = [] }: { shapes: Shapes; attributes?: readonly Bytes[] },
) {
	const names = shapes.map((shape, at) => (shape === null ? "" : `x${at}`));
	const inputs = shapes.flatMap((shape, at) => (shape === null ? [] : [value(`x${at}`, shape)]));
	const bytes = model({
		inputs,
		nodes: [node({ op, domain, inputs: names, attributes })],
		opsets: { "": 23, "com.microsoft": 1 },
	});
	return costsOf(readOnnx(memorySource(bytes), "m.onnx"))({ shapes: {} });
}

const [batch, heads, queries, keys, size, valueSize] = [2, 4, 5, 7, 8, 6] as const;
const products = batch * heads * queries * keys * (size + valueSize);
const { integer, integers } = attribute;

it.each<[string, string, string, Parameters<typeof count>[2], number, readonly number[]]>([
	[
		"with an axis of heads",
		"Attention",
		"",
		{
			shapes: [
				[batch, heads, queries, size],
				[batch, heads, keys, size],
				[batch, heads, keys, valueSize],
			],
		},
		products,
		[batch, heads, queries, valueSize],
	],
	[
		"with heads and size in one axis, keys shared",
		"Attention",
		"",
		{
			shapes: [
				[batch, queries, heads * size],
				[batch, keys, 2 * size],
				[batch, keys, 2 * valueSize],
			],
			attributes: [integer("q_num_heads", heads), integer("kv_num_heads", 2)],
		},
		products,
		[batch, queries, heads * valueSize],
	],
	[
		"with keys of the past",
		"Attention",
		"",
		{
			shapes: [
				[batch, heads, queries, size],
				[batch, heads, 3, size],
				[batch, heads, 3, valueSize],
				null,
				[batch, heads, 4, size],
			],
		},
		products,
		[batch, heads, queries, valueSize],
	],
	[
		"of com.microsoft, on separate inputs",
		"MultiHeadAttention",
		"com.microsoft",
		{
			shapes: [
				[batch, queries, heads * size],
				[batch, keys, heads * size],
				[batch, keys, heads * valueSize],
			],
		},
		products,
		[batch, queries, heads * valueSize],
	],
	[
		"of com.microsoft, with values of another size",
		"Attention",
		"com.microsoft",
		{
			shapes: [
				[batch, queries, 16],
				[16, 32 + 32 + 24],
			],
			attributes: [integers("qkv_hidden_sizes", [32, 32, 24])],
		},
		batch * queries * 16 * 88 + batch * queries * queries * (32 + 24),
		[batch, queries, 24],
	],
	[
		"of com.microsoft, quantised, with a past",
		"QAttention",
		"com.microsoft",
		{ shapes: [[batch, queries, 16], [16, 96], [96], [1], [1], null, null, null, [2, batch, heads, 4, 8]] },
		batch * queries * 16 * 96 + 2 * batch * queries * (queries + 4) * 32,
		[batch, queries, 32],
	],
])("attention %s", (_, op, domain, given, multiplyAdds, output) => {
	const cost = count(op, domain, given);
	expect(cost.multiplyAdds).toBe(multiplyAdds);
	expect(cost.nodes[0]?.output).toEqual(output);
});

it("attention on packed keys and values is unknown", () => {
	const cost = count("MultiHeadAttention", "com.microsoft", { shapes: [[batch, queries, heads, 3, size]] });
	expect(cost).toMatchObject({ multiplyAdds: 0, unknownNodes: 1 });
});
