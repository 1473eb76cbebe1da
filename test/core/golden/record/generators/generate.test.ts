// Generated inputs match their generator, and the same for the same seed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { brainFloatBits, encodeTensor, halfBits } from "../../../../../src/core/golden/record/generators/encode.ts";
import {
	defaultGenerator,
	formatGenerator,
	generateInput,
	parseGenerator,
	vocabularyOf,
} from "../../../../../src/core/golden/record/generators/generate.ts";
import { imageValues } from "../../../../../src/core/golden/record/generators/image.ts";
import { splitMix64 } from "../../../../../src/core/golden/record/generators/split-mix.ts";
import { decodeBrainFloat, decodeHalf } from "../../../../../src/core/golden/tensor/small-numbers.ts";
import { tensorStatistics } from "../../../../../src/core/golden/tensor/values.ts";
import type { OnnxModel } from "../../../../../src/core/onnx/model.ts";
import type { DType } from "../../../../../src/core/schema/golden.ts";

const turn = (caseIndex: number, seed = 1) => ({ seed, caseIndex, inputIndex: 0 });

describe("encodeTensor", () => {
	it("writes every binary16 back as it was read", () => {
		const patterns = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
		const values = new Float32Array(patterns.length);
		decodeHalf(patterns, values);
		const wrong = patterns.filter((bits) => !Number.isNaN(values[bits]) && halfBits(values[bits] ?? 0) !== bits);
		expect([...wrong]).toEqual([]);
	});

	it("rounds to the nearer binary16 and bfloat16", () => {
		const read = (decode: typeof decodeHalf, bits: number): number => {
			const out = new Float32Array(1);
			decode(Uint16Array.of(bits), out);
			return out[0] ?? Number.NaN;
		};
		fc.assert(
			fc.property(fc.float({ noNaN: true, noDefaultInfinity: true, min: -60_000, max: 60_000 }), (value) => {
				const half = Math.abs(read(decodeHalf, halfBits(value)) - value);
				expect(half).toBeLessThanOrEqual(Math.max(2 ** -25, Math.abs(value) * 2 ** -11));
				const brain = Math.abs(read(decodeBrainFloat, brainFloatBits(value)) - value);
				expect(brain).toBeLessThanOrEqual(Math.max(2 ** -134, Math.abs(value) * 2 ** -8));
			}),
		);
	});

	it("refuses a type that it has no numbers for", () => {
		expect(() => encodeTensor("complex" as DType, [1], () => 0)).toThrow(RangeError);
	});
});

describe("imageValues", () => {
	it.each([
		["first", [2, 3, 40, 24]],
		["last", [2, 40, 24, 3]],
	])("lie from 0 to 1, are smooth but for edges, and differ by channel (%s)", (_, shape) => {
		const values = imageValues(shape, splitMix64(3));
		expect(values).toHaveLength(2 * 3 * 40 * 24);
		expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
		expect(new Set(values).size).toBeGreaterThan(1000);
		const step = shape[1] === 3 ? 1 : 3;
		const jumps = Array.from(values.slice(0, 900), (value, index) => Math.abs(value - (values[index + step] ?? value)));
		const small = jumps.filter((jump) => jump < 0.1).length / jumps.length;
		expect(small).toBeGreaterThan(0.8);
		expect(Math.max(...jumps)).toBeGreaterThan(0.1);
	});
});

describe("parseGenerator", () => {
	it.each([
		["image=image", "image", "image"],
		["a=b=uniform:-1..1", "a=b", "uniform:-1..1"],
		["ids=tokens:0..30521", "ids", "tokens:0..30521"],
		["x=normal+boundary", "x", "normal+boundary"],
	])("reads %s", (text, input, kinds) => {
		const parsed = parseGenerator(text);
		expect(parsed).toMatchObject({ state: "ok", input });
		if (parsed.state === "ok") expect(formatGenerator(parsed.specs)).toBe(kinds);
	});

	it.each([
		["normal", /names no input/],
		["x=norml", /did you mean normal/],
		["x=normal:0..1", /takes no range/],
		["x=uniform:5..1", /no range/],
		["x=tokens:a..b", /no range/],
	])("refuses %s", (text, problem) => {
		expect(parseGenerator(text)).toMatchObject({ state: "wrong", problem: expect.stringMatching(problem) });
	});
});

