// What is timed: which sizes of a sweep, where its time jumps and which size counts; and how long runs last.
import type {
	Comparison,
	Result,
	SweepPoint,
	SweepResult,
	WorkloadResult,
} from "../../../generated/result.ts";
import { median, middleMean, sampleMean } from "../stats/quantile.ts";

/** Also the number of compared workloads as which a sweep counts (Bonferroni), so its worst size is one of them. */
export const maxSizes = 9;

export interface Timed {
	size: number;
	base: number | null;
	head: number | null;
}

export interface SizeRange {
	from: number;
	to: number;
	step: number;
}

/** Weight of a width: what two percent of noise may look like. */
const perWidth = 0.05;
/** Less than this share of the time is no cliff. */
const noticeable = 0.25;

/**
 * The next size to time; null: all that are worth it are known. First both ends; then the middle of the interval in which
 * the time rises most above its neighbours' slopes, or the ratio head ÷ base changes most. The last size is the one after the
 * lower end of the highest cliff, because kernels work in tiles: 257 differs from 256.
 */
export function nextSize(points: readonly Timed[], { from, to, step }: SizeRange): number | null {
	const known = new Set(points.map(({ size }) => size));
	const end = [to, from].find((size) => !known.has(size));
	if (end !== undefined || points.length >= maxSizes) return end ?? null;
	const sorted = points.toSorted((a, b) => a.size - b.size);
	const open = intervalsOf(sorted).filter(({ low, high }) => high.size - low.size > step);
	if (points.length === maxSizes - 1) {
		const [highest] = open.toSorted((a, b) => b.rise - a.rise);
		if (highest !== undefined && highest.rise >= noticeable) return highest.low.size + step;
	}
	const [worst] = open.toSorted((a, b) => b.score - a.score);
	return worst === undefined ? null : roundest(worst.low.size, worst.high.size, { from, step });
}

function intervalsOf(points: readonly Timed[]) {
	const rises = { base: risesOf(points, "base"), head: risesOf(points, "head") };
	return points.slice(1).flatMap((high, index) => {
		const low = points[index];
		if (low === undefined) return [];
		const [ofBase = 0, rise = 0] = [rises.base[index], rises.head[index]];
		const ratios = [low, high].map(({ base, head }) => Math.log((head ?? 1) / (base ?? head ?? 1)));
		const turn = Math.abs((ratios[1] ?? 0) - (ratios[0] ?? 0));
		const width = perWidth * Math.log(high.size / low.size);
		return [{ low, high, rise, score: turn + Math.log1p(Math.max(ofBase, rise)) + width }];
	});
}

/** By which share of the lower time each interval rises above its neighbours; a smooth curve has none, whatever its power. */
function risesOf(points: readonly Timed[], arm: "base" | "head") {
	const slopes = points.slice(1).map((high, index) => {
		const low = points[index];
		const rise = Math.abs((high[arm] ?? NaN) - (low?.[arm] ?? NaN));
		return rise / (high.size - (low?.size ?? 0));
	});
	return slopes.map((slope, index) => {
		const [low, high] = [points[index], points[index + 1]];
		const beside = [slopes[index - 1], slopes[index + 1]].filter((one) => one !== undefined && one >= 0);
		if (!low || !high || beside.length === 0 || !(slope >= 0)) return 0;
		const steepest = Math.max(...beside.map((one) => one ?? 0));
		const least = Math.min(low[arm] ?? NaN, high[arm] ?? NaN);
		return Math.max(0, ((slope - steepest) * (high.size - low.size)) / least);
	});
}

/** Of the sizes in the middle half, the one with the most factors of two. */
function roundest(low: number, high: number, { from, step }: Pick<SizeRange, "from" | "step">) {
	const [first, last] = [low + (high - low) / 4, high - (high - low) / 4];
	for (let unit = 2 ** 30; unit > step; unit /= 2) {
		const size = unit * Math.ceil(first / unit);
		if (size <= last && size > low && (size - from) % step === 0) return size;
	}
	return low + step * Math.max(1, Math.floor((high - low) / step / 2));
}

/** Where the head's time rises by a quarter or more beyond what its neighbours' slopes explain; the highest first. */
export function cliffsOf(points: readonly Timed[]) {
	return intervalsOf(points.toSorted((a, b) => a.size - b.size))
		.filter(({ rise, low, high }) => rise >= noticeable && (high.head ?? 0) > (low.head ?? 0))
		.toSorted((a, b) => b.rise - a.rise)
		.map(({ low, high }) => ({
			low: low.size,
			high: high.size,
			head: (high.head ?? NaN) / (low.head ?? NaN),
			base: low.base === null || high.base === null ? null : high.base / low.base,
		}));
}

export function timesOf(points: readonly SweepPoint[]): Timed[] {
	return points.map(({ size, row }) => ({
		size,
		base: row.base?.medianMs ?? null,
		head: row.head?.medianMs ?? null,
	}));
}

