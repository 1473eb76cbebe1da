// How much longer a run takes: from its plan, corrected by what its steps have taken so far.
import type { Arm } from "../schema/result.ts";
import type { BackendKind } from "./estimate.ts";
import type { Plan, PlannedStep } from "./plan.ts";
import { type Duration, roughDuration, type TimeLeft, timeLeftOf } from "./time-left.ts";

/** A finished item of a stage. */
export interface Took {
	kind: string;
	engineId: string;
	/** Of a build. */
	arm?: Arm;
	/** Of a measurement. */
	workloadId?: string;
	ms: number;
}

/** Follows the stages by what they report as progress; times are those of one clock. */
export interface Forecast {
	stage(kind: string, items: number, nowMs: number): void;
	item(label: string, nowMs: number): void;
	/** How much of the current item is done, 0 to 1, and the share of the part that begins; all that is left where it has no equal parts. */
	share(done: { share: number; part?: number | undefined }, nowMs: number): void;
	done(nowMs: number): void;
	left(nowMs: number): TimeLeft;
	took(): Took[];
}

interface Line extends Omit<Took, "ms"> {
	/** As the stage reports it. */
	label: string;
	likelyMs: number;
	isKnown: boolean;
	/** 0: not a guess. */
	spread: number;
	/** Lines that are wrong by the same factor; of both sides where none of its own side is done. */
	groups: readonly string[];
	tookMs?: number;
}

/** Of an engine's layers: 3 s where nothing changed, and 16 s of interleaved profiles where it became slower. */
const explainMs = 8000;

/** Below this share of an item, its own pace says less than the estimate. */
const tellingShare = 0.15;
/** An item, or a part of it, that outlasts its estimate has this share of its time still before it. */
const overdueShare = 0.05;

/** @param soakMs that each engine is under load; 0: none is. */
export function createForecast({ steps }: Pick<Plan, "steps">, backend: BackendKind, soakMs = 0): Forecast {
	let lines = [
		...linesOf(steps),
		...(soakMs > 0 ? onceAnEngine(steps, "soak", soakMs) : []),
		...(backend === "tensorrt" ? onceAnEngine(steps, "explain", explainMs) : []),
	];
	let [at, kind, isOpen, startedMs] = [-1, "", false, 0];
	/** By the item's own pace. */
	let paceMs: number | null = null;
	let running = { share: 0, part: 1, sinceMs: 0 };
	const close = (nowMs: number): void => {
		const line = lines[at];
		if (isOpen && line !== undefined) line.tookMs = nowMs - startedMs;
		isOpen = false;
	};
	const ahead = (fits: (line: Line) => boolean): number => lines.findIndex((line, index) => index > at && line.kind === kind && fits(line));
	return {
		stage(name, items, nowMs) {
			close(nowMs);
			kind = name;
			if (items === 0) lines = lines.filter((line) => line.kind !== name);
			const first = ahead(() => true);
			if (first > at) at = first - 1;
		},
		item(label, nowMs) {
			// Another batch of the same engine.
			if (isOpen && label.startsWith(`${lines[at]?.label} · `)) return;
			close(nowMs);
			const named = ahead((line) => label === line.label || label.startsWith(`${line.label} · `));
			const next = named < 0 ? ahead(() => true) : named;
			if (next < 0) return;
			[at, isOpen, startedMs, paceMs] = [next, true, nowMs, null];
			running = { share: 0, part: 1, sinceMs: nowMs };
		},
		share({ share, part = 1 - share }, nowMs) {
			if (share >= tellingShare) paceMs = (nowMs - startedMs) / share;
			running = { share, part, sinceMs: nowMs };
		},
		done(nowMs) {
			close(nowMs);
			const last = lines.findLastIndex((line) => line.kind === kind);
			at = Math.max(at, last);
		},
		left(nowMs) {
			const line = isOpen ? lines[at] : undefined;
			if (line === undefined) return timeLeftOf(laterDuration(lines, at));
			const lastedMs = nowMs - startedMs;
			const usual = expectedBy(factorsOf(lines))(line, lastedMs);
			const usualMs = paceMs ?? usual.meanMs;
			const { share, part, sinceMs } = running;
			const partMs = Math.max(usualMs * part, (1 + overdueShare) * (nowMs - sinceMs));
			const tookMs = sinceMs - startedMs + (part > 0 ? (partMs * (1 - share)) / part : 0);
			// A part that takes longer than expected raises what is expected of the parts after it, and of items like it.
			const isTelling = paceMs !== null || partMs > usualMs * part;
			const later = laterDuration(isTelling ? lines.with(at, { ...line, tookMs }) : lines, at);
			const varianceMs2 = later.varianceMs2 + (paceMs === null ? usual.varianceMs2 : 0);
			return timeLeftOf({ meanMs: later.meanMs + tookMs - lastedMs, varianceMs2 });
		},
		took: () => lines.flatMap(({ tookMs, ...line }) => (tookMs === undefined ? [] : [{ ...line, ms: tookMs }])),
	};
}

