// Judges open-loop runs: what a request waited from when it was due.
import type { Arm, Comparison, MeasuredLoad, MeasuredSide } from "../../../generated/result.ts";
import { type JudgeOptions, judgePairs } from "../compare/verdict.ts";
import { median, quantile, regularisedBeta } from "../stats/quantile.ts";
import { formatLimit, formatMs } from "../text/units.ts";
import { interpolatedMs, simulateBatcher, type TimedBatch } from "./queues.ts";

/** Of one schedule, in ms, with the first items of the case before it as the requests of a batch. */
export interface LoadRequest {
	arrivalsMs: Float64Array;
	/** Inputs whose first size is the batch; none: a request is the whole case. */
	batched: readonly string[];
	/** Smaller batches are padded to it. */
	minBatch: number;
	maxBatch: number;
	maxDelayMs: number;
	/** Whether batches run as CUDA graphs, one for each size. */
	graph: boolean;
}

/** In ms, request by request: the latency from the arrival, and by how much its batch started late. */
export interface LoadRun {
	latencyMs: Float64Array;
	latenessMs: Float64Array;
}

/** Times in ms of two engines in one process, of the first and of the one beside it. */
export interface TogetherRun {
	aloneMs: readonly [Float64Array, Float64Array];
	togetherMs: readonly [Float64Array, Float64Array];
}

/** One process: closed-loop times of each size of batch, and a run at each rate. */
export interface ServedRun {
	arm: Arm;
	pair: number;
	serviceMs: readonly number[];
	atRates: readonly LoadRun[];
	/** At each rate, from these service times: see `expectedP99Ms`. */
	expectedMs: readonly number[];
}

const latenessShare = 0.05;

/** Requests that all arrive at once are a closed loop: batches end one service time apart. */
export function closedLoopMs({ latencyMs }: LoadRun, batch: number): number {
	const ends = latencyMs.filter((_, index) => index % batch === batch - 1);
	return median([...ends.subarray(1)].map((end, index) => end - (ends[index] ?? 0)));
}

function latenessOf({ atRates }: ServedRun) {
	return Math.max(...atRates.map(({ latenessMs }) => quantile(latenessMs.slice().sort(), 0.99)));
}

export function lateReason(run: ServedRun): string | null {
	const [lateMs, serviceMs] = [latenessOf(run), Math.min(...run.serviceMs)];
	if (lateMs <= latenessShare * serviceMs) return null;
	return `requests were sent up to ${formatMs(lateMs)} late (P99), more than ${formatLimit(latenessShare)} of the service time of ${formatMs(serviceMs)}; so late, only an engine that takes ${formatMs(lateMs / latenessShare)} or more could be paced`;
}

/** P99 in ms of a schedule if each batch takes as long as alone; it differs more between schedules than between runs of one. */
export function expectedP99Ms(
	{ arrivalsMs, maxBatch, maxDelayMs }: Pick<LoadRequest, "arrivalsMs" | "maxBatch" | "maxDelayMs">,
	timed: readonly TimedBatch[],
): number {
	const queue = { arrivals: arrivalsMs, maxBatch, maxDelayMs, serviceMs: interpolatedMs(timed) };
	return p99Ms(simulateBatcher(queue));
}

const p99Ms = (latencyMs: Float64Array) => quantile(latencyMs.slice().sort(), 0.99);

type Point = MeasuredLoad["points"][number];

/** @param index of the rate in the runs. */
export function judgePoint(
	at: Pick<Point, "share" | "ratePerSecond">,
	{ runs, index }: { runs: readonly ServedRun[]; index: number },
	options: JudgeOptions,
): Point {
	const of = (arm: Arm) =>
		runs.flatMap((run) => {
			const load = run.atRates[index];
			return run.arm === arm && load !== undefined ? [{ run, load }] : [];
		});
	const [bases, heads] = [of("base"), of("head")];
	const pairs = bases.flatMap((base) => {
		const head = heads.find(({ run }) => run.pair === base.run.pair);
		if (head === undefined) return [];
		const expected = Math.sqrt((base.run.expectedMs[index] ?? 1) * (head.run.expectedMs[index] ?? 1));
		return [{ base: p99Ms(base.load.latencyMs), head: p99Ms(head.load.latencyMs), expected }];
	});
	const comparison: Comparison = judgePairs(pairs, options);
	return { ...at, base: sideOf(bases), head: sideOf(heads), comparison };
}

