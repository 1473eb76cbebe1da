// Which sizes a sweep times: planted cliffs are found with nine, and smooth curves have none.
import fc from "fast-check";
import { expect, it } from "vitest";
import { cliffsOf, maxSizes, nextSize, type SizeRange, type Timed } from "../../../src/core/compare/sweep.ts";
import { randomFrom } from "../../support/random.ts";
import "../../support/properties.ts";

type Curve = (size: number) => number;

function swept(range: SizeRange, { base, head }: { base: Curve; head: Curve }): Timed[] {
	const points: Timed[] = [];
	for (let size = nextSize(points, range); size !== null; size = nextSize(points, range))
		points.push({ size, base: base(size), head: head(size) });
	return points;
}

const cost: Curve = (size) => 0.2 + 0.004 * size;
const cliffAt =
	(after: number, factor: number): Curve =>
	(size) =>
		cost(size) * (size > after ? factor : 1);

const lengths = { from: 32, to: 512, step: 1 };

it.each([
	["in the head alone", cost],
	["on both sides", cliffAt(256, 2.1)],
])("a cliff after 256 %s is named to the size", (_, base) => {
	const points = swept(lengths, { base, head: cliffAt(256, 2.1) });
	expect(points.length).toBe(maxSizes);
	const [cliff] = cliffsOf(points);
	expect(cliff).toMatchObject({ low: 256, high: 257 });
	expect(cliff?.head).toBeCloseTo(2.1, 1);
});

it("any planted cliff is enclosed within a sixteenth of the range by at most nine different sizes, under noise", () => {
	const planted = fc.record({
		from: fc.integer({ min: 1, max: 64 }),
		width: fc.integer({ min: 16, max: 2000 }),
		share: fc.double({ min: 0, max: 0.999, noNaN: true }),
		factor: fc.double({ min: 1.7, max: 4, noNaN: true }),
		seed: fc.nat(),
	});
	fc.assert(
		fc.property(planted, ({ from, width, share, factor, seed }) => {
			const range = { from, to: from + width, step: 1 };
			const after = from + Math.floor(share * width);
			const { normal } = randomFrom(seed);
			const noisy =
				(curve: Curve): Curve =>
				(size) =>
					curve(size) * (1 + 0.005 * Math.max(-3, Math.min(3, normal())));
			const points = swept(range, { base: noisy(cost), head: noisy(cliffAt(after, factor)) });
			const sizes = points.map(({ size }) => size);
			expect(new Set(sizes).size).toBe(sizes.length);
			expect(sizes.length).toBeLessThanOrEqual(maxSizes);
			expect(Math.min(...sizes)).toBe(from);
			expect(Math.max(...sizes)).toBe(range.to);
			const low = Math.max(...sizes.filter((size) => size <= after));
			const high = Math.min(...sizes.filter((size) => size > after));
			expect(high - low).toBeLessThanOrEqual(Math.max(1, width / 16));
		}),
		{ numRuns: 500 },
	);
});

it("a smooth curve has no cliff, and its sizes are spread", () => {
	const power = fc.double({ min: 0.3, max: 2, noNaN: true });
	fc.assert(
		fc.property(power, fc.double({ min: 0.001, max: 10, noNaN: true }), (exponent, idle) => {
			const smooth: Curve = (size) => idle + (size / 32) ** exponent;
			const points = swept(lengths, { base: smooth, head: smooth });
			expect(cliffsOf(points)).toEqual([]);
			const sizes = points.map(({ size }) => size).sort((a, b) => a - b);
			for (const [index, size] of sizes.slice(1).entries())
				expect(size / sizes[index]!).toBeLessThanOrEqual(2.5);
		}),
	);
});

it.each([
	[{ from: 32, to: 512, step: 32 }, 32],
	[{ from: 1, to: 8, step: 1 }, 1],
	[{ from: 30, to: 513, step: 8 }, 8],
])("sizes of %j stay on the steps that the model takes", ({ from, to, step }) => {
	for (const { size } of swept({ from, to, step }, { base: cost, head: cliffAt(100, 3) }))
		expect(size === to || (size - from) % step === 0).toBe(true);
});

it("engines that fail at a size end the search of that interval, not the sweep", () => {
	const head: Curve = (size) => (size === 256 ? NaN : cost(size));
	expect(swept(lengths, { base: cost, head }).length).toBe(maxSizes);
});