/** A first guess of builds counts as much as so many of them: what one took says little of the next one. */
const guessWeight = 2;

function laterDuration(lines: readonly Line[], at: number): Duration {
	const factors = factorsOf(lines);
	const expected = expectedBy(factors);
	const later = lines.slice(at + 1).map((line) => ({ ...line, ...expected(line) }));
	const guesses = later.filter(({ spread }) => spread > 0);
	const spread = Math.max(0, ...guesses.map((line) => line.spread));
	const [, group = ""] = guesses[0]?.groups ?? [];
	// All guesses may be wrong by the same factor, which is less certain the fewer builds are done.
	const factorVariance = Math.expm1(spread ** 2 / (guessWeight + (factors.get(group)?.count ?? 0)));
	return {
		meanMs: sumOf(later, "meanMs"),
		varianceMs2: sumOf(later, "varianceMs2") + sumOf(guesses, "meanMs") ** 2 * factorVariance,
	};
}

function sumOf<Key extends string>(items: readonly Readonly<Record<Key, number>>[], key: Key): number {
	return items.reduce((sum, item) => sum + item[key], 0);
}

type Factors = ReadonlyMap<string, { factor: number; count: number }>;

function expectedBy(factors: Factors): (line: Line, lastedMs?: number) => Duration {
	return ({ likelyMs, groups, isKnown, spread }, lastedMs) => {
		const learned = groups.map((group) => factors.get(group)).find((found) => found !== undefined);
		const ms = likelyMs * (learned ?? (isKnown ? factors.get("known") : undefined) ?? { factor: 1 }).factor;
		return spread > 0 ? roughDuration(ms, spread, lastedMs) : { meanMs: ms, varianceMs2: 0 };
	};
}

/** What the lines of a group took ÷ what was expected; of all that earlier runs had, `known`: how fast the machine is today. */
function factorsOf(lines: readonly Line[]): Factors {
	const over = lines.flatMap(({ tookMs, ...line }) => (line.likelyMs > 0 && tookMs !== undefined ? [{ ...line, tookMs }] : []));
	const factorOf = (some: typeof over): number => {
		if (some.every(({ spread }) => spread === 0)) return some.length === 0 ? 1 : sumOf(some, "tookMs") / sumOf(some, "likelyMs");
		const logs = some.map(({ tookMs, likelyMs }) => Math.log(Math.max(1, tookMs) / likelyMs));
		return Math.exp(logs.reduce((sum, log) => sum + log, 0) / (logs.length + guessWeight));
	};
	const groups = [...new Set(over.flatMap((line) => line.groups))].map((name) => {
		const some = over.filter((line) => line.groups.includes(name));
		return [name, { factor: factorOf(some), count: some.length }] as const;
	});
	const known = over.filter(({ isKnown }) => isKnown);
	// An engine that the cache had lost says nothing of the machine.
	return new Map([...groups, ["known", { factor: Math.min(2, Math.max(0.5, factorOf(known))), count: known.length }]]);
}

/** The steps of the stages that take long; those of both sides where a stage handles both at once. */
function linesOf(steps: readonly PlannedStep[]): Line[] {
	const lines = new Map<string, Line>();
	for (const step of steps) {
		if (step.kind === "prepare" || step.kind === "preflight") continue;
		const { kind, engineId, likelyMs, isKnown, spread } = step;
		const arm = kind === "build" ? { arm: step.arm } : {};
		const label = kind === "measure" ? step.workloadId : kind === "build" ? `${engineId} (${step.arm})` : engineId;
		const known = lines.get(`${kind} ${label}`);
		const groups = [`${kind} ${arm.arm ?? ""} ${isKnown}`, `${kind} ${isKnown}`];
		const workload = kind === "measure" ? { workloadId: step.workloadId } : {};
		lines.set(`${kind} ${label}`, {
			kind,
			engineId,
			...arm,
			...workload,
			label,
			likelyMs: likelyMs + (known?.likelyMs ?? 0),
			isKnown,
			spread,
			groups,
		});
	}
	return [...lines.values()];
}

/** Of each engine that is timed: which of them became slower is not known before. */
function onceAnEngine(steps: readonly PlannedStep[], kind: string, likelyMs: number): Line[] {
	const timed = new Set(steps.flatMap((step) => (step.kind === "measure" && step.likelyMs > 0 ? [step.engineId] : [])));
	return [...timed].map((engineId) => ({ kind, engineId, label: "", likelyMs, isKnown: false, spread: 0, groups: [kind] }));
}
