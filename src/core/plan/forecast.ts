// How much longer a run takes: from its plan, corrected by what its steps have taken so far.
import type { BackendKind } from "./estimate.ts";
import { expectedBy, factorsOf, type Line, laterDuration, type Rough, type Took } from "./expected.ts";
import type { Plan, PlannedStep } from "./plan.ts";
import { type Duration, roughDuration, type TimeLeft, timeLeftOf } from "./time-left.ts";

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
			[at, isOpen, startedMs] = [next, true, nowMs];
			running = { share: 0, part: 1, sinceMs: nowMs, firstMs: null };
		},
		share({ share, part = 1 - share }, nowMs) {
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
			const usual = expectedBy(factorsOf(lines))(line);
			const whole = underWay({ ...usual, isBuild: line.kind === "build" }, { running, startedMs, nowMs });
			// What is slower than expected raises what is expected of items like it.
			const later = laterDuration(whole.isTelling ? lines.with(at, { ...line, tookMs: whole.meanMs }) : lines, at);
			return timeLeftOf({
				meanMs: later.meanMs + whole.meanMs - (nowMs - startedMs),
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

function underWay(usual: Rough & { isBuild: boolean }, moment: Moment): Duration & { isTelling: boolean } {
	const { medianMs, spread, isBuild } = usual;
	const { running, startedMs, nowMs } = moment;
	// An engine that was to be shared takes no time in the plan.
	const isRough = medianMs > 0 && (spread > 0 || (isBuild && running.share > 0));
	if (!isRough) return evenItem(usual, moment);
	const isTelling = running.share >= tellingShare || nowMs - startedMs > medianMs;
	return { ...roughItem(usual, moment), isTelling };
}

/** Of items whose parts take about the same time each: a part that takes longer than expected raises what is expected of those after it. */
function evenItem({ medianMs }: Rough, { running, startedMs, nowMs }: Moment): Duration & { isTelling: boolean } {
	const { share, part, sinceMs } = running;
	const isPaced = share >= tellingShare;
	const usualMs = isPaced ? (sinceMs - startedMs) / share : medianMs;
	const partMs = Math.max(usualMs * part, (1 + overdueShare) * (nowMs - sinceMs));
	const meanMs = sinceMs - startedMs + (part > 0 ? (partMs * (1 - share)) / part : 0);
	return { meanMs, varianceMs2: 0, isTelling: isPaced || partMs > usualMs * part };
}

/** Spread of what a build takes that was timed before. */
const knownSpread = 0.15;
/** Of what the pace says at its start and at its end; between them it scattered by 0.9, 0.4 half-way and 0.2 in recorded builds. */
const paceSpreads = { early: 0.9, late: 0.15 };

/** Of items whose parts differ: what was expected and the pace, both weighted by how well they tell. */
function roughItem({ medianMs, spread }: Rough, { running, startedMs, nowMs }: Moment): Duration {
	const { share, firstMs } = running;
	const lastedMs = nowMs - startedMs;
	// What lasts longer than expected was expected wrongly, so the pace counts for more.
	const guess = { logMs: Math.log(medianMs), spread: Math.max(spread, knownSpread, Math.log(lastedMs / medianMs)) };
	const paceMs = share > 0 && firstMs !== null ? firstMs - startedMs + (nowMs - firstMs) / share : 0;
	if (paceMs <= 0) return roughDuration(medianMs, Math.max(spread, knownSpread), lastedMs);
	const pace = { logMs: Math.log(paceMs), spread: paceSpreads.early + share * (paceSpreads.late - paceSpreads.early) };
	const weight = guess.spread ** 2 / (guess.spread ** 2 + pace.spread ** 2);
	const bothMs = Math.exp(guess.logMs + weight * (pace.logMs - guess.logMs));
	return roughDuration(bothMs, pace.spread * Math.sqrt(weight), lastedMs);
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
