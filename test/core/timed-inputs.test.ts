import { expect, it } from "vitest";
import { type FilledInput, fillInput } from "../../src/core/fill.ts";
import { timedInputsOf } from "../../src/core/timed-inputs.ts";
import { int64s, modelOf, tensor, value } from "../support/onnx-writer.ts";

const int64 = 7;
const onnx = modelOf({
	inputs: [
		value("ids", [1, "seq"], int64),
		value("attention_mask", [1, "seq"], int64),
		value("rate", [], int64),
		value("seq_length", [1], int64),
		value("counts", [2, 2], int64),
		value("signal", [1, "seq"]),
	],
	nodes: `y = Gather(words, ids); isUsual = Equal(rate, usual); z = Add(attention_mask, seq_length);
		w = Add(counts, counts); v = Relu(signal)`,
	outputs: ["y", "isUsual", "z", "w", "v"].map((name) => value(name, null)),
	initializers: [
		tensor({ name: "words", dims: [50, 4] }),
		tensor({ name: "usual", dtype: int64, raw: int64s(16_000) }),
	],
});
const [one, seq] = [[1], [1, 12]];
const shapes = { ids: seq, attention_mask: seq, rate: [], seq_length: one, counts: [2, 2], signal: seq };
const fillsOf = (inputs: Parameters<typeof timedInputsOf>[1]) =>
	Object.fromEntries(timedInputsOf(onnx, inputs)(shapes).map(({ name, fill }) => [name, fill]));

it("timed inputs suit the model, and are 0 or 1 if nothing tells which do", () => {
	const [counts, signal] = ["normal", "normal"];
	const found = { ids: [0, 49], attention_mask: "ones", rate: 16_000, seq_length: 12, counts, signal };
	expect(fillsOf({})).toEqual(found);
	const given = fillsOf({ rate: { fill: 8000 }, ids: { fill: "zeros" }, signal: { shape: ["seq"] } });
	expect(given).toEqual({ ...found, rate: 8000, ids: "zeros" });
});

it("a range is filled with all of its whole numbers, a number with itself", () => {
	const bytes = (input: FilledInput) => fillInput(input, 1, 0).buffer;
	const drawn = new BigInt64Array(bytes({ dtype: "int64", shape: [64], fill: [-1, 2] }));
	expect(new Set(drawn)).toEqual(new Set([-1n, 0n, 1n, 2n]));
	const same = new BigInt64Array(bytes({ dtype: "int64", shape: [2], fill: 16_000 }));
	expect([...same]).toEqual([16_000n, 16_000n]);
	const half = new Float32Array(bytes({ dtype: "float32", shape: [2], fill: -0.5 }));
	expect([...half]).toEqual([-0.5, -0.5]);
});

it("an input of more than 2 GiB is refused before it is drawn", () => {
	const inputsAt = timedInputsOf(onnx, {});
	const message = 'Input "ids", int64 [1, 1000000000], takes 7.45 GiB; expected at most 2.00 GiB.';
	expect(() => inputsAt({ ...shapes, ids: [1, 1e9] })).toThrow(message);
});
