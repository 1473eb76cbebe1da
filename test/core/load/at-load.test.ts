// Families, intervals and the gate `slo`, over built rows.
import { describe, expect, it } from "vitest";
import type { WorkloadResult } from "../../../generated/result.ts";
import { judgeSlo } from "../../../src/core/gates/serving.ts";
import { loadsOf } from "../../../src/core/load/at-load.ts";
import { md1 } from "../../../src/core/load/queues.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildComparison, buildStats } from "../../support/build-result.ts";

interface Timed {
	base: number | null;
	change?: number;
	half?: number;
}

function row(
	workload: string,
	shape: number[],
	timed: Timed,
	more: Partial<WorkloadResult> = {},
): WorkloadResult {
	const { base, change = 0, half = 0.005 } = timed;
	const head = (base ?? 1) * (1 + change);
	const levels = base === null ? {} : { base, head };
	const interval = base === null ? null : ([change - half, change + half] as [number, number]);
	const latency = buildComparison({ estimate: base === null ? null : change, interval, ...levels });
	return {
		...{
			id: workload,
			model: "net",
			engine: "plain",
			workload,
			precision: "fp32",
			shapes: { x: shape },
			streams: 1,
		},
		...{ verdict: latency.verdict, latency, p99: latency, memory: latency },
		...{ base: base === null ? null : buildStats(base), head: buildStats(head) },
		...{ noise: { runCv: null, detectable: null }, replaced: 0, runs: [] },
		...more,
	};
}

const none = () => undefined;
const slow = row("one", [1, 3], { base: 1, change: 0.03 });

