// Groups the shifts of all chains into alarms, each with a start and a cause.
import { groupBy } from "../../core/group.ts";
import { median } from "../../core/stats/quantile.ts";
import type { Point, Run } from "./points.ts";
import type { Chain, Series } from "./series.ts";
import { type Shift, type Watched, watch } from "./watch.ts";

export type Cause = "change" | "host" | "method" | "noise";

export interface ShiftOf {
	chain: Chain;
	shift: Shift;
	start: number;
	foundBy: "structure" | "content" | "method" | "level" | "creep";
	now: number;
	cause: Cause;
	evidence: string;
}

export type Alarm = ReturnType<typeof grouped>[number];

export interface WatchedChain {
	chain: Chain;
	watched: Watched;
}

export type Findings = Readonly<ReturnType<typeof findAlarms>>;

export function findAlarms({ chains: all, runs }: Series) {
	const chains = all.map((chain) => ({ chain, watched: watch(chain, runs) }));
	const shifts = chains.flatMap((one) => one.watched.shifts.map((shift) => explain(one, shift, runs)));
	return {
		chains,
		alarms: grouped(shifts.filter(({ shift }) => shift.direction === "up")),
		gains: grouped(shifts.filter(({ shift }) => shift.direction === "down")),
	};
}

/** Newest first, with their shifts. Steps in the same run share an alarm, even if decided on different nights. */
function grouped(shifts: readonly ShiftOf[]) {
	const surprise = ({ shift }: ShiftOf) => Math.abs(shift.size) / Math.max(1e-9, shift.high - shift.low);
	const byStart = groupBy(shifts, ({ start, foundBy }) => `${start} ${foundBy === "creep"}`);
	const alarms = [...byStart.values()].map((own) => {
		const sorted = own.toSorted((left, right) => surprise(right) - surprise(left));
		const withCause = (wanted: Cause) => sorted.find(({ cause }) => cause === wanted);
		const first = withCause("method") ?? withCause("change") ?? sorted[0];
		return {
			start: own[0]?.start ?? 0,
			shifts: sorted as readonly ShiftOf[],
			raised: Math.min(...own.map(({ chain, shift }) => chain.points[shift.raised]?.run ?? 0)),
			cause: first?.cause ?? ("noise" as const),
			evidence: first?.evidence ?? "",
			isOpen: own.some(({ shift }) => shift.direction === "up" && shift.closed === undefined),
		};
	});
	return alarms.sort((left, right) => right.raised - left.raised);
}

const newestPoints = 3;

export function levelNow({ chain, watched }: WatchedChain): number | null {
	const reference = watched.references.at(-1);
	const newest = chain.points.slice(-newestPoints);
	if (reference === undefined) return null;
	return newest.reduce((sum, { level }) => sum + level, 0) / newest.length - reference.level;
}

/** A history needs some runs before it can raise an alarm. */
export function isWatching({ chains }: Findings): boolean {
	return chains.some((one) => levelNow(one) !== null);
}

function explain(of: WatchedChain, shift: Shift, runs: readonly Run[]) {
	const { chain } = of;
	const { points } = chain;
	const runAt = (place: number) => points[place]?.run ?? 0;
	const shifted = (foundBy: ShiftOf["foundBy"], cause: Cause, evidence: string, place = shift.from) => ({
		...{ chain, shift, start: runAt(place), foundBy, now: levelNow(of) ?? shift.size, cause },
		evidence: cause === "change" ? `measured against the pin in one job; ${evidence}` : evidence,
	});
	const first = Math.max(0, shift.from - 1);
	const during = points.slice(first, shift.raised + 1);
	if (shift.isCreep && during.some(({ made }) => made.content !== points[first]?.made.content)) {
		const evidence = "it moved a little from night to night, and the model or its recipe changed meanwhile";
		return shifted("creep", "change", evidence);
	}
	const otherMade = (key: "structure" | "content") => (place: number) => {
		const left = points[place - 1]?.made[key];
		const right = points[place]?.made[key];
		return left !== undefined && right !== undefined && left !== right;
	};
	const changedMethod = (place: number) => {
		const left = runs[runAt(place - 1)]?.method ?? {};
		const right = runs[runAt(place)]?.method ?? {};
		return [...new Set([...Object.keys(left), ...Object.keys(right)])]
			.filter((key) => left[key] !== right[key])
			.map((key) => `${key}: ${left[key] ?? "none"} → ${right[key] ?? "none"}`)
			.join(", ");
	};
	const structure = likelyChange(shift, otherMade("structure"));
	const content = likelyChange(shift, otherMade("content"));
	const method = likelyChange(shift, (place) => changedMethod(place) !== "");
	const change = structure ?? content;
	if (change !== null && (method === null || change.nats >= method.nats)) {
		const evidence = structure
			? "the layers, precisions or tactics of the engine changed"
			: "the model or its recipe changed, its structure did not";
		return shifted(structure ? "structure" : "content", "change", evidence, change.place);
	}
	if (method !== null) {
		const evidence = `the engine is the same; ${changedMethod(method.place)}`;
		return shifted("method", "method", evidence, method.place);
	}
	const host = pinMove(chain, shift.raised, runs);
	return host === null
		? shifted("level", "noise", "the engine, its model, its recipe and the way of timing are the same")
		: shifted("level", "host", `the engine is the same; the pin's own time moved too: ${host}`);
}

const likelyNats = 3;

function likelyChange({ starts, from }: Shift, differs: (place: number) => boolean) {
	const most = starts.find(({ place }) => place === from)?.nats ?? 0;
	let best: Shift["starts"][number] | null = null;
	for (const one of starts) {
		const isLikely = one.place > 0 && (one.place >= from || one.nats > most - likelyNats);
		if (isLikely && differs(one.place) && (best === null || one.nats > best.nats)) best = one;
	}
	return best;
}

/** On one machine, a pin's time moves by less from night to night. */
const minPinMove = 3e-3;

function pinMove({ points }: Chain, at: number, runs: readonly Run[]) {
	const point = points[at];
	if (point === undefined) return null;
	const isSame = ({ made, run, baseNs }: Point) =>
		made.pin === point.made.pin && runs[run]?.host === runs[point.run]?.host && !Number.isNaN(baseNs);
	const move = Math.log(point.baseNs / median(points.filter(isSame).map(({ baseNs }) => baseNs)));
	if (!(Math.abs(move) >= minPinMove)) return null;
	return `${move > 0 ? "+" : "−"}${(Math.abs(Math.expm1(move)) * 100).toFixed(1)} %`;
}

export function dueForFreshPairs({ runs, chains }: Series): string[] {
	return chains
		.filter((chain) => {
			const newest = chain.points.at(-1);
			const isDue =
				chain.metric === "latency" &&
				!chain.unrepeated &&
				newest?.run === runs.length - 1 &&
				newest.fresh === undefined;
			return isDue && watch(chain, runs).suspects.at(-1) === chain.points.length - 1;
		})
		.map(({ series }) => series);
}
