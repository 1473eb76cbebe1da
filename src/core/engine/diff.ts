// Compares two engines by ONNX nodes: what changed, by how much beyond the noise, why, and what the rest adds up to.

import type { EngineDiff, EnginePart, EngineRow, LayerUnitName } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { alikeDetail } from "./alike-detail.ts";
import { causesOf, precisionChange, settingChange } from "./causes.ts";
import { aroundOf, type Changed } from "./changed.ts";
import { type Component, componentsOf, type Engines, groupLabel } from "./components.ts";
import { factsOf, isSameStructure, type PartFacts, timeOf } from "./facts.ts";
import { graphOf } from "./graph.ts";
import { layerLabel, operationClass } from "./match.ts";
import { meanOf, undelayed } from "./model.ts";
import {
	type Delta,
	exactDeltas,
	halfWidthOfSum,
	judgeDeltas,
	type Noise,
	quadrature,
	type TimedChange,
} from "./noise.ts";
import { partOf, summaryOf } from "./part.ts";
import { criticalWarnings } from "./warnings.ts";

export interface Surroundings {
	gpu: string | null;
	/** What one inference of each whole engine takes in timed runs, milliseconds. */
	enginesMs: { base: number; head: number } | null;
	unit?: LayerUnitName | undefined;
}

interface Judged extends Changed {
	delta: Delta;
	isChanged: boolean;
	isSameStructure: boolean;
}

const maxRows = 500;
const maxMembers = 2000;
const enoughProfiles = 3;
const mostShift = 0.15;

export function diffEngines(given: Engines, around: Surroundings): EngineDiff {
	const engines = alikeDetail(given);
	const overheadMs = profilerOverhead(engines, around.enginesMs);
	const { groups, noise, isTimed } = judge(engines, overheadMs, around);
	const changed = groups.filter(({ isChanged, delta }) => isChanged || delta.isSignificant);
	const rows = foldRows(changed, groups, { isTimed, gpu: around.gpu, advises: around.unit === undefined });
	const graph = graphOf(groups, engines);
	return {
		unit: around.unit,
		base: summaryOf(given.base),
		head: summaryOf(given.head),
		isSameStructure: groups.every(({ isSameStructure }) => isSameStructure),
		isSameTactics: groups.every(({ isChanged }) => !isChanged),
		rows: rows.slice(0, maxRows),
		hidden: Math.max(0, rows.length - maxRows),
		unchanged: unchangedOf(groups, isTimed),
		account: isTimed ? accountOf(groups, noise, { ...around, engines, overheadMs }) : null,
		warnings: around.unit === undefined ? criticalWarnings(engines, rows).map(({ text }) => text) : [],
		...(graph === null ? {} : { graph }),
	};
}

/**
 * The profiler waits for each layer: their sum is longer than the engine's own time, by about the same for every layer.
 * At most what the shortest layers take.
 */
function profilerOverhead(engines: Engines, enginesMs: Surroundings["enginesMs"]): number {
	if (enginesMs === null) return 0;
	const perLayer = (["base", "head"] as const).map((arm) => {
		const times = engines[arm].layers.map(({ timesMs }) => undelayed(timesMs)).filter((ms) => ms > 0);
		const shortest = times.sort((a, b) => a - b)[Math.floor(times.length / 10)] ?? 0;
		const totalMs = times.reduce((added, ms) => added + ms, 0);
		return Math.min(shortest, Math.max(0, (totalMs - enginesMs[arm]) / Math.max(1, times.length)));
	});
	return meanOf(perLayer);
}

