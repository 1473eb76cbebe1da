import { describe, expect, it } from "vitest";
import { poissonArrivals, simulateBatcher } from "../../../src/core/load/batcher.ts";
import { md1 } from "../../../src/core/load/md1.ts";
import { tailBounds } from "../../../src/core/load/tail.ts";
import { uniformSource } from "../../../src/core/stats/random.ts";

describe("tailBounds", () => {
	const counting = (count: number) =>
		Float64Array.from({ length: count }, (_, index) => (index * 7919) % count);

	it.each([
		[458, null],
		[459, 458],
		[661, 660],
		[662, 660],
	])(
		"of %i independent requests bounds their P99 at 99 % by the request that binomial tables name",
		(count, highMs) => {
			expect(tailBounds([counting(count)], 0.99).highMs).toBe(highMs);
		},
	);

	it("holds the P99 of independent requests as often as stated, from either side", () => {
		const uniform = uniformSource(5);
		let [high, low] = [0, 0];
		const trials = 400;
		for (let trial = 0; trial < trials; trial += 1) {
			const runs = [0, 1].map(() => Float64Array.from({ length: 700 }, () => -Math.log(1 - uniform())));
			const { lowMs, highMs } = tailBounds(runs, 0.99);
			if ((highMs ?? Infinity) < Math.log(100)) high += 1;
			if ((lowMs ?? 0) > Math.log(100)) low += 1;
		}
		expect(high / trials).toBeLessThanOrEqual(0.025);
		expect(low / trials).toBeLessThanOrEqual(0.025);
	});

	it("is wider where slow requests come together, and still holds the P99 of a queue", () => {
		const exact = md1(0.8).quantile(0.99);
		const ranges = Array.from({ length: 60 }, (_, seed) => {
			const runs = [0, 1, 2, 3, 4].map((run) => {
				const arrivals = poissonArrivals(1 + 5 * seed + run, 2000, 0.8);
				return simulateBatcher({ arrivals, maxBatch: 1, maxDelayMs: 0, serviceMs: () => 1 });
			});
			return tailBounds(runs, 0.99);
		});
		const missed = ranges.filter(({ lowMs, highMs }) => (lowMs ?? 0) > exact || (highMs ?? Infinity) < exact);
		expect(missed.length).toBeLessThanOrEqual(4);
	});

	it("gives none of no requests, and none of fewer than it takes", () => {
		expect(tailBounds([], 0.99)).toEqual({ lowMs: null, highMs: null });
		expect(tailBounds([counting(10)], 0.99)).toMatchObject({ highMs: null });
	});
});
