import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { decoderDims, findDecoder } from "../../../src/core/onnx/decoder.ts";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { emptyModel } from "../../support/fakes.ts";

const base = readOnnx(memorySource(readFileSync("test/fixtures/decoder/base.onnx")), "base.onnx");

it.each([
	[["batch", "seq", "past"], {}, { seq: "seq", past: "past" }],
	[
		["batch_size", "sequence_length", "past_sequence_length", "past_sequence_length + 1"],
		{},
		{ seq: "sequence_length", past: "past_sequence_length", total: "past_sequence_length + 1" },
	],
	[["tokens", "cache_len", "total_len"], {}, { seq: "tokens", past: "cache_len", total: "total_len" }],
	[["seq", "enc_seq", "past"], {}, null],
	[["seq", "enc_seq", "past"], { seq: "seq" }, { seq: "seq", past: "past" }],
	[["a", "b"], { seq: "a", past: "b" }, { seq: "a", past: "b" }],
	[["batch", "height", "width"], {}, null],
])("a decoder's dimensions among %j with %j are %j", (names, given, expected) => {
	expect(decoderDims(names, given)).toEqual(expected);
});

it("findDecoder pairs each cache with its output, and tells inputs by their dimensions", () => {
	const found = findDecoder(base, { inputs: {} });
	expect(found).toMatchObject({
		each: { input_ids: 1, position_ids: 1 },
		all: { attention_mask: 1 },
		outputs: { logits: 1 },
		dims: { seq: "seq", past: "past", total: "past + seq" },
	});
	expect(
		found?.state.map(({ input, output, past, batch }) => [input.name, output.name, past, batch]),
	).toEqual(
		[0].flatMap((layer) =>
			["key", "value"].map((kind) => [`past_key_values.${layer}.${kind}`, `present.${layer}.${kind}`, 2, 0]),
		),
	);
});

const model = (inputs: Record<string, (string | number)[]>, outputs: Record<string, (string | number)[]>) => {
	const values = (all: typeof inputs) =>
		Object.entries(all).map(([name, dims]) => ({ name, kind: "tensor", dtype: "float", dims }));
	return {
		...emptyModel,
		graph: { ...emptyModel.graph, inputs: values(inputs), outputs: values(outputs) },
	} as OnnxModel;
};

it.each([
	["past_key_values.0.key", "present.0.key"],
	["past_key_values.0.decoder.key", "present.0.decoder.key"],
	["past_key_values.0.key", "present_key_values.0.key"],
	["past_0", "present_0"],
	["past.0", "present.0"],
])("findDecoder takes %s to be filled by %s", (input, output) => {
	const found = findDecoder(
		model({ ids: ["b", "seq"], [input]: ["b", "past", 4] }, { [output]: ["b", "t", 4] }),
		{
			inputs: {},
		},
	);
	expect(found?.state).toMatchObject([{ input: { name: input }, output: { name: output }, past: 1 }]);
});

it("findDecoder gives a mask all positions, even where its dimension is that of the new tokens", () => {
	const ofTokens = { ids: ["b", "seq"], attention_mask: ["b", "seq"], past_0: ["b", "past"] };
	const found = findDecoder(model(ofTokens, { present_0: ["b", "t"] }), { inputs: {} });
	expect(found).toMatchObject({ each: { ids: 1 }, all: { attention_mask: 1 } });
});

it("findDecoder takes the state that the config states, and finds none without", () => {
	const gru = model(
		{ prefix: ["b", "tgt_len"], hidden: ["b", 8] },
		{ scores: ["b", 9], hidden_out: ["b", 8] },
	);
	expect(findDecoder(gru, { inputs: {} })).toBeNull();
	const decoder = { seq: "tgt_len", state: { hidden: "hidden_out" } };
	expect(findDecoder(gru, { inputs: {}, decoder })).toMatchObject({
		each: { prefix: 1 },
		outputs: {},
		state: [{ input: { name: "hidden" }, output: { name: "hidden_out" }, past: null }],
	});
	const wrong = { ...decoder, state: { hidden: "hiden_out" } };
	expect(() => findDecoder(gru, { inputs: {}, decoder: wrong, pointer: "/models/net/decoder" })).toThrow(
		'names the output "hiden_out", which the model does not have; its outputs are "scores", "hidden_out"',
	);
});
