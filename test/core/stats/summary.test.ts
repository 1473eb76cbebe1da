// Runs and sides are summed up from what was measured, and from nothing else.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PerfRun } from "../../../generated/result.ts";
import {
	isSummarized,
	peakOf,
	summarize,
	summarizeArm,
	throughputOf,
} from "../../../src/core/stats/summary.ts";

test("a run is summed up without touching its samples", () => {
	const samples = Float64Array.of(3, 1, 2, 4);
	expect(summarize(samples)).toMatchObject({ iterations: 4, medianMs: 2.5, meanMs: 2.5, minMs: 1 });
	expect([...samples]).toEqual([3, 1, 2, 4]);
});

test.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]], [[1, -0.001]]])(
	"samples %j have no summary",
	(values) => {
		expect(summarize(Float64Array.from(values))).toBeNull();
	},
);

test("the figures of a run are ordered as their names say", () => {
	fc.assert(
		fc.property(
			fc.float64Array({ min: 0, max: 1e6, noNaN: true, minLength: 1, maxLength: 300 }),
			(samples) => {
				const summary = summarize(samples);
				if (summary === null) return false;
				const { minMs, medianMs, p90Ms, p95Ms, p99Ms } = summary;
				const slack = 1e-9 * Math.max(...samples);
				return (
					minMs <= medianMs &&
					medianMs <= p90Ms &&
					p90Ms <= p95Ms &&
					p99Ms <= Math.max(...samples) + slack &&
					p99Ms >= medianMs - slack
				);
			},
		),
	);
});

function run(medianMs: number, more: Partial<PerfRun> = {}): PerfRun {
	const figures = {
		iterations: 100,
		medianMs,
		meanMs: medianMs,
		minMs: medianMs,
		p90Ms: medianMs,
		p95Ms: medianMs,
		p99Ms: medianMs,
	};
	return {
		arm: "head",
		pair: 0,
		order: 0,
		state: "ok",
		wallMs: 1000,
		...figures,
		throughputPerSecond: 1000 / medianMs,
		...more,
	};
}

test("a side's median is that of its runs, its mean that of all iterations, its peak the largest", () => {
	const runs = [
		run(1, { iterations: 300, peakMemoryBytes: 7 }),
		run(2, { peakMemoryBytes: null }),
		run(9, { peakMemoryBytes: 5 }),
	];
	expect(summarizeArm(runs)).toEqual({
		runs: 3,
		iterations: 500,
		medianMs: 2,
		meanMs: expect.closeTo((300 * 1 + 100 * 2 + 100 * 9) / 500, 12),
		minMs: 2,
		p90Ms: 2,
		p95Ms: 2,
		p99Ms: 2,
		throughputPerSecond: 500,
		peakMemoryBytes: 7,
	});
});

test("runs that are unusable or lack a figure do not count", () => {
	const { p99Ms: _, ...noP99 } = run(5);
	expect(summarizeArm([run(1), run(50, { state: "unusable" }), noP99, run(Number.NaN)])?.runs).toBe(1);
	expect([isSummarized(noP99), isSummarized(run(1))]).toEqual([false, true]);
	expect([summarizeArm([]), summarizeArm([noP99]), peakOf([run(1)])]).toEqual([null, null, null]);
});

test("a throughput that no run measured is unknown, never made of the mean", () => {
	const { throughputPerSecond: _, ...bare } = run(4);
	expect(summarizeArm([bare])?.throughputPerSecond).toBeNull();
	expect(summarizeArm([run(4), bare])?.throughputPerSecond).toBeNull();
});

test.each([
	[{ iterations: 500, timedMs: 2000 }, 250],
	[{ iterations: 500, timedMs: 2000, reportedPerSecond: 248.5 }, 248.5],
	[{ iterations: 500, timedMs: 0 }, undefined],
])("throughput of %j is %s: iterations over wall time, or what the tool measured", (timing, perSecond) => {
	expect(throughputOf(timing)).toBe(perSecond);
});