describe("generateInput", () => {
	it("gives the same bytes for a seed, others for another seed or case", () => {
		const input = { name: "x", dtype: "float32", shape: [3, 5], specs: [{ kind: "normal" }] } as const;
		const bytes = (seed: number, index: number): string => Buffer.from(generateInput(input, turn(index, seed)).tensor.data).toString("hex");
		expect(bytes(1, 0)).toBe(bytes(1, 0));
		expect(new Set([bytes(1, 0), bytes(1, 1), bytes(2, 0)]).size).toBe(3);
	});

	it.each<[DType, Parameters<typeof generateInput>[0]["specs"], [number, number]]>([
		["int64", [{ kind: "tokens", range: [5, 9] }], [5, 9]],
		["uint8", [{ kind: "image" }], [0, 255]],
		["float16", [{ kind: "uniform", range: [-2, 3] }], [-2, 3]],
		["int32", [{ kind: "boundary", range: [0, 99] }], [0, 99]],
		["bool", [{ kind: "boundary" }], [0, 1]],
	])("keeps %s within its range", (dtype, specs, [low, high]) => {
		for (const index of [0, 1, 2, 3]) {
			const { tensor } = generateInput({ name: "x", dtype, shape: [1, 3, 16, 16], specs }, turn(index));
			const { min, max, nan, inf } = tensorStatistics(tensor);
			expect([nan, inf]).toEqual([0, 0]);
			expect(min).toBeGreaterThanOrEqual(low);
			expect(max).toBeLessThanOrEqual(high);
		}
	});

	it("goes through the boundaries by turns: zeros, ones, signs, denormals, the largest of fp16 and fp32", () => {
		const input = { name: "x", dtype: "float32", shape: [4], specs: [{ kind: "boundary" }] } as const;
		const made = [0, 1, 2, 3, 4, 5, 6].map((index) => generateInput(input, turn(index)));
		expect(made.map(({ kind }) => kind)).toEqual(["zeros", "ones", "signs", "denormals", "half-max", "max", "zeros"]);
		expect(made.map(({ tensor }) => tensorStatistics(tensor).max)).toEqual([
			0,
			1,
			1,
			expect.closeTo(1e-40, 42),
			65_504,
			3.4028234663852886e38,
			0,
		]);
	});
});

describe("what suits an input", () => {
	it.each<[string, DType, number[], number | undefined, string]>([
		["image", "float32", [1, 3, 224, 224], undefined, "image"],
		["image", "float32", [1, 224, 224, 3], undefined, "image"],
		["features", "float32", [1, 128], undefined, "normal"],
		["input_ids", "int64", [1, 12], 30_522, "tokens:0..30521"],
		["attention_mask", "int64", [1, 12], undefined, "ones"],
		["pixels", "uint8", [1, 3, 32, 32], undefined, "image"],
	])("is for %s %s %j: %s %s", (name, dtype, shape, vocabulary, kind) => {
		expect(formatGenerator(defaultGenerator({ name, dtype, shape }, vocabulary))).toBe(kind);
	});

	it("takes the vocabulary from the table that ids are looked up in", () => {
		const node = (op: string, inputs: string[], outputs: string[]) => ({ name: "", domain: "", op, inputs, outputs, attributes: [] });
		const graph = {
			nodes: [node("Cast", ["ids"], ["wide"]), node("Gather", ["words", "wide"], ["x"]), node("Gather", ["kinds", "types"], ["z"])],
			initializers: [
				{ name: "words", dims: [30_522, 8] },
				{ name: "kinds", dims: [2, 8] },
			],
		};
		const model = { graph } as unknown as OnnxModel;
		expect([vocabularyOf(model, "ids"), vocabularyOf(model, "types"), vocabularyOf(model, "mask")]).toEqual([30_522, 2, undefined]);
	});
});