describe("loadsOf", () => {
	it("a single batch is M/D/1 at shares of the base's capacity, with the interval of the ratio", () => {
		const [load] = loadsOf([slow], none);
		const point = load?.points.find(({ share }) => share === 0.8);
		expect(load?.capacityPerSecond).toBe(1000);
		expect(point?.ratePerSecond).toBeCloseTo(800, 9);
		expect(point?.base?.meanMs).toBeCloseTo(3, 4);
		const tail = (ms: number) => ms * md1(0.8 * ms).quantile(0.99);
		expect(point?.base?.p99Ms).toBeCloseTo(tail(1), 3);
		expect(point?.head?.p99Ms).toBeCloseTo(tail(1.03), 3);
		expect([point?.lowMs, point?.highMs]).toEqual([
			expect.closeTo(tail(1.025), 3),
			expect.closeTo(tail(1.035), 3),
		]);
	});

	it("a head that the base's rate exceeds has no figures", () => {
		const [load] = loadsOf([row("one", [1], { base: 1, change: 0.2 })], none);
		expect(load?.points.at(-1)).toMatchObject({ share: 0.9, head: null, lowMs: null, highMs: null });
	});

	it("workloads that differ in their batch are also a batcher; other sizes, streams and counts are not", () => {
		const eight = row("eight", [8, 3], { base: 2, change: 0.1 });
		const loads = loadsOf([eight, slow], none);
		expect(loads.map(({ workloads, batches }) => [workloads, batches])).toEqual([
			[["eight"], undefined],
			[["one"], undefined],
			[
				["one", "eight"],
				[1, 8],
			],
		]);
		expect(loads[2]?.capacityPerSecond).toBe(4000);
		const point = loads[2]?.points.find(({ share }) => share === 0.8);
		expect(point?.lowMs).toBeLessThan(point?.head?.p99Ms ?? 0);
		expect(point?.highMs).toBeGreaterThan(point?.head?.p99Ms ?? 0);
		const ofSequence = ({ workload }: WorkloadResult) => ({ gates: {}, dims: { seq: workload.length } });
		expect(loadsOf([eight, slow], ofSequence).map(({ batches }) => batches)).toEqual([undefined, undefined]);
		const others = [
			row("long", [1, 9], { base: 1 }),
			row("two", [2, 3], { base: 1 }, { streams: 2 }),
			row("paced", [4, 3], { base: 1 }, { everyMs: 33 }),
			row("counted", [4, 3], { base: 1 }, { work: buildComparison() }),
		];
		expect(loadsOf([slow, ...others], none).map(({ workloads }) => workloads)).toEqual([["one"], ["long"]]);
	});

	it("a batcher takes no more requests at once and waits as long for them as measure.load says", () => {
		const rows = [slow, row("eight", [8, 3], { base: 2 })];
		const at = (batching: { maxBatch?: number; maxDelayMs: number }) => loadsOf(rows, none, batching)[2]!;
		const [plain, late, few] = [
			at({ maxDelayMs: 0 }),
			at({ maxDelayMs: 5 }),
			at({ maxBatch: 4, maxDelayMs: 0 }),
		];
		expect(late).toMatchObject({ maxBatch: 8, maxDelayMs: 5, capacityPerSecond: 4000 });
		const slowest = ({ points }: typeof plain) => points[0]?.base?.p999Ms ?? NaN;
		expect(slowest(late)).toBeGreaterThan(Math.max(5, slowest(plain)));
		expect(few).toMatchObject({ maxBatch: 4, capacityPerSecond: expect.closeTo(4000 / (1 + 3 / 7), 6) });
	});

	it("a size that only the head takes is one of its batcher, which then has no base", () => {
		const rows = [slow, row("eight", [8, 3], { base: 2 }), row("sixteen", [16, 3], { base: null })];
		const loads = loadsOf(rows, none);
		expect(loads.map(({ batches, points }) => [batches, points[0]!.base === null])).toEqual([
			[undefined, false],
			[undefined, false],
			[undefined, true],
			[[1, 8, 16], true],
		]);
		expect(judge("{ p99: 14ms, rate: 2000/s }", rows)).toMatchObject([{ status: "pass", engine: "plain" }]);
	});

	it("a simulated batcher of one waits as long as M/D/1, up to 97 % load", () => {
		const slo = { p99Ms: 1000, ratePerSecond: 970 / 1.03 };
		const rows = [slow, row("eight", [8, 3], { base: 2 })];
		const batching = { maxBatch: 1, maxDelayMs: 0 };
		const batcher = loadsOf(rows, () => ({ gates: { slo }, dims: {} }), batching).at(-1);
		for (const { share, base } of batcher?.points ?? [])
			expect(base!.p99Ms / md1(share).quantile(0.99)).toBeCloseTo(1, 1);
		expect(batcher!.slo!.headMs! / (1.03 * md1(0.97).quantile(0.99))).toBeCloseTo(1, 1);
	});

	it("a batcher whose largest batch is slow has the capacity of that batch: there its queue would grow without end", () => {
		const rows = [slow, row("eight", [8, 3], { base: 2 }), row("nine", [9, 3], { base: 3.6 })];
		const batcher = loadsOf(rows, none).at(-1);
		expect(batcher?.capacityPerSecond).toBeCloseTo(2500, 6);
		expect(batcher?.points.at(-1)?.base?.p99Ms).toBeLessThan(20);
	});

	it("a batcher that waits for requests keeps a limit at high rates that it misses at low ones", () => {
		const rows = [row("one", [1, 3], { base: 10 }), row("eight", [8, 3], { base: 13 })];
		const slo = { p99Ms: 45, ratePerSecond: 280 };
		const batching = { maxBatch: 4, maxDelayMs: 60 };
		const found = loadsOf(rows, () => ({ gates: { slo }, dims: {} }), batching).at(-1)?.slo;
		expect(found?.headMs).toBeLessThan(45);
		expect(found?.mostPerSecond.head).toBeGreaterThan(280);
	});

	it("a new workload has the range of its runs, and shares of its own capacity", () => {
		const run = (medianMs: number) =>
			({ arm: "head", pair: 0, order: 0, state: "ok", wallMs: 1, medianMs }) as const;
		const [load] = loadsOf([row("one", [1], { base: null }, { runs: [run(0.9), run(1.1)] })], none);
		expect(load).toMatchObject({ capacityPerSecond: 1000 });
		expect(load?.points.at(-1)).toMatchObject({ base: null, lowMs: expect.any(Number), highMs: null });
	});
});

