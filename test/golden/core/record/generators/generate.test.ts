import fc from "fast-check";
import { expect, it } from "vitest";
import type { DType } from "../../../../../generated/golden.ts";
import type { InputValues } from "../../../../../src/core/onnx/input-values.ts";
import {
	defaultGenerators,
	describeDrawn,
	formatGenerator,
	parseGenerator,
	positionsBeside,
} from "../../../../../src/golden/core/record/generators/defaults.ts";
import {
	brainFloatBits,
	halfBits,
	splitMix64,
} from "../../../../../src/golden/core/record/generators/encode.ts";
import { generateInput } from "../../../../../src/golden/core/record/generators/generate.ts";
import { valueTable } from "../../../../../src/golden/core/tensor/small-numbers.ts";

const turn = (caseIndex: number, seed = 1) => ({ seed, caseIndex, inputIndex: 0 });

it("encodeTensor writes every binary16 back as it was read", () => {
	const patterns = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
	const values = valueTable("float16");
	const wrong = patterns.filter((bits) => !Number.isNaN(values[bits]) && halfBits(values[bits]!) !== bits);
	expect([...wrong]).toEqual([]);
});

it("encodeTensor rounds to the nearer binary16 and bfloat16", () => {
	const read = (dtype: "float16" | "bfloat16", bits: number) => valueTable(dtype)[bits] ?? NaN;
	fc.assert(
		fc.property(fc.float({ noNaN: true, noDefaultInfinity: true, min: -60_000, max: 60_000 }), (value) => {
			const half = Math.abs(read("float16", halfBits(value)) - value);
			expect(half).toBeLessThanOrEqual(Math.max(2 ** -25, Math.abs(value) * 2 ** -11));
			const brain = Math.abs(read("bfloat16", brainFloatBits(value)) - value);
			expect(brain).toBeLessThanOrEqual(Math.max(2 ** -134, Math.abs(value) * 2 ** -8));
		}),
	);
});

it.each([
	["image=image", "image", "image"],
	["a=b=uniform:-1..1", "a=b", "uniform:-1..1"],
	["ids=tokens:0..30521", "ids", "tokens:0..30521"],
	["x=normal+zeros", "x", "normal+zeros"],
])("parseGenerator reads %s", (text, input, kinds) => {
	const parsed = parseGenerator(text);
	expect(parsed).toMatchObject({ state: "ok", input });
	if (parsed.state === "ok") expect(formatGenerator(parsed.specs)).toBe(kinds);
});

it.each([
	["normal", /names no input/],
	["x=norml", /did you mean normal/],
	["x=normal:0..1", /takes no range/],
	["x=uniform:5..1", /not a range/],
	["x=tokens:a..b", /not a range/],
])("parseGenerator refuses %s", (text, problem) => {
	expect(parseGenerator(text)).toMatchObject({ state: "wrong", problem: expect.stringMatching(problem) });
});

it("generateInput gives the same bytes for a seed, others for another seed or case", () => {
	const input = { name: "x", dtype: "float32", shape: [3, 5], specs: [{ kind: "normal" }] } as const;
	const bytes = (seed: number, index: number) =>
		Buffer.from(generateInput(input, turn(index, seed)).tensor.data).toString("hex");
	expect(bytes(1, 0)).toBe(bytes(1, 0));
	expect(new Set([bytes(1, 0), bytes(1, 1), bytes(2, 0)]).size).toBe(3);
});

const unknown: InputValues = { kind: "unknown" };
const table: InputValues = { kind: "range", low: 0, high: 30_521, why: "looked up" };
const choice = (values: number[], only = true): InputValues => {
	return { kind: "choice", values, only, why: "compared" };
};
type Asked = [name: string, dtype: DType, axes: (number | string)[], values: InputValues];
const suiting = (inputs: Asked[]): (string | null)[] => {
	const sized = inputs.map(([name, dtype, axes]) => {
		const shape = axes.map((axis) => (typeof axis === "number" ? axis : 12));
		return { name, dtype, axes, shape };
	});
	const found = defaultGenerators(sized, new Map(inputs.map(([name, , , values]) => [name, values])));
	return sized.map(({ name }) => {
		const generator = found.get(name) ?? null;
		return generator && formatGenerator(generator.specs);
	});
};

it.each<[...Asked, string | null]>([
	["image", "float32", [1, 3, 224, 224], unknown, "image"],
	["image", "float32", [1, 224, 224, 3], unknown, "image"],
	["features", "float32", [1, 128], unknown, "normal"],
	["ids", "float32", [1, 128], table, "tokens:0..30521"],
	["input_ids", "int64", [1, "seq"], table, "tokens:0..30521"],
	["attention_mask", "int64", [1, "seq"], choice([0]), "ones"],
	["mask", "bool", [1, "seq"], unknown, "ones"],
	["flags", "bool", ["seq"], unknown, "tokens:0..1"],
	["pixels", "uint8", [1, 3, 32, 32], unknown, "image"],
	["quantised", "int8", [1, 4], unknown, "tokens:-128..127"],
	["rate", "int64", [], choice([16_000, 8000], false), "const:16000"],
	["rate", "int64", [1], choice([16_000]), "const:16000"],
	["ids", "int64", [1, "seq"], choice([5]), "tokens:0..5"],
	["rest", "int64", [], { kind: "unused" }, "zeros"],
	["ids", "int64", [1, "seq"], unknown, null],
	["ids", "int64", [1, "seq"], choice([0], false), null],
	["steps", "int64", [], unknown, null],
	["new_shape", "int32", ["n", 2], { kind: "size" }, null],
	["gains", "float32", [3], unknown, "normal"],
	["threshold", "float32", [], unknown, null],
	["use_cache", "bool", [1], unknown, null],
])("what suits an input is for %s %s %j %j: %s", (name, dtype, axes, values, kind) => {
	expect(suiting([[name, dtype, axes, values]])).toEqual([kind]);
});

