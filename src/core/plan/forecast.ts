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
	/** Of a build: another precision of the same model takes longer for the same reasons. */
	model: string;
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
	let running: Running = { share: 0, part: 1, sinceMs: 0, firstMs: null };
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
			running = { share: 0, part: 1, sinceMs: nowMs, firstMs: null };
		},
		share({ share, part = 1 - share }, nowMs) {
			if (share >= tellingShare) paceMs = (nowMs - startedMs) / share;
			running = { share, part, sinceMs: nowMs, firstMs: running.firstMs ?? nowMs };
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
			const usual = expectedBy(factorsOf(lines))(line);
			// An engine that was to be shared takes no time in the plan.
			const isRough = usual.medianMs > 0 && (usual.spread > 0 || (line.kind === "build" && running.share > 0));
			const whole = isRough
				? roughItem(usual, { running, startedMs, nowMs })
				: evenItem(paceMs ?? usual.medianMs, { running, startedMs, nowMs });
			// A part that takes longer than expected raises what is expected of the parts after it, and of items like it.
			const isTelling = isRough ? running.share >= tellingShare : paceMs !== null || whole.isLate;
			const later = laterDuration(isTelling ? lines.with(at, { ...line, tookMs: whole.meanMs }) : lines, at);
			return timeLeftOf({
				meanMs: later.meanMs + whole.meanMs - lastedMs,
				varianceMs2: later.varianceMs2 + whole.varianceMs2,
			});
		},
		took: () => lines.flatMap(({ tookMs, ...line }) => (tookMs === undefined ? [] : [{ ...line, ms: tookMs }])),
	};
}

/** Of an item that is under way. */
interface Running {
	share: number;
	part: number;
	/** When the part began. */
	sinceMs: number;
	/** When a share was first told: a build starts up before. */
	firstMs: number | null;
}

interface Moment {
	running: Running;
	startedMs: number;
	nowMs: number;
}

/** Of items whose parts take about the same time each. */
function evenItem(usualMs: number, { running, startedMs, nowMs }: Moment): Duration & { isLate: boolean } {
	const { share, part, sinceMs } = running;
	const partMs = Math.max(usualMs * part, (1 + overdueShare) * (nowMs - sinceMs));
	const meanMs = sinceMs - startedMs + (part > 0 ? (partMs * (1 - share)) / part : 0);
	return { meanMs, varianceMs2: 0, isLate: partMs > usualMs * part };
}

/** Spread of what a build takes that was timed before. */
const knownSpread = 0.15;
/** Of what the pace says at its start and at its end: recorded builds are off by 0.9 early, 0.4 half-way and 0.2 near the end. */
const paceSpreads = { early: 0.9, late: 0.15 };

/** Of items whose parts differ: what was expected and the pace, both weighted by how well they tell. */
function roughItem({ medianMs, spread }: Rough, { running, startedMs, nowMs }: Moment): Duration & { isLate: boolean } {
	const { share, firstMs } = running;
	const lastedMs = nowMs - startedMs;
	// What lasts longer than expected was expected wrongly.
	const guess = { logMs: Math.log(medianMs), spread: Math.max(spread, knownSpread, Math.log(lastedMs / medianMs)) };
	const paceMs = share > 0 && firstMs !== null ? firstMs - startedMs + (nowMs - firstMs) / share : 0;
	if (paceMs <= 0) return { ...roughDuration(medianMs, guess.spread, lastedMs), isLate: false };
	const pace = { logMs: Math.log(paceMs), spread: paceSpreads.early + share * (paceSpreads.late - paceSpreads.early) };
	const weight = guess.spread ** 2 / (guess.spread ** 2 + pace.spread ** 2);
	const bothMs = Math.exp(guess.logMs + weight * (pace.logMs - guess.logMs));
	return { ...roughDuration(bothMs, pace.spread * Math.sqrt(weight), lastedMs), isLate: false };
}

/** First guesses count as much as so many builds: of what all builds share, and of what those of one model do. */
const guessWeights = { all: 1.5, model: 1 };
/** How much of the spread is left where the same model was built for another precision. */
const seenSpread = 0.6;