export function boundsText({ lowMs, highMs }: MeasuredSide["p99"]): string {
	if (highMs === null) return lowMs === null ? "too few requests for bounds" : `at least ${formatMs(lowMs)}`;
	return lowMs === null ? `at most ${formatMs(highMs)}` : `${formatMs(lowMs)} to ${formatMs(highMs)}`;
}

function sideOf(runs: readonly { run: ServedRun; load: LoadRun }[]) {
	if (runs.length === 0) return null;
	const latencies = runs.map(({ load }) => load.latencyMs);
	const sorted = joined(latencies).sort();
	return {
		runs: runs.length,
		requests: sorted.length,
		serviceMs: median(runs.map(({ run }) => run.serviceMs[0] ?? NaN)),
		meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
		p50Ms: quantile(sorted, 0.5),
		p99Ms: quantile(sorted, 0.99),
		maxMs: sorted.at(-1) ?? NaN,
		p99: tailBounds(latencies, 0.99),
		latenessMs: Math.max(...runs.map(({ run }) => latenessOf(run))),
	};
}

/** Of each bound. 459 independent requests are the fewest that bound a P99 from above. */
const tailConfidence = 0.99;
/** Few enough to hold whole busy periods. */
const blocksPerRun = 20;

/**
 * Of the quantile `share` over all runs. Slow requests come in busy periods, so the sample is worth as many independent
 * requests as blocks of it scatter like: its size ÷ the design effect (Korn and Graubard, Survey Methodology 24, 1998).
 */
export function tailBounds(runs: readonly Float64Array[], share: number) {
	const sorted = joined(runs).sort();
	const worth = Math.floor(sorted.length / designEffect(runs, quantile(sorted, share)));
	// The number of requests above the quantile is binomial.
	const atMost = (above: number) =>
		above >= worth ? 1 : regularisedBeta(worth - above, above + 1, { x: share, y: 1 - share });
	const fewest = firstWhere(worth, (above) => atMost(above) > 1 - tailConfidence);
	const most = firstWhere(worth, (above) => atMost(above) >= tailConfidence);
	const withAbove = (count: number) => sorted[sorted.length - 1 - count] ?? null;
	const perWorth = sorted.length / worth;
	return {
		highMs: fewest === 0 ? null : withAbove(Math.floor((fewest - 1) * perWorth)),
		lowMs: most >= worth ? null : withAbove(Math.ceil(most * perWorth)),
	};
}

function joined(runs: readonly Float64Array[]) {
	const all = new Float64Array(runs.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const run of runs) {
		all.set(run, at);
		at += run.length;
	}
	return all;
}

function firstWhere(most: number, holds: (count: number) => boolean) {
	let [low, high] = [0, most];
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		if (holds(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** Variance of the share of requests above `limit` between blocks ÷ that of independent requests; at least 1. */
function designEffect(runs: readonly Float64Array[], limit: number) {
	const blocks = runs.flatMap((run) => {
		const size = Math.ceil(run.length / blocksPerRun);
		return Array.from({ length: Math.floor(run.length / Math.max(1, size)) }, (_, index) => {
			const block = run.subarray(index * size, (index + 1) * size);
			return { size, above: block.reduce((sum, ms) => sum + (ms > limit ? 1 : 0), 0) };
		});
	});
	const size = blocks.reduce((sum, block) => sum + block.size, 0);
	const share = blocks.reduce((sum, block) => sum + block.above, 0) / size;
	if (blocks.length < 2 || !(share > 0)) return 1;
	const squares = blocks.reduce((sum, block) => sum + (block.above - share * block.size) ** 2, 0);
	const between = (squares * blocks.length) / (blocks.length - 1);
	return Math.max(1, between / (size * share * (1 - share)));
}
