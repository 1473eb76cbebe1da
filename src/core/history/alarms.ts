// From the shifts of all chains to alarms: series that step together are one, each has a start and one of four causes.
import { groupBy } from "../group.ts";
import { median } from "../stats/quantile.ts";
import type { Point, Run } from "./points.ts";
import type { Chain, Series } from "./series.ts";
import { type Shift, type Watched, watch } from "./watch.ts";

export type Cause = "change" | "host" | "method" | "noise";

export interface ShiftOf {
	chain: Chain;
	shift: Shift;
	/** Run in which it began, and how that is known. */
	start: number;
	foundBy: "structure" | "content" | "method" | "level" | "creep";
	/** Newest level against the same reference. */
	now: number;
	cause: Cause;
	evidence: string;
}

export interface Alarm {
	/** Run in which it began; in which it was decided first. */
	start: number;
	raised: number;
	cause: Cause;
	evidence: string;
	/** Largest against its noise first. */
	shifts: readonly ShiftOf[];
	isOpen: boolean;
}

export interface WatchedChain {
	chain: Chain;
	watched: Watched;
}

export interface Findings {
	chains: readonly WatchedChain[];
	/** Newest first. */
	alarms: readonly Alarm[];
	/** What improved, in the same form. */
	gains: readonly Alarm[];
	/** Of the control series: the false alarms, and the years that it was watched. */
	control: { alarms: number; years: number };
}

export function findAlarms(series: Series): Findings {
	const chains = series.chains.map((chain) => ({ chain, watched: watch(chain, series.runs) }));
	const shifts = chains.flatMap(({ chain, watched }) =>
		watched.shifts.map((shift) => explain({ chain, watched }, shift, series.runs)),
	);
	const own = shifts.filter(({ chain }) => chain.metric !== "control");
	const controls = chains.filter(({ chain }) => chain.metric === "control");
	return {
		chains,
		alarms: grouped(own.filter(({ shift }) => shift.direction === "up")),
		gains: grouped(own.filter(({ shift }) => shift.direction === "down")),
		control: {
			alarms: controls.reduce((sum, { watched }) => sum + watched.shifts.length, 0),
			years: controls.reduce((sum, { chain }) => sum + yearsOf(chain, series.runs), 0),
		},
	};
}

function yearsOf({ points }: Chain, runs: readonly Run[]): number {
	const [first, last] = [points[0], points.at(-1)].map((point) => runs[point?.run ?? 0]?.day ?? 0);
	return ((last ?? 0) - (first ?? 0)) / 365.25;
}

/** Where one commit moved several series, these are one alarm, also if some were decided a night later. What creeps is no part of a step. */
function grouped(shifts: readonly ShiftOf[]): Alarm[] {
	const byStart = groupBy(shifts, ({ start, foundBy }) => `${start} ${foundBy === "creep"}`);
	const alarms = [...byStart.values()].map((own) => {
		const start = own[0]?.start ?? 0;
		const sorted = [...own].sort((left, right) => surprise(right.shift) - surprise(left.shift));
		// A method touches every engine, also unchanged ones.
		const first =
			sorted.find(({ cause }) => cause === "method") ??
			sorted.find(({ cause }) => cause === "change") ??
			sorted[0];
		return {
			...{ start, shifts: sorted },
			raised: Math.min(...own.map(({ chain, shift }) => chain.points[shift.raised]?.run ?? 0)),
			cause: first?.cause ?? "noise",
			evidence: first?.evidence ?? "",
			isOpen: own.some(({ shift }) => shift.direction === "up" && shift.closed === undefined),
		};
	});
	return alarms.sort((left, right) => right.raised - left.raised);
}

function surprise({ size, low, high }: Shift): number {
	return Math.abs(size) / Math.max(1e-9, high - low);
}

/** Of so many newest points the mean is a series' level now. */
const newestPoints = 3;

export function levelNow({ chain, watched }: WatchedChain): number | null {
	const reference = watched.references.at(-1);
	const newest = chain.points.slice(-newestPoints);
	return reference === undefined
		? null
		: newest.reduce((sum, { level }) => sum + level, 0) / newest.length - reference.level;
}

