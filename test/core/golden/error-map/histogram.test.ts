// Histograms of errors lose no element and put each where it belongs.
import fc from "fast-check";
import { expect, it } from "vitest";
import { errorHistogram, largestDifferences } from "../../../../src/core/golden/error-map/map.ts";
import { float64, int64 } from "../../../support/golden-tensors.ts";

const value = fc.oneof(fc.double(), fc.constantFrom(0, 1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308, 5e-324));
const pairs = fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 40 });

const sidesOf = (values: readonly (readonly [number, number])[]) => ({
	expected: float64(values.map(([want]) => want)),
	got: float64(values.map(([, have]) => have)),
});
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

it("errorHistogram counts every element once, in at most 64 bins, whatever the values", () => {
	fc.assert(
		fc.property(pairs, (values) => {
			const { counts, equal, notFinite, elements, from, to } = errorHistogram(sidesOf(values), null);
			const sameBeyondNumbers = values.filter(([want, have]) => !Number.isFinite(want) && Object.is(want, have)).length;
			expect(sum(counts) + equal + notFinite).toBe(elements);
			expect(equal).toBeGreaterThanOrEqual(sameBeyondNumbers);
			expect(counts.length).toBeLessThanOrEqual(64);
			expect(from > 0 && to > from).toBe(true);
		}),
	);
});

it("errorHistogram puts a difference into the bin that holds it", () => {
	const { from, to, counts } = errorHistogram(
		sidesOf([
			[0, 0.0015],
			[0, 0.5],
			[1, 1],
		]),
		null,
	);
	expect([from, to]).toEqual([1e-3, 1]);
	const perDecade = counts.length / 3;
	expect(counts.flatMap((count, bin) => (count > 0 ? [bin] : []))).toEqual([
		Math.floor(Math.log10(1.5) * perDecade),
		Math.floor((2 + Math.log10(5)) * perDecade),
	]);
});

it("errorHistogram has no bins where nothing differs", () => {
	expect(errorHistogram(sidesOf([[2, 2]]), null)).toMatchObject({ counts: [], equal: 1, notFinite: 0 });
});

it("errorHistogram distinguishes integers beyond 2^53", () => {
	const sides = { expected: int64([2n ** 53n]), got: int64([2n ** 53n + 1n]) };
	expect(sum(errorHistogram(sides, null).counts)).toBe(1);
});

it("errorHistogram marks the least and the most that an element is allowed", () => {
	const sides = sidesOf([
		[1, 1],
		[-3, 3],
		[Number.NaN, 0],
	]);
	expect(errorHistogram(sides, { rtol: 0.5, atol: 1 }).tolerance).toEqual([1.5, 2.5]);
	expect(errorHistogram(sides, null).tolerance).toBeUndefined();
});

it("largestDifferences finds what sorting finds", () => {
	const numbers = fc.array(fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })), { minLength: 1, maxLength: 60 });
	fc.assert(
		fc.property(numbers, fc.integer({ min: 1, max: 6 }), (values, most) => {
			const sorted = values
				.map(([want, have], at) => ({ at, size: Math.abs(want - have) }))
				.filter(({ size }) => size > 0)
				.sort((a, b) => b.size - a.size || a.at - b.at);
			expect(largestDifferences(sidesOf(values), most)).toEqual(sorted.slice(0, most).map(({ at }) => at));
		}),
	);
});

it("largestDifferences puts what is no number on one side before every number", () => {
	const sides = sidesOf([
		[0, 1e9],
		[0, Number.NaN],
		[Number.NaN, Number.NaN],
	]);
	expect(largestDifferences(sides, 5)).toEqual([1, 0]);
});