function judge(
	engines: Engines,
	overheadMs: number,
	{ enginesMs, unit }: Surroundings,
): { groups: Judged[]; noise: Noise; isTimed: boolean } {
	const found = componentsOf(engines).map((component) => ({
		component,
		base: factsOf(component.base, engines.base.profiles, overheadMs),
		head: factsOf(component.head, engines.head.profiles, overheadMs),
	}));
	const working = found.filter((one) =>
		[one.base, one.head].some((part) => part.kernels.length + part.reformats.length > 0 || timeOf(part) > 0),
	);
	const commonPrecision = commonChange(working);
	const isTimed = engines.base.profiles > 0 && engines.head.profiles > 0;
	const around = aroundOf(engines);
	const compared = working.map((one) => ({ ...one, around, commonPrecision, ...sameness(one) }));
	const changes = compared.map(({ base, head, isChanged }) => ({
		base: base.time,
		head: head.time,
		isUnchanged: !isChanged,
	}));
	const iterations = Math.min(engines.base.iterations, engines.head.iterations);
	const free = judgeDeltas(changes, iterations);
	const usual = isFactorInRuns(free, changes, enginesMs) ? free : judgeDeltas(changes, iterations, false);
	// Equal names hide other precisions: what is far beyond a clock is no shift of the machine.
	const isOther = engines.base.detail === "names" && Math.abs(free.commonFactor - 1) > mostShift;
	const others = changes.map((change) => ({ ...change, isUnchanged: false }));
	const noise = unit !== undefined ? exactDeltas(changes) : isOther ? judgeDeltas(others, iterations) : usual;
	const isRepeated =
		unit !== undefined || Math.min(engines.base.profiles, engines.head.profiles) >= enoughProfiles;
	const groups = compared.map((one, at) => {
		const delta = noise.deltas[at] ?? { ms: 0, halfWidthMs: 0, sharedMs: 0, isSignificant: false };
		const isChanged = one.isChanged || isOther;
		return {
			...one,
			isChanged,
			delta: { ...delta, isSignificant: isTimed && delta.isSignificant && (isChanged || isRepeated) },
		};
	});
	return { groups, noise, isTimed };
}

/** Launching layers under the profiler is slower in some processes than in others; another clock shows in the timed runs as well. */
function isFactorInRuns(
	{ commonFactor, deltas }: Noise,
	changes: readonly TimedChange[],
	enginesMs: Surroundings["enginesMs"],
): boolean {
	if (enginesMs === null) return true;
	const changedMs = deltas.reduce(
		(total, { ms }, at) => total + (changes[at]?.isUnchanged === true ? 0 : ms),
		0,
	);
	const leftMs = enginesMs.head - enginesMs.base - changedMs;
	return Math.abs(leftMs - (commonFactor - 1) * enginesMs.base) <= Math.abs(leftMs);
}

function sameness({
	component: { tier },
	base,
	head,
}: {
	component: Component;
	base: PartFacts;
	head: PartFacts;
}) {
	const hasTwo = tier !== "none";
	const isSame = hasTwo && isSameStructure(base, head);
	return {
		isSameStructure: isSame,
		isChanged: !isSame || base.tactics !== head.tactics || base.layouts !== head.layouts,
	};
}

/** One precision change that half of the groups share is a setting of the whole build. */
function commonChange(groups: readonly { base: PartFacts; head: PartFacts }[]): string | null {
	const both = groups.filter(({ base, head }) => base.kernels.length > 0 && head.kernels.length > 0);
	const largest = [...groupBy(both, settingChange)].find(
		([change, own]) => change !== null && own.length * 2 >= both.length,
	);
	return largest?.[0] ?? null;
}

const formerShape = ({ component, base }: Changed): string =>
	component.base.map(layerLabel).sort().join() + base.precisions.join();

interface RowContext {
	isTimed: boolean;
	gpu: string | null;
	advises: boolean;
}

function foldRows(changed: readonly Judged[], all: readonly Judged[], context: RowContext): EngineRow[] {
	const before = groupBy(all, formerShape);
	const causes = new Map(changed.map((one) => [one, causesOf(one)]));
	const isCommon = (one: Judged): boolean =>
		settingChange(one) === one.commonPrecision &&
		(causes.get(one) ?? []).every(({ kind }) => kind === "precision");
	const key = (one: Judged): string => {
		const kinds = (causes.get(one) ?? []).map(({ kind }) => kind);
		const work = isCommon(one)
			? []
			: [...one.component.head, ...one.component.base].map(operationClass).sort();
		const counts = isCommon(one)
			? []
			: [one.base, one.head].map(({ kernels, reformats }) => [kernels.length, reformats.length]);
		return JSON.stringify([
			kinds,
			isCommon(one) ? settingChange(one) : precisionChange(one),
			counts,
			work,
			one.component.tier,
			one.delta.isSignificant && Math.sign(one.delta.ms),
		]);
	};
	const rows = [...groupBy(changed, key).values()].map((group) => {
		const first = group.reduce((largest, one) =>
			Math.abs(one.delta.ms) > Math.abs(largest.delta.ms) ? one : largest,
		);
		const inBase = isCommon(first) ? all.length : (before.get(formerShape(first))?.length ?? 0);
		const of = Math.max(first.component.base.length === 0 ? 0 : inBase, group.length);
		return rowOf(group, { first, of, causes: causes.get(first) ?? [] }, context);
	});
	const weight = ({ isSignificant, changeMs }: EngineRow): number =>
		isSignificant ? Math.abs(changeMs ?? 0) : 0;
	const moved = ({ base, head }: EngineRow): number => Math.abs((head?.bytes ?? 0) - (base?.bytes ?? 0));
	return rows.sort((a, b) => weight(b) - weight(a) || moved(b) - moved(a));
}

