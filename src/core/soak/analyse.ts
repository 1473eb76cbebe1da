// What a long load shows that short runs do not: drift, steps, throttling, and how the tail grows.

import type { GpuWindow, SoakProcess, SoakResult, SoakSlice } from "../../../generated/result.ts";
import { perMedianDeviation } from "../compare/disturbed.ts";
import { middleMean } from "../stats/mean.ts";
import { median, quantile } from "../stats/quantile.ts";
import { spoilingReason } from "../telemetry/window.ts";
import { formatDuration, formatMs, formatPercent } from "../text/units.ts";

export interface SoakPoint {
	atS: number;
	/** Mean of the middle half of the iterations: trtexec's times are 32-bit, so a minute after its start they lie on a grid of 4 µs, as would their median. */
	ms: number;
	p99Ms: number;
}

interface SoakSpan {
	fromS: number;
	timedMs: number;
	everyS: number;
}

/** Each iteration lies where its share of the summed time is: iterations follow each other without a gap. A last stretch shorter than half is left out. */
export function soakPoints(samplesMs: Float64Array, { fromS, timedMs, everyS }: SoakSpan): SoakPoint[] {
	const totalMs = samplesMs.reduce((sum, ms) => sum + ms, 0);
	const perMs = timedMs / 1000 / totalMs / everyS;
	const bins: number[][] = [];
	let passedMs = 0;
	for (const ms of samplesMs) {
		const bin = Math.floor(passedMs * perMs);
		bins[bin] ??= [];
		bins[bin].push(ms);
		passedMs += ms;
	}
	const last = timedMs / 1000 / everyS - (bins.length - 1);
	return (last < 0.5 ? bins.slice(0, -1) : bins).flatMap((own, bin) =>
		own === undefined
			? []
			: [
					{
						atS: fromS + bin * everyS,
						ms: middleMean(own),
						p99Ms: quantile(Float64Array.from(own).sort(), 0.99),
					},
				],
	);
}

/** The stretch in which the gate's own runs would be: warm, and not yet hot. */
const fresh = { fromS: 1, toS: 11 } as const;
/** Levels of processes that differ by less are one level: five times what runs of one engine differ by on a quiet GPU. */
const steadyShare = 0.002;
const steadyDegrees = 1;
const steadyProcesses = 3;

/** Three processes in a row with the same level, and the same temperature where it is known: throttling comes with heat, minutes later. */
export function isSteady(processes: readonly SoakProcess[]): boolean {
	const last = processes.slice(-steadyProcesses);
	if (last.length < steadyProcesses) return false;
	const range = (values: readonly number[]) => Math.max(...values) - Math.min(...values);
	const degrees = last.flatMap(({ temperatureC }) => temperatureC ?? []);
	const levels = last.map(({ ms }) => Math.log(ms));
	return range(levels) <= steadyShare && (degrees.length < last.length || range(degrees) <= steadyDegrees);
}

type SoakFigures = Omit<SoakResult, "state" | "limits">;

export function analyseSoak(
	points: readonly SoakPoint[],
	{ processes, slices }: { processes: readonly SoakProcess[]; slices: readonly SoakSlice[] },
): SoakFigures | null {
	const [first, last] = [points[0], points.at(-1)];
	const levels = points.filter(({ atS }) => atS >= fresh.fromS && atS < fresh.toS).map(({ ms }) => ms);
	if (first === undefined || last === undefined || levels.length === 0) return null;
	const freshMs = median(levels);
	const steadyMs = median(points.slice(Math.floor((2 * points.length) / 3)).map(({ ms }) => ms));
	return {
		seconds: last.atS + (points.length > 1 ? last.atS - (points.at(-2)?.atS ?? 0) : 0),
		coldMs: first.ms,
		freshMs,
		steadyMs,
		drift: steadyMs / freshMs - 1,
		steps: stepsOf(points),
		processes: [...processes],
		points: [...points],
		...(slices.length === 0
			? {}
			: {
					slices: [...slices],
					throttledShare: slices.filter(({ reason }) => reason !== undefined).length / slices.length,
				}),
	};
}

