import { expect, test } from "vitest";
import type { PerfRun } from "../../../generated/result.ts";
import {
	isSummarized,
	peakOf,
	summarize,
	summarizeArm,
	throughputOf,
} from "../../../src/core/stats/summary.ts";

test.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]], [[1, -0.001]]])(
	"samples %j have no summary",
	(values) => {
		expect(summarize(Float64Array.from(values))).toBeNull();
	},
);

function run(medianMs: number, more: Partial<PerfRun> = {}): PerfRun {
	const names = ["medianMs", "meanMs", "minMs", "p90Ms", "p95Ms", "p99Ms"];
	const figures = Object.fromEntries(names.map((name) => [name, medianMs]));
	const place = { arm: "head", pair: 0, order: 0, state: "ok", wallMs: 1000, iterations: 100 } as const;
	return { ...place, ...figures, throughputPerSecond: 1000 / medianMs, ...more };
}

test("a side has its runs' median, the mean of all iterations, and the largest peak", () => {
	const largest = run(1, { iterations: 300, peakMemoryBytes: 7 });
	const runs = [largest, run(2, { peakMemoryBytes: null }), run(9, { peakMemoryBytes: 5 })];
	const meanMs = expect.closeTo((300 * 1 + 100 * 2 + 100 * 9) / 500, 12);
	const tails = { minMs: 2, p90Ms: 2, p95Ms: 2, p99Ms: 2 };
	const rest = { throughputPerSecond: 500, peakMemoryBytes: 7 };
	expect(summarizeArm(runs)).toEqual({ runs: 3, iterations: 500, medianMs: 2, meanMs, ...tails, ...rest });
});

test("runs that are unusable or lack a figure do not count", () => {
	const { p99Ms: _, ...noP99 } = run(5);
	expect(summarizeArm([run(1), run(50, { state: "unusable" }), noP99, run(Number.NaN)])?.runs).toBe(1);
	expect([isSummarized(noP99), isSummarized(run(1))]).toEqual([false, true]);
	expect([summarizeArm([]), summarizeArm([noP99]), peakOf([run(1)])]).toEqual([null, null, null]);
});

test.each([
	[2000, undefined, 250],
	[2000, 248.5, 248.5],
	[0, undefined, undefined],
])("throughput of 500 iterations in %d ms, by the tool %s, is %s", (timedMs, reported, perSecond) => {
	expect(throughputOf(500, timedMs, reported)).toBe(perSecond);
});
