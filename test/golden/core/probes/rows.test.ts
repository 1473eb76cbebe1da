// Picking and joining rows, and how far two answers are apart.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { join, pick, upTo } from "../../../../src/golden/core/probes/context.ts";
import { allowance, distanceBetween } from "../../../../src/golden/core/probes/judge.ts";
import { sliceTensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { float32, float64, int64 } from "../../../support/golden-tensors.ts";

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });

it("pick and join undo each other along any axis", () => {
	fc.assert(
		fc.property(shapes, fc.nat(), fc.nat(), (shape, axisSeed, cutSeed) => {
			const axis = axisSeed % shape.length;
			const size = shape[axis]!;
			const cut = cutSeed % (size + 1);
			const tensor = float32(upTo(shape.reduce((product, length) => product * length, 1)), shape);
			const parts = [pick(tensor, axis, upTo(cut))!, pick(tensor, axis, upTo(size).slice(cut))!] as const;
			expect(join([...parts], axis)).toEqual(tensor);
		}),
	);
});

it("pick and join takes the slice that slicing takes, in any order and again", () => {
	const tensor = float32(upTo(24), [2, 3, 4]);
	const picked = pick(tensor, 1, [2, 0, 2])!;
	expect(picked.shape).toEqual([2, 3, 4]);
	for (const [at, from] of [2, 0, 2].entries())
		expect(sliceTensor(picked, 1, at).data).toEqual(sliceTensor(tensor, 1, from).data);
});

it("pick and join refuses places that are not there, and elements that share bytes", () => {
	expect(pick(float32([1, 2], [2]), 0, [2])).toBeNull();
	expect(pick(float32([1, 2], [2]), 1, [0])).toBeNull();
	expect(pick({ dtype: "int4", shape: [2], data: new Uint8Array(1) }, 0, [0])).toBeNull();
});

describe("distanceBetween", () => {
	const rows = (...values: number[][]) => float32(values.flat(), [values.length, values[0]!.length]);

	it.each([
		["the same values", rows([1, 2], [3, 4]), rows([1, 2], [3, 4]), 0],
		[
			"the worst row, against the longer of the two",
			rows([3, 4], [3, 4]),
			rows([3, 4], [3, 4.5]),
			0.5 / Math.hypot(3, 4.5),
		],
		[
			"a row that is nearly zero, against the usual row",
			rows([1], [1e-6]),
			rows([1], [2e-6]),
			1e-6 / Math.sqrt(0.5),
		],
		["zeros against something", rows([0, 0]), rows([1, 0]), 1],
		["opposites, the furthest that finite rows can be", rows([1, 2]), rows([-1, -2]), 2],
		["a NaN on one side", rows([1, 2]), rows([1, Number.NaN]), Number.POSITIVE_INFINITY],
		[
			"the same infinity on both",
			rows([1, Number.POSITIVE_INFINITY]),
			rows([1, Number.POSITIVE_INFINITY]),
			0,
		],
		["nothing finite at all", rows([Number.NaN]), rows([Number.NaN]), Number.NaN],
		["another shape", rows([1, 2]), float32([1, 2], [2]), Number.POSITIVE_INFINITY],
		["another type", rows([1]), int64([1n], [1, 1]), Number.POSITIVE_INFINITY],
		[
			"rows whose squares leave binary64",
			float64([1e200, 2e200, 3e200, 4e200], [2, 2]),
			float64([1e200, 2e200, 3e200, 4.5e200], [2, 2]),
			0.5 / Math.hypot(3, 4.5),
		],
		["denormal rows", float64([3e-320, 4e-320], [1, 2]), float64([3e-320, 0], [1, 2]), 0.8],
		[
			"integers by the share that differs",
			int64([1n, 2n, 3n, 4n], [4]),
			int64([1n, 2n, 3n, 1000n], [4]),
			0.25,
		],
	])("distanceBetween is of %s", (_, left, right, expected) => {
		const got = distanceBetween(left, right, 0);
		if (Number.isFinite(expected) && expected > 0) expect(got).toBeCloseTo(expected, 6);
		else expect(got).toBe(expected);
	});

	it("distanceBetween does not depend on which answer came first, nor on scale", () => {
		const numbers = fc.array(
			fc
				.double({ min: -100, max: 100, noNaN: true })
				.filter((value) => value === 0 || Math.abs(value) > 1e-3),
			{
				minLength: 6,
				maxLength: 6,
			},
		);
		fc.assert(
			fc.property(numbers, numbers, (left, right) => {
				const [a, b] = [float32(left, [3, 2]), float32(right, [3, 2])];
				const there = distanceBetween(a, b, 0);
				expect(distanceBetween(b, a, 0)).toBeCloseTo(there, 9);
				const scaled = distanceBetween(
					float32(
						left.map((value) => value * 8),
						[3, 2],
					),
					float32(
						right.map((value) => value * 8),
						[3, 2],
					),
					0,
				);
				expect(scaled).toBeCloseTo(there, 6);
				expect(there).toBeLessThanOrEqual(2 + 1e-9);
			}),
		);
	});
});

describe("allowance", () => {
	const fp32 = { precision: "fp32", cap: 1e-3 } as const;
	it.each([
		[
			"a tenth of the cap for the same kernels",
			fp32,
			{ arithmetic: "same", dtype: "float32", noise: 0 },
			1e-4,
		],
		["the cap for others", fp32, { arithmetic: "other", dtype: "float32", noise: 0 }, 1e-3],
		[
			"three times the noise where that is more",
			fp32,
			{ arithmetic: "same", dtype: "float32", noise: 1e-3 },
			3e-3,
		],
		[
			"two roundings of the output",
			{ precision: "fp16", cap: 5e-3 },
			{ arithmetic: "same", dtype: "float16", noise: 0 },
			6e-4,
		],
		["nothing for integers of the same kernels", fp32, { arithmetic: "same", dtype: "int64", noise: 0.5 }, 0],
		[
			"what top-k may lose for integers of others",
			fp32,
			{ arithmetic: "other", dtype: "int64", noise: 0 },
			0.01,
		],
	] as const)("allowance is %s", (_, rule, of, expected) => {
		expect(allowance(rule, of)).toBeCloseTo(expected, 9);
	});
});
