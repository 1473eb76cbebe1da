// Prepares each series for the trend page: thinned points, reference, changes, and how surprising its newest level is.
import { groupBy } from "../../../core/group.ts";
import { type Findings, levelNow, type ShiftOf, type WatchedChain } from "../alarms.ts";
import type { Point } from "../points.ts";
import type { Metric, Series } from "../series.ts";

export interface ViewChain {
	changed: readonly string[];
	/** Runs and levels of the drawn points; levels are relative to the newest reference. */
	runs: readonly number[];
	levels: readonly number[];
	joints: readonly number[];
	accepted: readonly (readonly [run: number, reason: string])[];
	sd: number;
}

export interface ViewSeries {
	series: string;
	metric: Metric;
	name: string;
	chains: readonly ViewChain[];
	shifts: readonly ShiftOf[];
	/** Newest level against the reference, and how many times the noise that is. */
	level: number | null;
	surprise: number;
	/** Newest time of the engine in milliseconds, for information only. */
	ns?: number;
}

/** The newest points are drawn one by one, older ones as means. */
const exactPoints = 200;
const olderPoints = 160;

export function viewsOf({ chains, alarms, gains }: Findings): ViewSeries[] {
	const shifts = [...alarms, ...gains].flatMap((alarm) => alarm.shifts);
	const groups = groupBy(chains, ({ chain: { series, metric, name } }) =>
		JSON.stringify([series, metric, name]),
	);
	return [...groups.values()]
		.flatMap((own) => viewOf(own, shifts) ?? [])
		.sort((left, right) => right.surprise - left.surprise);
}

function viewOf(own: readonly WatchedChain[], shifts: readonly ShiftOf[]): ViewSeries | null {
	const newest = own.reduce<WatchedChain | undefined>(
		(last, one) => (lastRun(one) > (last === undefined ? -1 : lastRun(last)) ? one : last),
		undefined,
	);
	if (newest === undefined) return null;
	const { series, metric, name = "" } = newest.chain;
	const reference = newest.watched.references.at(-1);
	const level = levelNow(newest);
	const mine = shifts.filter(({ chain }) => own.some((one) => one.chain === chain));
	const ns = newest.chain.points.at(-1)?.headNs;
	return {
		series,
		metric,
		name,
		shifts: mine,
		level,
		chains: own.map(viewChain),
		surprise: level === null || reference === undefined ? 0 : Math.abs(level) / reference.sd,
		...(ns === undefined || Number.isNaN(ns) ? {} : { ns }),
	};
}

function lastRun({ chain }: WatchedChain): number {
	return chain.points.at(-1)?.run ?? -1;
}

function viewChain({ chain, watched }: WatchedChain): ViewChain {
	const { points } = chain;
	const reference = watched.references.at(-1);
	const base = reference?.level ?? points[0]?.level ?? 0;
	const thin = thinned(points);
	return {
		changed: chain.changed,
		runs: thin.map(({ run }) => run),
		levels: thin.map(({ level }) => level - base),
		joints: chain.joints.map((place) => points[place]?.run ?? 0),
		accepted: [...chain.accepted].map(([place, reason]) => [points[place]?.run ?? 0, reason]),
		sd: reference?.sd ?? 0,
	};
}

function thinned(points: readonly Point[]): Pick<Point, "run" | "level">[] {
	const older = points.slice(0, -exactPoints);
	if (older.length <= olderPoints) return dropEqual(points);
	const size = Math.ceil(older.length / olderPoints);
	const means = Array.from({ length: Math.ceil(older.length / size) }, (_, bucket) => {
		const own = older.slice(bucket * size, (bucket + 1) * size);
		return { run: own.at(-1)?.run ?? 0, level: own.reduce((sum, { level }) => sum + level, 0) / own.length };
	});
	return dropEqual([...means, ...points.slice(-exactPoints)]);
}

/** Sizes stay the same for months, so only the ends of equal neighbours are kept. */
function dropEqual(points: readonly Pick<Point, "run" | "level">[]): Pick<Point, "run" | "level">[] {
	return points.filter(
		(point, at) => point.level !== points[at - 1]?.level || point.level !== points[at + 1]?.level,
	);
}
