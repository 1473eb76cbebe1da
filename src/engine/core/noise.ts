// Estimates how much of a component's change may be noise, from repeated profiles and from unchanged components.
import { median, tCritical } from "../../core/stats/quantile.ts";
import type { PartTime } from "./facts.ts";
import { meanOf } from "./model.ts";

export interface TimedChange {
	base: PartTime;
	head: PartTime;
	isUnchanged: boolean;
}

export interface Delta {
	ms: number;
	halfWidthMs: number;
	sharedMs: number;
	isSignificant: boolean;
}

export interface Noise {
	deltas: Delta[];
	commonFactor: number;
}

const leastFloorMs = 5e-5;
/** Of one difference of two times: GPU events are stamped every 1.024 µs. */
const tickMs = 4.2e-4;
export const fewUnchanged = 4;
const enoughUnchanged = 8;
const assumedShare = 0.03;
/** Variance of one's repeats over that of all; by chance larger in one of a hundred, with four profiles. */
const unsteady = 4;

export function judgeDeltas(
	changes: readonly TimedChange[],
	iterations = Infinity,
	mayShareFactor = true,
): Noise {
	const floorMs = Math.max(leastFloorMs, tickMs / Math.sqrt(iterations));
	const unchanged = changes.filter(({ isUnchanged }) => isUnchanged);
	const commonFactor = mayShareFactor ? factorOf(unchanged) : 1;
	const rows = changes.map((change) => rowOf(change, commonFactor));
	const typicalMs = median(rows.flatMap(({ timeMs }) => (timeMs > 0 ? [timeMs] : []))) || 1;
	for (const row of rows) row.scale = scaleOf(row.timeMs, typicalMs);
	const pooled = pooledSpread(rows);
	const isGuess = rows.every(({ repeats }) => repeats < 2) && unchanged.length < fewUnchanged;
	const driftMs = driftOf(rows.filter(({ isUnchanged }) => isUnchanged));
	const deltas = rows.map((row) => {
		const { sd, df } = spreadOf(row, pooled, floorMs);
		const halfWidth = (tail: number) => tCritical(tail, df) * sd;
		// Without a structural cause, a component must stand out among all, and neighbours in time shift each other.
		const threshold = row.isUnchanged ? 2 * halfWidth(0.05 / Math.max(1, rows.length)) : halfWidth(0.05);
		const isSignificant =
			Math.abs(row.ms) > Math.max(threshold, 2 * floorMs) && (!row.isUnchanged || isApart(row, commonFactor));
		const sharedMs = isGuess ? assumedShare * row.timeMs : driftMs * row.launches;
		return { ms: row.ms, halfWidthMs: halfWidth(0.05), sharedMs, isSignificant };
	});
	return { deltas, commonFactor };
}

/** Millions of instructions; less is due to reading the counter. */
const leastCount = 0.001;

export function exactDeltas(changes: readonly TimedChange[]): Noise {
	const differences = changes.map(({ base, head }) => head.ms - base.ms);
	const isSignificant = (ms: number) => Math.abs(ms) >= leastCount;
	const exact = { halfWidthMs: 0, sharedMs: 0 };
	return {
		deltas: differences.map((ms) => ({ ms, ...exact, isSignificant: isSignificant(ms) })),
		commonFactor: 1,
	};
}

function rowOf(change: TimedChange, factor: number) {
	const { base, head } = change;
	const launches = (base.launches + head.launches) / 2;
	return {
		...change,
		launches,
		repeats: Math.min(base.withoutMs.length, head.withoutMs.length),
		ms: head.ms - base.ms * factor,
		timeMs: (base.ms + head.ms) / 2,
		sd: Math.hypot(jackknife(head), factor * jackknife(base)),
		scale: 1,
	};
}

function jackknife({ withoutMs }: PartTime) {
	const middle = meanOf(withoutMs);
	const squares = withoutMs.reduce((sum, ms) => sum + (ms - middle) ** 2, 0);
	return Math.sqrt((squares * Math.max(0, withoutMs.length - 1)) / Math.max(1, withoutMs.length));
}

