// How much of a component's change may be noise: from repeated profiles, and from the components that did not change.
import { median } from "../stats/quantile.ts";
import { tCritical } from "../stats/student-t.ts";
import { meanOf } from "./model.ts";

export interface TimedChange {
	/** Means of single profiles, milliseconds: the n-th of both sides ran one after the other. */
	baseMs: readonly number[];
	headMs: readonly number[];
	/** The same structure and kernels in both engines: what changes here is noise, or the machine. */
	isUnchanged: boolean;
}

export interface Delta {
	ms: number;
	/** Half width of the 95 % interval. */
	halfWidthMs: number;
	/** The part of it that is common to all components: layers of one profile are slow or fast together. */
	sharedMs: number;
	/** Beyond what noise explains, for one of this many components. */
	isSignificant: boolean;
}

export interface Noise {
	deltas: Delta[];
	/** Factor between the sides that all unchanged components share, such as of another clock; 1 where there is none. */
	commonFactor: number;
}

/** Means over fewer layers than needed say nothing better. */
const leastFloorMs = 5e-5;
/** GPU events are stamped every 1.024 µs: the standard deviation of one difference of two times, in milliseconds. */
const tickMs = 4.2e-4;
export const fewUnchanged = 4;
/** Spread of a layer's mean between profiles where nothing else is known. */
const assumedShare = 0.03;
/** Variance of one component's repeats over that of all: by chance beyond it in about one of a hundred, with four profiles. */
const unsteady = 4;

/** `iterations`: of each profile. */
export function judgeDeltas(changes: readonly TimedChange[], iterations = Number.POSITIVE_INFINITY, mayShareFactor = true): Noise {
	const floorMs = Math.max(leastFloorMs, tickMs / Math.sqrt(iterations));
	const commonFactor = mayShareFactor ? factorOf(changes.filter(({ isUnchanged }) => isUnchanged)) : 1;
	const rows = changes.map((change) => {
		const pairs = Math.min(change.baseMs.length, change.headMs.length);
		const differences = Array.from({ length: pairs }, (_, at) => (change.headMs[at] ?? 0) - (change.baseMs[at] ?? 0) * commonFactor);
		const timeMs = (meanOf(change.baseMs) + meanOf(change.headMs)) / 2;
		const ms = meanOf(change.headMs) - meanOf(change.baseMs) * commonFactor;
		return { ...change, ms, timeMs, differences, scale: 1 };
	});
	const typicalMs = median(rows.flatMap(({ timeMs }) => (timeMs > 0 ? [timeMs] : []))) || 1;
	for (const row of rows) row.scale = scaleOf(row.timeMs, typicalMs);
	const pooled = pooledSpread(rows);
	const critical = remembered(tCritical);
	const repeats = rows.reduce((most, { differences }) => Math.max(most, differences.length), 1);
	const shared = sharedShare(rows, repeats);
	const deltas = rows.map((row) => {
		const { sd, df } = spreadOf(row, pooled, floorMs);
		const halfWidth = (tail: number) => (critical(tail, df) * sd) / Math.sqrt(repeats);
		// Many components are looked at: one without a cause in its structure must stand out among all of them, and neighbours in time shift each other.
		const threshold = row.isUnchanged ? 2 * halfWidth(0.05 / Math.max(1, rows.length)) : halfWidth(0.05);
		const isSignificant = Math.abs(row.ms) > Math.max(threshold, 2 * floorMs);
		return { ms: row.ms, halfWidthMs: halfWidth(0.05), sharedMs: shared * row.timeMs, isSignificant };
	});
	return { deltas, commonFactor };
}

/** Of the 95 % interval of a sum: what each scatters by itself, and what all of them share. */
export function halfWidthOfSum(deltas: readonly Delta[]): number {
	const own = Math.sqrt(deltas.reduce((sum, { halfWidthMs }) => sum + halfWidthMs ** 2, 0));
	return deltas.length < 2
		? own
		: Math.hypot(
				own,
				deltas.reduce((sum, { sharedMs }) => sum + sharedMs, 0),
			);
}

