import { describe, expect, it } from "vitest";
import type { MeasuredLoad } from "../../../generated/result.ts";
import { judgeSlo } from "../../../src/core/gates/serving.ts";
import { loadsOf } from "../../../src/core/load/at-load.ts";
import {
	closedLoopMs,
	expectedP99Ms,
	judgePoint,
	lateReason,
	type ServedRun,
	tailBounds,
} from "../../../src/core/load/measured.ts";
import { md1, poissonArrivals, schedule, simulateBatcher } from "../../../src/core/load/queues.ts";
import { uniformSource } from "../../../src/core/stats/random.ts";
import recorded from "../../fixtures/pairs/at-load.json" with { type: "json" };
import { buildConfig } from "../../support/build-config.ts";
import { buildComparison, buildResult } from "../../support/build-result.ts";

const filled = (ms: number, count = 1000) => new Float64Array(count).fill(ms);

function served(arm: "base" | "head", pair: number, ms: number, lateMs = 0): ServedRun {
	const atRates = [{ latencyMs: filled(ms), latenessMs: filled(lateMs) }];
	return { arm, pair, serviceMs: [1, 2], atRates, expectedMs: [1] };
}

it("closedLoopMs takes the time between the ends of batches", () => {
	const latencyMs = Float64Array.from([5, 5, 8, 8, 11, 11, 14, 14]);
	expect(closedLoopMs({ latencyMs, latenessMs: filled(0) }, 2)).toBe(3);
});

it("a run counts up to a lateness of 5 % of the service time", () => {
	expect(lateReason(served("head", 0, 3, 0.05))).toBeNull();
	expect(lateReason(served("head", 0, 3, 0.06))).toMatch(
		/60\.00 µs late .+ engine that takes 1\.200 ms or more/,
	);
});

const runs = [0, 1, 2, 3, 4].flatMap((pair) => [
	served("base", pair, 3 + 0.01 * pair),
	served("head", pair, 1.2 * (3 + 0.01 * pair)),
]);
const judged = () =>
	judgePoint({ share: 0.8, ratePerSecond: 800 }, { runs, index: 0 }, { minimalEffect: 0.1, looks: [5] });

it("judgePoint pairs the runs' P99, and pools their requests", () => {
	const { comparison, base, head } = judged();
	expect(comparison).toMatchObject({ verdict: "regressed", pairs: 5, estimate: expect.closeTo(0.2, 9) });
	expect(base).toMatchObject({ runs: 5, requests: 5000, serviceMs: 1, maxMs: 3.04 });
	expect(head?.meanMs).toBeCloseTo(3.624, 9);
	const none = { runs: [], index: 0 };
	expect(judgePoint({ share: null, ratePerSecond: 1 }, none, { minimalEffect: 0.1 })).toMatchObject({
		base: null,
		head: null,
	});
});

/** In one pair the head stalled: 16.1 and 28.9 ms, where schedules of the same rate take 15 to 35 ms. */
function recordedRuns(knowsSchedules: boolean) {
	const { ratePerSecond: perSecond, requests: count, pairs } = recorded;
	return pairs.flatMap(({ serviceMs, p99Ms }, pair) => {
		const arrivalsMs = schedule("poisson", { seed: pair + 1, count, perSecond });
		return (["base", "head"] as const).map((arm, index) => {
			const timed = [{ batch: 1, ms: serviceMs[index] ?? NaN }];
			const expected = expectedP99Ms({ arrivalsMs, maxBatch: 1, maxDelayMs: 0 }, timed);
			return { ...served(arm, pair, p99Ms[index] ?? NaN), expectedMs: [knowsSchedules ? expected : 1] };
		});
	});
}

it.each([
	[true, 17],
	[false, 12],
])("recorded engines of which one is 3 %% slower, schedules known %s: %i of 17 windows", (isKnown, found) => {
	const runs = recordedRuns(isKnown);
	const windows = Array.from({ length: 17 }, (_, from) => runs.slice(2 * from, 2 * (from + 8)));
	const verdicts = windows.map((window) =>
		[5, 8].map((pairs) => {
			const seen = { runs: window.slice(0, 2 * pairs), index: 0 };
			const options = { minimalEffect: 0.1, looks: [5, 8] };
			return judgePoint({ share: 0.8, ratePerSecond: 1 }, seen, options).comparison.verdict;
		}),
	);
	expect(verdicts.filter((looks) => looks.includes("regressed"))).toHaveLength(found);
});

it("the noise of an inconclusive point is that of its runs, not of their schedules", () => {
	const pairs = [10, 20, 30, 15, 25].flatMap((expected, pair) => {
		const head = expected * (pair % 2 === 0 ? 1.3 : 0.8);
		const both = [served("base", pair, expected), served("head", pair, head)];
		return both.map((run) => ({ ...run, expectedMs: [expected] }));
	});
	const options = { minimalEffect: 0.1, looks: [5] };
	const { comparison } = judgePoint({ share: 0.8, ratePerSecond: 1 }, { runs: pairs, index: 0 }, options);
	// The head's logarithms alone scatter, by 27 %; over both sides that is 19 %.
	expect(comparison).toMatchObject({ verdict: "inconclusive", reason: expect.stringContaining("18.8 %") });
});

it.each([
	["5ms", { lowMs: 3, highMs: 4 }, "pass"],
	["3.5ms", { lowMs: 3, highMs: 4 }, "inconclusive"],
	["2ms", { lowMs: 3, highMs: 4 }, "fail"],
	["5ms", { lowMs: 3, highMs: null }, "inconclusive"],
	["5ms", { lowMs: null, highMs: null }, "inconclusive"],
])("an slo of %s is judged by measured bounds where there are any: %#", (limit, p99, status) => {
	const config = buildConfig(`gates: { slo: { p99: ${limit}, rate: 800/s } }`);
	const level = config.models[0]!.engines[0]!.workloads[0]!;
	const [row] = buildResult().workloads;
	const latency = buildComparison({ base: 1, head: 1, interval: [0, 0] });
	const own = { ...row!, streams: 1, latency };
	const point = judged();
	const load: MeasuredLoad = {
		...{ model: own.model, engine: own.engine, workloads: [own.workload], arrivals: "poisson" },
		...{ maxBatch: 1, maxDelayMs: 0, replaced: 0 },
		points: [{ ...point, head: { ...point.head!, p99 } }],
	};
	const loads = loadsOf([own], () => level);
	const [gate] = judgeSlo(own, level, { config, loads, measured: [load] });
	expect(gate).toMatchObject({
		gate: "slo",
		status,
		message: expect.stringMatching(/^Measured at 800 \/ s: P99/),
	});
	expect(gate?.message.includes("A longer `measure.load.duration`")).toBe(p99.highMs === null);
});

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
