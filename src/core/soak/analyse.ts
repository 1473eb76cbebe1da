// What a long load shows that short runs do not: drift, steps, throttling, and how the tail grows.
import { perMedianDeviation } from "../compare/disturbed.ts";
import type { GpuWindow, SoakProcess, SoakResult, SoakSlice } from "../schema/result.ts";
import { median } from "../stats/quantile.ts";
import { spoilingReason } from "../telemetry/reasons.ts";
import type { SoakPoint } from "./points.ts";

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

export type SoakFigures = Omit<SoakResult, "state" | "limits">;

/** Null where there is too little to compare: no point after the first seconds. */
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
			: { slices: [...slices], throttledShare: slices.filter(({ reason }) => reason !== undefined).length / slices.length }),
	};
}

/** What the GPU did in a stretch of the soak. */
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
		const [before, after] = [smooth.slice(edges[index], split), smooth.slice(split, edges[index + 2])].map(median);
		const change = Math.expm1((after ?? 0) - (before ?? 0));
		return Math.abs(change) < leastStep ? [] : [{ atS: points[split]?.atS ?? 0, change }];
	});
}

/** @param sums of the logarithms before each point. */
function* splitsIn(sums: readonly number[], { from, to, sd }: { from: number; to: number; sd: number }): Generator<number> {
	let best = { split: 0, score: 0, change: 0 };
	const mean = (start: number, end: number): number => ((sums[end] ?? 0) - (sums[start] ?? 0)) / (end - start);
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