function rowOf(
	group: readonly Judged[],
	{ first, of, causes }: { first: Judged; of: number; causes: EngineRow["causes"] },
	{ isTimed, gpu, advises }: RowContext,
): EngineRow {
	return {
		label: groupLabel(first.component),
		members: group.slice(0, maxMembers).map(({ component }) => groupLabel(component)),
		of,
		base: partIn(group, "base", gpu),
		head: partIn(group, "head", gpu),
		changeMs: isTimed ? sum(group, ({ delta }) => delta.ms) : null,
		halfWidthMs: isTimed ? halfWidthOf(group) : null,
		isSignificant: first.delta.isSignificant,
		causes: advises ? causes : causes.map(({ try: _, ...cause }) => cause),
		tier: first.component.tier,
		confidence: Math.min(...group.map(({ component }) => component.confidence)),
	};
}

const halfWidthOf = (group: readonly Judged[]): number => halfWidthOfSum(group.map(({ delta }) => delta));
const sum = (group: readonly Judged[], of: (one: Judged) => number): number =>
	group.reduce((total, one) => total + of(one), 0);

function partIn(group: readonly Judged[], arm: "base" | "head", gpu: string | null): EnginePart | null {
	const layers = group.flatMap(({ component }) => component[arm]);
	return layers.length === 0
		? null
		: partOf(
				group.map((one) => one[arm]),
				layers,
				gpu,
			);
}

function unchangedOf(groups: readonly Judged[], isTimed: boolean): EngineDiff["unchanged"] {
	const own = groups.filter(({ isChanged }) => !isChanged);
	const timed = { changeMs: sum(own, ({ delta }) => delta.ms), halfWidthMs: halfWidthOf(own) };
	return {
		groups: own.length,
		of: groups.length,
		...(isTimed ? timed : { changeMs: null, halfWidthMs: null }),
	};
}

/** How far what a changed group takes alone may be from what it takes inside the engine, of its time: 95 % of built engines. */
const aloneError = 0.15;

interface Accounted extends Surroundings {
	engines: Engines;
	overheadMs: number;
}

function accountOf(
	groups: readonly Judged[],
	noise: Noise,
	{ enginesMs, engines, overheadMs }: Accounted,
): EngineDiff["account"] {
	// To leave out what is within the noise by itself would favour changes that chance makes larger.
	const attributed = groups.filter(({ isChanged, delta }) => isChanged || delta.isSignificant);
	const rest = groups.filter(({ isChanged, delta }) => !isChanged && !delta.isSignificant);
	const measured =
		enginesMs === null
			? sum(groups, ({ head, base }) => timeOf(head) - timeOf(base))
			: enginesMs.head - enginesMs.base;
	const attributedMs = sum(attributed, ({ delta }) => delta.ms);
	return {
		baseMs: enginesMs?.base ?? sum(groups, ({ base }) => timeOf(base)),
		measuredMs: measured,
		from: enginesMs === null ? "profiles" : "runs",
		attributedMs,
		halfWidthMs: quadrature([
			halfWidthOf(attributed),
			...attributed.map(({ base, head }) =>
				enginesMs === null ? 0 : aloneError * Math.max(timeOf(base), timeOf(head)),
			),
		]),
		restMs: measured - attributedMs,
		largestRestMs: rest.reduce((most, { delta }) => Math.max(most, Math.abs(delta.ms)), 0),
		profiles: Math.min(engines.base.profiles, engines.head.profiles),
		commonFactor: noise.commonFactor,
		overheadMs,
	};
}