const float = (name: string, shape: number[], values = unknown): Asked => [name, "float32", shape, values];
const phonemes: Asked = ["ids", "int64", ["batch", "seq"], table];
const states = ["state", "h0", "hidden", "c", "past_key_values.0.key"];
const audio = float("input", [1, 576]);
it.each<[string, Asked[], (string | null)[]]>([
	["parameters that nothing explains", [phonemes, float("scales", [3])], ["tokens:0..30521", null]],
	[
		"parameters that are not read",
		[phonemes, float("scales", [3], { kind: "unused" })],
		["tokens:0..30521", "zeros"],
	],
	[
		"states",
		[audio, ...states.map((name) => float(name, [2, 1, 128])), float("x1", [1, 1, 8], { kind: "state" })],
		["normal", ...new Array(6).fill("zeros")],
	],
	["hidden states, which are data", [audio, float("hidden_states", [1, 8])], ["normal", "normal"]],
	["a length", [phonemes, ["input_lengths", "int64", ["batch"], unknown]], ["tokens:0..30521", "length"]],
])("what suits inputs beside data: %s", (_, inputs, kinds) => {
	expect(suiting(inputs)).toEqual(kinds);
});

it("what suits a state alone is data", () => {
	expect(suiting([float("state", [1, 8])])).toEqual(["normal"]);
});

it("positionsBeside finds the size of the inputs beside a length", () => {
	const mel = { name: "mel", axes: ["batch", 80, "time"], shape: [2, 80, 300] };
	const fixed = { name: "ids", axes: [1, 7], shape: [1, 7] };
	const length = { name: "n", axes: ["batch"], shape: [2] };
	expect([positionsBeside("n", [length, mel]), positionsBeside("n", [fixed])]).toEqual([300, 7]);
	const input = { name: "n", dtype: "int64", shape: [2], specs: [{ kind: "length" }] } as const;
	const { tensor } = generateInput({ ...input, positions: 300 }, turn(0));
	expect([...new BigInt64Array(tensor.data.buffer)]).toEqual([300n, 300n]);
});

it("splitMix64 gives the numbers of the reference implementation for seed 1234567", () => {
	const random = splitMix64(1_234_567);
	const drawn = Array.from({ length: 5 }, () => {
		const { high, low } = random.next();
		return (BigInt(high) << 32n) | BigInt(low);
	});
	expect(drawn.join(" ")).toBe(
		"6457827717110365317 3203168211198807973 9817491932198370423 4593380528125082431 16408922859458223821",
	);
});

it("splitMix64 draws normal numbers of mean 0, variance 1 and the kurtosis of twelve uniforms", () => {
	const random = splitMix64(7);
	const drawn = Array.from({ length: 200_000 }, () => random.normal());
	const moment = (power: number) => drawn.reduce((sum, value) => sum + value ** power, 0) / drawn.length;
	expect(moment(1)).toBeCloseTo(0, 2);
	expect(moment(2)).toBeCloseTo(1, 1);
	expect(moment(4)).toBeCloseTo(2.9, 1);
	expect(drawn.every((value) => Math.abs(value) < 6)).toBe(true);
});

it("splitMix64 keeps uniform numbers and choices within their bounds, and streams apart", () => {
	fc.assert(
		fc.property(fc.nat(), fc.integer({ min: 1, max: 1e6 }), (seed, count) => {
			const random = splitMix64(seed, [3, 1]);
			const value = random.uniform();
			expect(value >= 0 && value < 1).toBe(true);
			expect(random.below(count)).toBeLessThan(count);
			expect(splitMix64(seed, [0, 1]).next()).not.toEqual(splitMix64(seed, [1, 0]).next());
		}),
	);
});

it.each<[string, Record<string, string>, string | undefined]>([
	[
		"settings among the data",
		{ x: "normal, SplitMix64", fmin: "normal, SplitMix64", fmax: "normal, SplitMix64" },
		'"fmin", "fmax" were drawn as noise',
	],
	[
		"the data, if there are no settings",
		{ x: "normal, SplitMix64 (why)", fmin: "const:1" },
		'"x" was drawn as noise',
	],
	["nothing, if all were given", { x: "given as images (*.png)", fmin: "const:1" }, undefined],
])("describeDrawn names %s", (_, how, what) => {
	const inputs = { x: { shape: [1, 64] }, fmin: { shape: [1] }, fmax: { shape: [] } };
	expect(describeDrawn(how, inputs)?.what).toBe(what);
});