function laterDuration(lines: readonly Line[], at: number): Duration {
	const factors = factorsOf(lines);
	const expected = expectedBy(factors);
	const later = lines.slice(at + 1).map((line) => ({ ...line, ...durationOf(expected(line)) }));
	const guesses = later.filter(({ spread }) => spread > 0);
	const spread = Math.max(0, ...guesses.map((line) => line.spread));
	const [, group = ""] = guesses[0]?.groups ?? [];
	// All guesses may be wrong by the same factor, which is less certain the fewer builds are done.
	const factorVariance = Math.expm1(spread ** 2 / (guessWeights.all + (factors.get(group)?.count ?? 0)));
	return {
		meanMs: sumOf(later, "meanMs"),
		varianceMs2: sumOf(later, "varianceMs2") + sumOf(guesses, "meanMs") ** 2 * factorVariance,
	};
}

function sumOf<Key extends string>(items: readonly Readonly<Record<Key, number>>[], key: Key): number {
	return items.reduce((sum, item) => sum + item[key], 0);
}

/** What something takes: the spread is the standard deviation of its logarithm, 0 where it is known. */
interface Rough {
	medianMs: number;
	spread: number;
}

function durationOf({ medianMs, spread }: Rough): Duration {
	return spread > 0 ? roughDuration(medianMs, spread) : { meanMs: medianMs, varianceMs2: 0 };
}

type Factors = ReadonlyMap<string, { factor: number; count: number }>;

const modelGroup = ({ groups: [group = ""], model }: Line): string => `${group} of ${model}`;

function expectedBy(factors: Factors): (line: Line) => Rough {
	return (line) => {
		const learned = line.groups.map((group) => factors.get(group)).find((found) => found !== undefined);
		const { factor } = learned ?? (line.isKnown ? factors.get("known") : undefined) ?? { factor: 1 };
		const seen = line.spread > 0 ? factors.get(modelGroup(line)) : undefined;
		return { medianMs: line.likelyMs * factor * (seen?.factor ?? 1), spread: line.spread * (seen === undefined ? 1 : seenSpread) };
	};
}

/** What the lines of a group took ÷ what was expected; of all that earlier runs had, `known`: how fast the machine is today. */
function factorsOf(lines: readonly Line[]): Factors {
	const over = lines.flatMap(({ tookMs, ...line }) => (line.likelyMs > 0 && tookMs !== undefined ? [{ ...line, tookMs }] : []));
	const factorOf = (some: typeof over): number => {
		if (some.every(({ spread }) => spread === 0)) return some.length === 0 ? 1 : sumOf(some, "tookMs") / sumOf(some, "likelyMs");
		return Math.exp(sumOf(some.map(logOf), "log") / (some.length + guessWeights.all));
	};
	const groups = [...new Set(over.flatMap((line) => line.groups))].map((name) => {
		const some = over.filter((line) => line.groups.includes(name));
		return [name, { factor: factorOf(some), count: some.length }] as const;
	});
	const shared = new Map(groups);
	const guesses = over.filter(({ spread }) => spread > 0);
	const models = [...new Set(guesses.map(modelGroup))].map((name) => {
		const some = guesses.filter((line) => modelGroup(line) === name);
		const own = sumOf(some.map(logOf), "log") - some.length * Math.log(shared.get(some[0]?.groups[0] ?? "")?.factor ?? 1);
		return [name, { factor: Math.exp(own / (some.length + guessWeights.model)), count: some.length }] as const;
	});
	const known = over.filter(({ isKnown }) => isKnown);
	// An engine that the cache had lost says nothing of the machine.
	return new Map([...groups, ...models, ["known", { factor: Math.min(2, Math.max(0.5, factorOf(known))), count: known.length }]]);
}

function logOf({ tookMs, likelyMs }: { tookMs: number; likelyMs: number }): { log: number } {
	return { log: Math.log(Math.max(1, tookMs) / likelyMs) };
}

const modelOf = (engineId: string): string => engineId.split("/", 1)[0] ?? "";

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
			model: modelOf(engineId),
		});
	}
	return [...lines.values()];
}

/** Of each engine that is timed: which of them became slower is not known before. */
function onceAnEngine(steps: readonly PlannedStep[], kind: string, likelyMs: number): Line[] {
	const timed = new Set(steps.flatMap((step) => (step.kind === "measure" && step.likelyMs > 0 ? [step.engineId] : [])));
	return [...timed].map((engineId) => ({ kind, engineId, label: "", likelyMs, isKnown: false, spread: 0, groups: [kind], model: "" }));
}
