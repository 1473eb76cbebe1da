// The simulated batcher against theory and by properties.
import { expect, it } from "vitest";
import { interpolatedMs, md1, poissonArrivals, simulateBatcher } from "../../../src/core/load/queues.ts";
import { quantile } from "../../../src/core/stats/quantile.ts";

const serviceMs = interpolatedMs([
	{ batch: 8, ms: 3 },
	{ batch: 1, ms: 1 },
]);
const tailAt = (ratePerMs: number, maxBatch = 8, maxDelayMs = 0) =>
	quantile(
		simulateBatcher({
			arrivals: poissonArrivals(1, 100_000, ratePerMs),
			maxBatch,
			maxDelayMs,
			serviceMs,
		}).sort(),
		0.99,
	);

it("batches of one are M/D/1", () => {
	for (const load of [0.5, 0.7, 0.8]) {
		const arrivals = poissonArrivals(3, 2_000_000, load);
		const all = simulateBatcher({ arrivals, maxBatch: 1, maxDelayMs: 5, serviceMs: () => 1 }).sort();
		const { mean, quantile: exact } = md1(load);
		expect(all.reduce((sum, ms) => sum + ms, 0) / all.length / mean).toBeCloseTo(1, 2);
		expect(Math.abs(quantile(all, 0.99) / exact(0.99) - 1)).toBeLessThan(0.03);
	}
});

it("constant arrivals below the capacity wait for nothing", () => {
	const arrivals = Float64Array.from({ length: 100 }, (_, index) => index * 1.01);
	for (const ms of simulateBatcher({ arrivals, maxBatch: 8, maxDelayMs: 0, serviceMs }))
		expect(ms).toBeCloseTo(1, 9);
});

it("a batch starts when it is full, when its oldest request has waited long enough, or when the server is free", () => {
	const arrivals = Float64Array.of(0, 1, 2, 10, 11, 11.5);
	const play = (maxDelayMs: number, maxBatch = 3) => [
		...simulateBatcher({ arrivals, maxBatch, maxDelayMs, serviceMs: (batch) => 4 + batch }),
	];
	// Full at 2, ends at 9; full at 11.5, ends at 18.5.
	expect(play(100)).toEqual([9, 8, 7, 8.5, 7.5, 7]);
	// Alone at 0, ends at 5; then two, which end at 11; then 10 and 11, which end at 17; then the last.
	expect(play(0)).toEqual([5, 10, 9, 7, 6, 10.5]);
	// At 1.5 with two, which end at 7.5; the third alone until 12.5; then all three.
	expect(play(1.5)).toEqual([7.5, 6.5, 10.5, 9.5, 8.5, 8]);
});

it("a seed gives the same answers, and more requests wait longer", () => {
	expect(tailAt(1)).toBe(tailAt(1));
	expect(poissonArrivals(2, 3, 1)).not.toEqual(poissonArrivals(1, 3, 1));
	const tails = [1, 1.5, 2, 2.3, 2.5].map((rate) => tailAt(rate));
	expect(tails).toEqual(tails.toSorted((left, right) => left - right));
	expect(tailAt(0.9)).toBeLessThan(tailAt(0.9, 1));
	expect(tailAt(0.2, 8, 5)).toBeGreaterThan(tailAt(0.2) + 2);
});

it("times lie on lines between timed batches, and smaller batches are padded", () => {
	const ms = interpolatedMs([
		{ batch: 4, ms: 2 },
		{ batch: 8, ms: 3 },
	]);
	expect([1, 4, 6, 8, 9].map(ms)).toEqual([2, 2, 2.5, 3, 3]);
});