export function soakSlice(atS: number, window: GpuWindow): SoakSlice {
	const reason = spoilingReason(window.throttleReasons);
	const { smClockMhz, temperatureC, powerW } = window;
	return {
		atS,
		...(smClockMhz === null ? {} : { smClockMhz: smClockMhz.mean }),
		...(temperatureC === null ? {} : { temperatureC: temperatureC.mean }),
		...(powerW === null ? {} : { powerW: powerW.mean }),
		...(reason === null ? {} : { reason }),
	};
}

const leastPoints = 5;
/** Smaller ones are no news: processes of one engine differ by up to 0.2 %. */
const leastStep = 0.004;
const leastErrors = 6;
const maxSteps = 20;

/**
 * Where the level changes at once: the best split of a stretch into two levels, again in both halves, as long as the two differ by 0.4 % and
 * by six standard errors (binary segmentation; Scott and Knott, Biometrics 30, 1974). Single slow seconds are filtered out by the median of
 * five points; the noise is that of neighbouring points, which a step does not widen.
 */
function stepsOf(points: readonly SoakPoint[]): SoakResult["steps"] {
	const logs = points.map(({ ms }) => Math.log(ms));
	const smooth = logs.map((_, index) => median(logs.slice(Math.max(0, index - 2), index + 3)));
	const moves = logs.slice(1).map((log, index) => Math.abs(log - (logs[index] ?? 0)));
	const sd = Math.max(1e-4, (perMedianDeviation * median(moves)) / Math.SQRT2);
	let total = 0;
	const sums = [0, ...smooth.map((log) => (total += log))];
	const splits = [...splitsIn(sums, { from: 0, to: smooth.length, sd })].sort((left, right) => left - right);
	const edges = [0, ...splits, smooth.length];
	return splits.slice(0, maxSteps).flatMap((split, index) => {
		const [before, after] = [smooth.slice(edges[index], split), smooth.slice(split, edges[index + 2])].map(
			median,
		);
		const change = Math.expm1((after ?? 0) - (before ?? 0));
		return Math.abs(change) < leastStep ? [] : [{ atS: points[split]?.atS ?? 0, change }];
	});
}

function* splitsIn(
	sums: readonly number[],
	{ from, to, sd }: { from: number; to: number; sd: number },
): Generator<number> {
	let best = { split: 0, score: 0, change: 0 };
	const mean = (start: number, end: number): number =>
		((sums[end] ?? 0) - (sums[start] ?? 0)) / (end - start);
	for (let split = from + leastPoints; split <= to - leastPoints; split += 1) {
		const [left, right] = [split - from, to - split];
		const change = mean(split, to) - mean(from, split);
		const score = (Math.abs(change) / sd) * Math.sqrt((left * right) / (left + right));
		if (score > best.score) best = { split, score, change };
	}
	if (best.score < leastErrors || Math.abs(best.change) < leastStep) return;
	yield best.split;
	yield* splitsIn(sums, { from, to: best.split, sd });
	yield* splitsIn(sums, { from: best.split, to, sd });
}

// A soak in one sentence each: what changed, and what the GPU did.
const ends: Readonly<Record<SoakResult["state"], string>> = {
	steady: "steady",
	"time-up": "not steady when time ran out",
	interrupted: "interrupted",
};

/** `After 6 min of load 1.0 % slower than fresh (0.800 → 0.808 ms), steady; +0.7 % at 13 s; P99 0.81 → 0.83 ms; throttled for 0 % of the time.` */
export function soakText(soak: SoakResult): string {
	const { seconds, drift, freshMs, steadyMs, state, steps, processes, throttledShare } = soak;
	const [first, last] = [processes[0], processes.at(-1)];
	return [
		`After ${formatDuration(seconds * 1000)} of load ${formatPercent(Math.abs(drift))} ${drift < 0 ? "faster" : "slower"} than fresh (${formatMs(freshMs)} → ${formatMs(steadyMs)}), ${ends[state]}`,
		...steps
			.slice(0, 3)
			.map(({ atS, change }) => `${formatPercent(change, { sign: true })} at ${formatDuration(atS * 1000)}`),
		...(steps.length > 3 ? [`${steps.length - 3} more steps`] : []),
		...(first === undefined || last === undefined
			? []
			: [`P99 ${formatMs(first.p99Ms)} → ${formatMs(last.p99Ms)}`]),
		...(throttledShare === undefined ? [] : [`throttled for ${formatPercent(throttledShare)} of the time`]),
	]
		.join("; ")
		.concat(".");
}