function isApart({ base, head }: TimedChange, factor: number) {
	const baseMs = base.eachMs.map((ms) => ms * factor);
	return Math.max(...baseMs) < Math.min(...head.eachMs) || Math.max(...head.eachMs) < Math.min(...baseMs);
}

/** Scatter adds in quadrature, what all share in full. */
export function halfWidthOfSum(deltas: readonly Delta[]): number {
	const shared = deltas.length < 2 ? 0 : deltas.reduce((sum, { sharedMs }) => sum + sharedMs, 0);
	return quadrature([shared, ...deltas.map(({ halfWidthMs }) => halfWidthMs)]);
}

export const quadrature = (values: readonly number[]): number =>
	Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0));

/** What all launches of a process share, per launch: by how much the unchanged layers differ together. */
function driftOf(unchanged: readonly Row[]) {
	const launches = unchanged.reduce((sum, row) => sum + row.launches, 0);
	return launches === 0 ? 0 : Math.abs(unchanged.reduce((sum, { ms }) => sum + ms, 0)) / launches;
}

/** Of short components it grows with the root of their time, of long ones in proportion. */
function scaleOf(timeMs: number, typicalMs: number) {
	const relative = Math.max(timeMs / typicalMs, 1e-2);
	return Math.sqrt((relative + relative ** 2) / 2);
}

type Row = ReturnType<typeof rowOf>;

/** The larger of two: unchanged components around no change, and repeats around their mean. */
function pooledSpread(rows: readonly Row[]) {
	const timed = rows.filter(({ timeMs }) => timeMs > 0);
	const between = timed.flatMap(({ isUnchanged, ms, scale }) => (isUnchanged ? [Math.abs(ms / scale)] : []));
	const within = timed.flatMap(({ repeats, sd, scale }) => (repeats > 1 ? [sd / scale] : []));
	const robust = (values: readonly number[]) => {
		const middle = median(values);
		return Math.sqrt(
			0.5 * (1.4826 * middle) ** 2 +
				0.5 * meanOf(values.map((one) => Math.min(one * one, (6 * middle) ** 2))),
		);
	};
	const known = [between, within].filter((values) => values.length >= fewUnchanged);
	if (known.length === 0) return null;
	return {
		sd: Math.max(...known.map(robust)),
		df: Math.min(30, Math.max(...known.map((values) => values.length)) - 1),
	};
}

/** Own repeats, shrunk towards what all show; alone if they scatter beyond that. */
function spreadOf(
	{ repeats, sd, scale, timeMs, isUnchanged }: Row,
	pooled: { sd: number; df: number } | null,
	floorMs: number,
) {
	const prior =
		pooled === null
			? { sd: timeMs * assumedShare, df: fewUnchanged }
			: { sd: pooled.sd * scale, df: pooled.df };
	const df = Math.max(0, repeats - 1);
	// Some layers alone are unsteady, such as the one that reads the engine's input.
	if (df > 0 && sd ** 2 > unsteady * prior.sd ** 2) return { sd: Math.max(sd, floorMs), df };
	const own = isUnchanged ? 0 : df;
	const variance = (prior.df * prior.sd ** 2 + own * sd ** 2) / (prior.df + own);
	return { sd: Math.max(Math.sqrt(variance), floorMs), df: prior.df + own };
}

function factorOf(unchanged: readonly TimedChange[]) {
	const ratios = unchanged.flatMap(({ base, head }) =>
		base.ms > 1e-3 && head.ms > 0 ? [head.ms / base.ms] : [],
	);
	if (ratios.length < enoughUnchanged) return 1;
	const middle = median(ratios);
	const spread = 1.4826 * median(ratios.map((ratio) => Math.abs(ratio - middle)));
	const sameSide = ratios.filter((ratio) => (ratio - 1) * (middle - 1) > 0).length;
	return sameSide >= ratios.length * 0.9 &&
		Math.abs(middle - 1) > Math.max(0.005, (3 * spread) / Math.sqrt(ratios.length))
		? middle
		: 1;
}