/** Half width of the 95 % interval of what all layers of a profile share, of their time; 0 where nothing is repeated. */
function sharedShare(rows: readonly Row[], repeats: number): number {
	const own = rows.filter(({ isUnchanged, differences }) => isUnchanged && differences.length === repeats);
	const timeMs = own.reduce((sum, row) => sum + row.timeMs, 0);
	if (repeats < 2) return own.length < fewUnchanged ? assumedShare : 0;
	if (timeMs <= 0) return 0;
	const shares = Array.from({ length: repeats }, (_, at) => own.reduce((sum, { differences }) => sum + (differences[at] ?? 0), 0) / timeMs);
	return tCritical(0.05, repeats) * Math.sqrt(meanOf(shares.map((share) => share ** 2)) / repeats);
}

/** The few pairs of arguments come again and again. */
function remembered(of: (tail: number, df: number) => number): (tail: number, df: number) => number {
	const known = new Map<string, number>();
	return (tail, df) => {
		const key = `${tail} ${df}`;
		const value = known.get(key) ?? of(tail, df);
		known.set(key, value);
		return value;
	};
}

/** Short components scatter by the root of their time, as sums do, and long ones by a share of it. */
function scaleOf(timeMs: number, typicalMs: number): number {
	const relative = Math.max(timeMs / typicalMs, 1e-2);
	return Math.sqrt((relative + relative ** 2) / 2);
}

interface Row extends TimedChange {
	ms: number;
	timeMs: number;
	differences: readonly number[];
	scale: number;
}

interface Spread {
	/** Of one profile's difference, for a scale of 1. */
	sd: number;
	df: number;
}

/** From single profiles: how far unchanged components lie from no change. From repeated ones: how far repeats lie apart. */
function pooledSpread(rows: readonly Row[]): Spread | null {
	const timed = rows.filter(({ timeMs }) => timeMs > 0);
	const repeated = timed.filter(({ differences }) => differences.length > 1);
	const between = timed
		.filter(({ isUnchanged }) => isUnchanged)
		.map(({ ms, scale, differences }) => (ms / scale) * Math.sqrt(Math.max(1, differences.length)));
	const within = repeated.flatMap(({ differences, ms, scale }) =>
		differences.map((one) => ((one - ms) / scale) * Math.sqrt(differences.length / (differences.length - 1))),
	);
	const robust = (values: readonly number[]) =>
		Math.sqrt(
			0.5 * (1.4826 * median(values.map(Math.abs))) ** 2 +
				0.5 * meanOf(values.map((one) => Math.min(one * one, (6 * median(values.map(Math.abs))) ** 2))),
		);
	const known = [between, within].filter((values) => values.length >= fewUnchanged);
	if (known.length === 0) return null;
	return { sd: Math.max(...known.map(robust)), df: Math.min(30, Math.max(...known.map((values) => values.length)) - 1) };
}

/** A component's own repeats, shrunk towards what all show; alone where they scatter beyond that. */
function spreadOf({ differences, ms, scale, timeMs, isUnchanged }: Row, pooled: Spread | null, floorMs: number): Spread {
	const prior = pooled === null ? { sd: timeMs * assumedShare, df: fewUnchanged } : { sd: pooled.sd * scale, df: pooled.df };
	const squares = differences.reduce((sum, one) => sum + (one - ms) ** 2, 0);
	const df = Math.max(0, differences.length - 1);
	// Some layers alone are unsteady, such as the one that reads the engine's input.
	if (squares > unsteady * df * prior.sd ** 2) return { sd: Math.max(Math.sqrt(squares / df), floorMs), df };
	const own = isUnchanged ? { squares: 0, df: 0 } : { squares, df };
	const variance = (prior.df * prior.sd ** 2 + own.squares) / (prior.df + own.df);
	return { sd: Math.max(Math.sqrt(variance), floorMs), df: prior.df + own.df };
}

/** Enough components, nearly all of them to the same side, by about the same factor. */
function factorOf(unchanged: readonly TimedChange[]): number {
	const ratios = unchanged.flatMap(({ baseMs, headMs }) =>
		meanOf(baseMs) > 1e-3 && meanOf(headMs) > 0 ? [meanOf(headMs) / meanOf(baseMs)] : [],
	);
	if (ratios.length < 8) return 1;
	const middle = median(ratios);
	const spread = 1.4826 * median(ratios.map((ratio) => Math.abs(ratio - middle)));
	const sameSide = ratios.filter((ratio) => (ratio - 1) * (middle - 1) > 0).length;
	return sameSide >= ratios.length * 0.9 && Math.abs(middle - 1) > Math.max(0.005, (3 * spread) / Math.sqrt(ratios.length)) ? middle : 1;
}