function judge(slo: string, rows: WorkloadResult[] = [slow], more = "") {
	const config = buildConfig(`gates: { slo: ${slo}${more} }`);
	const level = config.models[0]!.engines[0]!.workloads[0]!;
	const loads = loadsOf(rows, () => level);
	return rows.flatMap((one) => judgeSlo(one, level, { config, loads, measured: [] }));
}

describe("judgeSlo", () => {
	// At 800 requests a second P99 is 13.3 ms, 12.9 to 13.8.
	it.each([
		["{ p99: 14ms, rate: 800/s }", "pass"],
		["{ p99: 13.5ms, rate: 800 / s }", "inconclusive"],
		["{ p99: 12.5ms, rate: 800/s }", "fail"],
		["{ p99: 10s, rate: 2000/s }", "fail"],
		["{ p99: 0.5ms, rate: 1/s }", "fail"],
	])("%s: %s", (slo, status) => {
		expect(judge(slo)).toMatchObject([{ gate: "slo", workload: "one", status }]);
	});

	it("states the figure, the limit and the rates that both sides keep it at", () => {
		const [load] = loadsOf([slow], () => ({ gates: { slo: { p99Ms: 14, ratePerSecond: 800 } }, dims: {} }));
		const { base, head } = load!.slo!.mostPerSecond;
		expect(md1(base! / 1000).quantile(0.99)).toBeCloseTo(14, 1);
		expect(1.03 * md1((1.03 * head) / 1000).quantile(0.99)).toBeCloseTo(14, 1);
		expect(judge("{ p99: 14ms, rate: 800/s }")[0]?.message).toMatch(
			/^At 800 \/ s: P99 13\.\d+ ms \(12\.\d+ ms to 13\.\d+ ms\); allowed at most 14\.00 ms, which holds up to 80\d\.?\d* \/ s \(base: 83\d\.?\d* \/ s\)\.$/,
		);
	});

	it("batches share one verdict, that of the batcher", () => {
		const rows = [slow, row("eight", [8, 3], { base: 2 })];
		expect(judge("{ p99: 14ms, rate: 1500/s }", rows)).toMatchObject([{ status: "pass", engine: "plain" }]);
		expect(judge("{ p99: 14ms, rate: 1500/s }", rows)[0]?.workload).toBeUndefined();
	});

	it("names the largest batch that measure.load allows", () => {
		const rows = [slow, row("eight", [8, 3], { base: 2 })];
		const config = buildConfig("gates: { slo: { p99: 14ms, rate: 1500/s } }");
		const level = config.models[0]!.engines[0]!.workloads[0]!;
		const loads = loadsOf(rows, () => level, { maxBatch: 4, maxDelayMs: 0 });
		expect(judgeSlo(slow, level, { config, loads, measured: [] })[0]?.message).toContain(
			"in batches of up to 4:",
		);
	});

	it("several streams leave it open, as the gate for open comparisons says", () => {
		const two = row("one", [1], { base: 1 }, { streams: 2 });
		expect(judge("{ p99: 1s, rate: 1/s }", [two])).toMatchObject([{ status: "inconclusive" }]);
		expect(judge("{ p99: 1s, rate: 1/s }", [two], ", inconclusive: fail")).toMatchObject([
			{ status: "fail" },
		]);
	});

	it("a rate of nothing, or a limit without a rate, is refused", () => {
		expect(() => buildConfig("gates: { slo: { p99: 1ms, rate: 0/s } }")).toThrow("more than 0");
		expect(() => buildConfig("gates: { slo: { p99: 1ms } }")).toThrow("rate");
	});
});