export function worstPoint(
	{ points }: SweepResult,
	figure: "latency" | "p99" | "memory",
): SweepPoint | undefined {
	const badness = ({ row }: SweepPoint) => {
		const { verdict, estimate }: Comparison = row[figure];
		return verdict === "not-comparable" ? Infinity : (estimate ?? -Infinity);
	};
	return points.reduce<SweepPoint | undefined>(
		(worst, point) => (worst === undefined || badness(point) > badness(worst) ? point : worst),
		undefined,
	);
}

export function gatedRows({
	workloads,
	sweeps = [],
}: Pick<Result, "workloads" | "sweeps">): WorkloadResult[] {
	const ofSweeps = sweeps.flatMap((sweep) => {
		const [latency, p99, memory] = (["latency", "p99", "memory"] as const).map((figure) =>
			worstPoint(sweep, figure),
		);
		if (!latency || !p99 || !memory) return [];
		return [{ ...latency.row, p99: p99.row.p99, memory: memory.row.memory }];
	});
	return [...workloads, ...ofSweeps];
}

export interface RunLength {
	warmUpMs: number;
	durationMs: number;
}

interface LengthLimits extends RunLength {
	minimalEffect: number;
	streams: number;
}

export const pilotMs = 1000;

const windowMs = 100;
const leastRunLength: RunLength = { warmUpMs: 300, durationMs: 500 };
/** 2 MB at 90 bytes per iteration of trtexec. */
const maxIterations = 20_000;
const leastDurationMs = 300;
/** P99 depends on the slowest hundredth. */
const leastIterations = 300;

/**
 * The longest that either side needs: until a run's median is known to a tenth of the smallest effect that counts. Longer
 * runs scatter no less (bench/price.ts), so further precision comes from more pairs.
 * @param pilots iterations of one run of each side in ms, without warm-up.
 */
export function chooseRunLength(pilots: readonly Float64Array[], limits: LengthLimits): RunLength {
	const wanted = pilots.filter((samples) => samples.length > 0).map((samples) => lengthOf(samples, limits));
	if (wanted.length === 0) return { warmUpMs: limits.warmUpMs, durationMs: limits.durationMs };
	const most = (key: keyof RunLength) =>
		Math.round(Math.min(limits[key], Math.max(...wanted.map((length) => length[key]))));
	return { warmUpMs: most("warmUpMs"), durationMs: most("durationMs") };
}

/** The clocks need the whole warm-up to fall to what the pauses leave of them; P99 needs a hundred inferences. */
export function pacedLength(
	everyMs: number,
	{ warmUpMs, durationMs, timeoutMs }: RunLength & { timeoutMs: number },
): RunLength {
	const most = Math.max(durationMs, timeoutMs / 2);
	return { warmUpMs, durationMs: Math.round(Math.min(most, Math.max(durationMs, 100 * everyMs))) };
}

function lengthOf(samplesMs: Float64Array, { minimalEffect, streams }: LengthLimits) {
	const windows = windowMeans(samplesMs);
	const steadyFrom = steadyWindow(windows);
	const typicalMs = median([...samplesMs]);
	const target = (minimalEffect / 10) * typicalMs;
	const spread = sampleMean(windows.slice(steadyFrom))?.sd ?? 0;
	const byNoiseMs = windowMs * (spread / target) ** 2;
	const durationMs = Math.max(leastRunLength.durationMs, byNoiseMs, leastIterations * typicalMs);
	return {
		// If a pilot never became steady, the warm-up is the longest.
		warmUpMs:
			steadyFrom >= windows.length / 2
				? Number.MAX_VALUE
				: Math.max(leastRunLength.warmUpMs, 1.5 * steadyFrom * windowMs),
		durationMs: Math.max(leastDurationMs, Math.min(durationMs, (maxIterations * typicalMs) / streams)),
	};
}

/** After eight seconds, trtexec's times have steps of 1 µs: medians of a net of 39 µs would jump by 2.5 %. */
function windowMeans(samplesMs: Float64Array) {
	const windows: number[][] = [[]];
	let filledMs = 0;
	for (const sample of samplesMs) {
		if (filledMs >= windowMs) {
			windows.push([]);
			filledMs = 0;
		}
		windows.at(-1)?.push(sample);
		filledMs += sample;
	}
	return windows.map(middleMean);
}

const steadyShare = 0.005;

function steadyWindow(windows: readonly number[]) {
	const later = windows.slice(Math.floor(windows.length / 2));
	const centre = median(later);
	const deviation = median(later.map((value) => Math.abs(value - centre)));
	const allowed = Math.max(steadyShare * centre, 6 * deviation);
	const last = windows.findLastIndex((value) => Math.abs(value - centre) > allowed);
	return last + 1;
}
