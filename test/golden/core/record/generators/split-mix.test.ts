// The random source gives the published numbers, and its distributions are what they say.
import fc from "fast-check";
import { expect, it } from "vitest";
import { splitMix64 } from "../../../../../src/golden/core/record/generators/split-mix.ts";

it("splitMix64 gives the numbers of the reference implementation for seed 1234567", () => {
	const random = splitMix64(1_234_567);
	const drawn = Array.from({ length: 5 }, () => random.next()).map(
		({ high, low }) => (BigInt(high) << 32n) | BigInt(low),
	);
	expect(drawn).toEqual([
		6457827717110365317n,
		3203168211198807973n,
		9817491932198370423n,
		4593380528125082431n,
		16408922859458223821n,
	]);
});

it("splitMix64 draws normal numbers of mean 0, variance 1 and the kurtosis of twelve uniforms", () => {
	const random = splitMix64(7);
	const drawn = Array.from({ length: 200_000 }, () => random.normal());
	const moment = (power: number): number =>
		drawn.reduce((sum, value) => sum + value ** power, 0) / drawn.length;
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
