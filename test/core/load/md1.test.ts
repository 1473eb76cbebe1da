// M/D/1 against test/oracles/md1.py, a queue run request by request, and the known growth of tails.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { md1, poissonArrivals } from "../../../src/core/load/queues.ts";

const { sojourn }: { sojourn: [load: number, share: number, time: number][] } = JSON.parse(
	readFileSync("test/oracles/md1.json", "utf8"),
);

it("quantiles equal Crommelin's distribution", () => {
	for (const [load, share, time] of sojourn)
		expect(Math.abs(md1(load).quantile(share) / time - 1), `${share} at ${load}`).toBeLessThan(1e-9);
});

it("the mean is that of a queue by Lindley's recursion, within 0.5 %", () => {
	for (const load of [0.5, 0.7, 0.8]) {
		const arrivals = poissonArrivals(7, 4_000_000, load);
		let [wait, sum, last] = [0, 0, 0];
		for (const now of arrivals) {
			wait = Math.max(0, wait + 1 - (now - last));
			sum += wait + 1;
			last = now;
		}
		expect(Math.abs(sum / arrivals.length / md1(load).mean - 1), `${load}`).toBeLessThan(0.005);
	}
});

it.each([
	[0.5, 0.065],
	[0.7, 0.11],
	[0.8, 0.173],
	[0.9, 0.413],
])("3 %% more service time at a load of %s makes P99 %s longer", (load, growth) => {
	expect((1.03 * md1(1.03 * load).quantile(0.99)) / md1(load).quantile(0.99) - 1).toBeCloseTo(growth, 2);
});

it("an idle server answers in the service time, and near its capacity the tail stays a number that grows", () => {
	expect(md1(1e-6).quantile(0.99)).toBe(1);
	const tails = [0.9, 0.95, 0.99].map((load) => md1(load).quantile(0.999));
	expect(tails).toEqual(tails.toSorted((left, right) => left - right));
	// ln(1000) / (2 (1 − ρ)), the heavy-traffic limit.
	expect(tails[2]! / (Math.log(1000) / 0.02)).toBeCloseTo(1, 1);
});