function explain(of: WatchedChain, shift: Shift, runs: readonly Run[]): ShiftOf {
	const { chain } = of;
	const { points } = chain;
	const before = points[Math.max(0, shift.from - 1)];
	const after = points[shift.raised];
	const at = (place: number): number => points[place]?.run ?? 0;
	const level = {
		chain,
		shift,
		start: at(shift.from),
		foundBy: "level" as const,
		now: levelNow(of) ?? shift.size,
	};
	if (before === undefined || after === undefined)
		return { ...level, cause: "noise", evidence: "there is nothing before it" };
	const during = points.slice(Math.max(0, shift.from - 1), shift.raised + 1);
	if (shift.isCreep && during.some(({ made }) => made.content !== before.made.content)) {
		const evidence =
			"measured against the pin in one job; it moved a little from night to night, and the model or its recipe changed meanwhile";
		return { ...level, foundBy: "creep", cause: "change", evidence };
	}
	const structure = likelyChange(shift, (left, right) =>
		isOther(points[left]?.made.structure, points[right]?.made.structure),
	);
	const content = likelyChange(shift, (left, right) =>
		isOther(points[left]?.made.content, points[right]?.made.content),
	);
	const method = likelyChange(
		shift,
		(left, right) => changedWords(runs[at(left)]?.method, runs[at(right)]?.method).length > 0,
	);
	const change = structure ?? content;
	if (change !== null && (method === null || change.nats >= method.nats)) {
		const what =
			structure === null
				? "the model or its recipe changed, its structure did not"
				: "the layers, precisions or tactics of the engine changed";
		const evidence = `measured against the pin in one job; ${what}`;
		return {
			...level,
			start: at(change.place),
			foundBy: structure === null ? "content" : "structure",
			cause: "change",
			evidence,
		};
	}
	if (method !== null) {
		const fields = changedWords(runs[at(method.place - 1)]?.method, runs[at(method.place)]?.method);
		return {
			...level,
			start: at(method.place),
			foundBy: "method",
			cause: "method",
			evidence: `the engine is the same; ${fields.join(", ")}`,
		};
	}
	const host = pinMove(chain, shift.raised, runs);
	if (host !== null)
		return {
			...level,
			cause: "host",
			evidence: `the engine is the same; the pin's own time moved too: ${host}`,
		};
	return {
		...level,
		cause: "noise",
		evidence: "the engine, its model, its recipe and the way of timing are the same",
	};
}

function isOther(left: string | undefined, right: string | undefined): boolean {
	return left !== undefined && right !== undefined && left !== right;
}

/** Places before the likeliest start explain nothing where they are less likely by a factor of twenty. */
const likelyNats = 3;

/** Of the places at which neighbours differ, the one at which the level most likely stepped. */
function likelyChange(
	{ starts, from }: Shift,
	differs: (left: number, right: number) => boolean,
): Shift["starts"][number] | null {
	const most = starts.find(({ place }) => place === from)?.nats ?? 0;
	const likely = starts.filter(
		({ place, nats }) =>
			place > 0 && (place >= from || nats > most - likelyNats) && differs(place - 1, place),
	);
	return likely.reduce<Shift["starts"][number] | null>(
		(best, one) => (best === null || one.nats > best.nats ? one : best),
		null,
	);
}

function changedWords(
	left: Readonly<Record<string, string>> = {},
	right: Readonly<Record<string, string>> = {},
): string[] {
	const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
	return [...keys].flatMap((key) =>
		left[key] === right[key] ? [] : [`${key}: ${left[key] ?? "none"} → ${right[key] ?? "none"}`],
	);
}

/** A pin moves by less from night to night on one machine. */
const minPinMove = 3e-3;

/** How far the pin's own time is from its median on this machine, in words; null where it did not move. */
function pinMove(chain: Chain, at: number, runs: readonly Run[]): string | null {
	const point = chain.points[at];
	const move = point === undefined ? null : pinDeviation(point, medianTimes(chain, runs), runs);
	if (move === null || Math.abs(move) < minPinMove) return null;
	return `${move > 0 ? "+" : "−"}${(Math.abs(Math.expm1(move)) * 100).toFixed(1)} %`;
}

/** Medians of the pin's own time, by pin and machine. */
function medianTimes({ points }: Chain, runs: readonly Run[]): Map<string, number> {
	const byHost = groupBy(
		points.filter(({ baseNs }) => !Number.isNaN(baseNs)),
		(point) => hostKey(point, runs),
	);
	return new Map([...byHost].map(([key, own]) => [key, median(own.map(({ baseNs }) => baseNs))]));
}

function hostKey({ made, run }: Point, runs: readonly Run[]): string {
	return `${made.pin}\n${runs[run]?.host ?? ""}`;
}

function pinDeviation(
	point: Point,
	medians: ReadonlyMap<string, number>,
	runs: readonly Run[],
): number | null {
	const usual = medians.get(hostKey(point, runs));
	return usual === undefined || Number.isNaN(point.baseNs) ? null : Math.log(point.baseNs / usual);
}

/** Chains whose newest point stood out and was not measured again yet: only fresh pairs decide. */
export function dueForFreshPairs({ runs, chains }: Series): string[] {
	return chains.flatMap((chain) => {
		const last = chain.points.length - 1;
		if (
			chain.metric !== "latency" ||
			chain.points[last]?.run !== runs.length - 1 ||
			chain.points[last]?.fresh !== undefined
		)
			return [];
		return watch(chain, runs).suspects.at(-1) === last ? [chain.series] : [];
	});
}
