import { expect, it } from "vitest";
import type { DType } from "../../generated/golden.ts";
import { uniformSource } from "../../src/core/stats/random.ts";
import { type FilledInput, fillInput, timedInputsOf } from "../../src/core/timed-inputs.ts";
import oracle from "../oracles/ort_fill.json" with { type: "json" };
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

const input = (dtype: DType, fill: FilledInput["fill"], count = 5): FilledInput => ({
	dtype,
	shape: [count],
	fill,
});

function halfValue(bits: number) {
	const exponent = (bits >> 10) & 31;
	const size = exponent === 0 ? (bits & 1023) * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** (exponent - 15);
	return bits & 0x8000 ? -size : size;
}

function values(dtype: DType, bytes: Uint8Array) {
	const { buffer } = bytes;
	if (dtype === "float32") return [...new Float32Array(buffer)];
	if (dtype === "float64") return [...new Float64Array(buffer)];
	if (dtype === "float16") return [...new Uint16Array(buffer)].map(halfValue);
	return [...new BigInt64Array(buffer)].map(Number);
}

it.each(oracle)("fillInput makes the $fill $dtype values of seed $seed, input $index", (row) => {
	const dtype = row.dtype as DType;
	const got = values(dtype, fillInput(input(dtype, row.fill as FilledInput["fill"]), row.seed, row.index));
	// Halves are rounded toward zero here, to nearest there: one unit in the last of 11 places.
	const tolerance = dtype === "float16" ? 2 ** -10 : 1e-12;
	for (const [index, value] of got.entries()) {
		const expected = row.values[index] ?? Number.NaN;
		expect(Math.abs(value - expected)).toBeLessThanOrEqual(tolerance * Math.abs(expected));
	}
	expect(got).toHaveLength(row.values.length);
});

it("fillInput draws normal numbers of mean 0 and deviation 1, uniform ones of mean 1/2", () => {
	const normal = [...new Float32Array(fillInput(input("float32", "normal", 20_000), 1, 0).buffer)];
	const mean = normal.reduce((sum, value) => sum + value, 0) / normal.length;
	const variance = normal.reduce((sum, value) => sum + (value - mean) ** 2, 0) / normal.length;
	// Five standard errors of 20,000 draws.
	expect(Math.abs(mean)).toBeLessThan(0.036);
	expect(Math.abs(variance - 1)).toBeLessThan(0.05);
	const uniform = uniformSource(1);
	const half = Array.from({ length: 20_000 }, uniform).reduce((sum, value) => sum + value, 0) / 20_000;
	expect(Math.abs(half - 0.5)).toBeLessThan(0.011);
});

it.each([
	["float32", [0, 0, 0x80, 0x3f]],
	["float16", [0, 0x3c]],
	["bfloat16", [0x80, 0x3f]],
	["int32", [1, 0, 0, 0]],
	["bool", [1]],
] as const)("fillInput fills %s with ones, and with zeros", (dtype, one) => {
	expect([...fillInput(input(dtype, "ones", 1), 1, 0)]).toEqual(one);
	expect([...fillInput(input(dtype, "zeros", 1), 1, 0)]).toEqual(one.map(() => 0));
});
