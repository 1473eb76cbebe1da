// Compares two engines by ONNX nodes.

import type { EngineDiff, EngineRow, LayerUnitName } from "../../../generated/result.ts";
import { groupBy } from "../../core/group.ts";
import { causesOf, precisionChange, settingChange } from "./causes.ts";
import { aroundOf, type Judged } from "./changed.ts";
import { type Arm, type Component, componentsOf, type Engines, groupLabel } from "./components.ts";
import { editText } from "./edits.ts";
import { factsOf, isSameStructure, type PartFacts, partOf, summaryOf } from "./facts.ts";
import { graphOf } from "./graph.ts";
import { layerLabel, operationClass } from "./match.ts";
import { type EngineModel, type ModelLayer, meanOf, nameOnly, undelayed } from "./model.ts";
import {
	exactDeltas,
	halfWidthOfSum,
	judgeDeltas,
	type Noise,
	quadrature,
	type TimedChange,
} from "./noise.ts";
import { criticalWarnings } from "./warnings.ts";

interface Surroundings {
	gpu: string | null;
	enginesMs: { base: number; head: number } | null;
	unit?: LayerUnitName;
	/** Both engines are of the same file: nothing in the model changed, whatever nodes the layers name. */
	isSameModel?: boolean;
	isUpgrade?: boolean;
}

const maxRows = 500;
const maxMembers = 2000;
const enoughProfiles = 3;
const mostShift = 0.15;
/** 95 % of the times of groups alone are within this share of their time inside a built engine. */
const aloneError = 0.15;

const isShown = ({ isChanged, delta }: Judged) => isChanged || delta.isSignificant;
const sum = (groups: readonly Judged[], of: (one: Judged) => number) =>
	groups.reduce((total, one) => total + of(one), 0);
const halfWidthOf = (groups: readonly Judged[]) => halfWidthOfSum(groups.map(({ delta }) => delta));

export function diffEngines(given: Engines, around: Surroundings): EngineDiff {
	const engines = withEqualDetail(given);
	const overheadMs = profilerOverhead(engines, around.enginesMs);
	const { groups, noise } = judge(engines, overheadMs, around);
	const isTimed = engines.base.profiles > 0 && engines.head.profiles > 0;
	const rows = foldRows(groups, { isTimed, gpu: around.gpu, advises: around.unit === undefined });
	const unchanged = groups.filter(({ isChanged }) => !isChanged);
	const graph = graphOf(groups, engines);
	const account = isTimed ? accountOf(groups, noise, { ...around, engines, overheadMs }) : null;
	const measuredMs = account?.measuredMs ?? 0;
	const explaining = groups.filter(({ delta }) => delta.isSignificant && delta.ms * measuredMs > 0);
	const edit = around.isSameModel === true ? null : editText(engines, explaining, measuredMs);
	return {
		unit: around.unit,
		base: summaryOf(given.base),
		head: summaryOf(given.head),
		isSameStructure: groups.every((group) => group.isSameStructure),
		isSameTactics: groups.every(({ isChanged }) => !isChanged),
		rows: rows.slice(0, maxRows),
		hidden: Math.max(0, rows.length - maxRows),
		unchanged: {
			groups: unchanged.length,
			of: groups.length,
			changeMs: isTimed ? sum(unchanged, ({ delta }) => delta.ms) : null,
			halfWidthMs: isTimed ? halfWidthOf(unchanged) : null,
		},
		account,
		...(edit === null ? {} : { edit }),
		warnings: around.unit === undefined ? criticalWarnings(engines, rows).map(({ text }) => text) : [],
		...(graph === null ? {} : { graph }),
	};
}

/** If one engine states only names, both are compared by names. */
function withEqualDetail({ base, head }: Engines): Engines {
	const plain = ({ name, servedLayer, ...known }: ModelLayer): ModelLayer => {
		const { onnxNodes, foreign, region, index, nodes, owner, timesMs } = known;
		const kind = servedLayer === null ? "compute" : "reformat";
		return { ...nameOnly(name), onnxNodes, foreign, region, index, nodes, owner, timesMs, servedLayer, kind };
	};
	const reduced = (engine: EngineModel): EngineModel => ({
		...engine,
		detail: "names",
		layers: engine.layers.map(plain),
	});
	return base.detail === head.detail ? { base, head } : { base: reduced(base), head: reduced(head) };
}

/** The profiler waits for each layer, about equally long: at most what the shortest layers take. */
function profilerOverhead(engines: Engines, enginesMs: Surroundings["enginesMs"]) {
	if (enginesMs === null) return 0;
	const perLayer = (["base", "head"] as const).map((arm) => {
		const times = engines[arm].layers.map(({ timesMs }) => undelayed(timesMs)).filter((ms) => ms > 0);
		const shortest = times.sort((a, b) => a - b)[Math.floor(times.length / 10)] ?? 0;
		const totalMs = times.reduce((added, ms) => added + ms, 0);
		return Math.min(shortest, Math.max(0, (totalMs - enginesMs[arm]) / Math.max(1, times.length)));
	});
	return meanOf(perLayer);
}

function judge(engines: Engines, overheadMs: number, given: Surroundings) {
	const { enginesMs, unit } = given;
	const { base, head } = engines;
	const compared = compareComponents(engines, overheadMs, given);
	const changes = compared.map(({ base: { time: from }, head: { time: to }, isChanged }) => ({
		base: from,
		head: to,
		isUnchanged: !isChanged,
	}));
	const iterations = Math.min(base.iterations, head.iterations);
	const free = judgeDeltas(changes, iterations);
	// Equal names can hide other precisions: a change far beyond the clock's is not a shift of the machine.
	const isOther = base.detail === "names" && Math.abs(free.commonFactor - 1) > mostShift;
	const noiseOf = () => {
		if (unit !== undefined) return exactDeltas(changes);
		if (isOther)
			return judgeDeltas(
				changes.map((change) => ({ ...change, isUnchanged: false })),
				iterations,
			);
		return isFactorInRuns(free, changes, enginesMs) ? free : judgeDeltas(changes, iterations, false);
	};
	const noise = noiseOf();
	const profiles = Math.min(base.profiles, head.profiles);
	const isRepeated = unit !== undefined || profiles >= enoughProfiles;
	const groups = compared.map((one, at) => {
		const delta = noise.deltas[at] ?? { ms: 0, halfWidthMs: 0, sharedMs: 0, isSignificant: false };
		const isChanged = one.isChanged || isOther;
		const isSignificant = profiles > 0 && delta.isSignificant && (isChanged || isRepeated);
		return { ...one, isChanged, delta: { ...delta, isSignificant } };
	});
	return { groups, noise };
}

function compareComponents(engines: Engines, overheadMs: number, given: Surroundings) {
	const factsIn = (component: Component, arm: Arm) =>
		factsOf(component[arm], engines[arm].profiles, overheadMs);
	const works = ({ kernels, reformats, time }: PartFacts) =>
		kernels.length + reformats.length > 0 || time.ms > 0;
	const working = componentsOf(engines)
		.map((component) => ({ component, base: factsIn(component, "base"), head: factsIn(component, "head") }))
		.filter(({ base, head }) => works(base) || works(head));
	const around = aroundOf(engines, given);
	const commonPrecision = commonChange(working);
	return working.map((one) => {
		const { component, base, head } = one;
		const isSame = component.tier !== "none" && isSameStructure(base, head);
		const isChanged = !isSame || base.tactics !== head.tactics || base.layouts !== head.layouts;
		return { ...one, around, commonPrecision, isSameStructure: isSame, isChanged };
	});
}

/** Under the profiler, launches are slower in some processes; a different clock shows in timed runs too. */
function isFactorInRuns(
	{ commonFactor, deltas }: Noise,
	changes: readonly TimedChange[],
	enginesMs: Surroundings["enginesMs"],
) {
	if (enginesMs === null) return true;
	const changedMs = deltas.reduce(
		(total, { ms }, at) => total + (changes[at]?.isUnchanged === true ? 0 : ms),
		0,
	);
	const leftMs = enginesMs.head - enginesMs.base - changedMs;
	return Math.abs(leftMs - (commonFactor - 1) * enginesMs.base) <= Math.abs(leftMs);
}

function commonChange(groups: readonly { base: PartFacts; head: PartFacts }[]) {
	const both = groups.filter(({ base, head }) => base.kernels.length > 0 && head.kernels.length > 0);
	const largest = [...groupBy(both, settingChange)].find(
		([change, own]) => change !== null && own.length * 2 >= both.length,
	);
	return largest?.[0] ?? null;
}

interface RowContext {
	isTimed: boolean;
	gpu: string | null;
	advises: boolean;
}

function foldRows(all: readonly Judged[], context: RowContext) {
	const formerShape = ({ component, base }: Judged) =>
		component.base.map(layerLabel).sort().join() + base.precisions.join();
	const before = groupBy(all, formerShape);
	const changed = all.filter(isShown).map((group) => {
		const causes = causesOf(group);
		const isPrecision = causes.every(({ kind }) => kind === "precision");
		return { group, causes, isCommon: isPrecision && settingChange(group) === group.commonPrecision };
	});
	const keyOf = ({ group, causes, isCommon }: (typeof changed)[number]) => {
		const { component, base, head, delta } = group;
		const { tier } = component;
		const kinds = causes.map(({ kind }) => kind);
		const sign = delta.isSignificant && Math.sign(delta.ms);
		if (isCommon) return JSON.stringify([kinds, settingChange(group), tier, sign]);
		const counts = [base, head].map(({ kernels, reformats }) => [kernels.length, reformats.length]);
		const work = [...component.head, ...component.base].map(operationClass).sort();
		return JSON.stringify([kinds, precisionChange(group), counts, work, tier, sign]);
	};
	const rows = [...groupBy(changed, keyOf).values()].map((own) => {
		const first = own.reduce((largest, one) =>
			Math.abs(one.group.delta.ms) > Math.abs(largest.group.delta.ms) ? one : largest,
		);
		const alike = first.isCommon ? all.length : (before.get(formerShape(first.group))?.length ?? 0);
		const of = Math.max(first.group.component.base.length === 0 ? 0 : alike, own.length);
		const groups = own.map(({ group }) => group);
		return rowOf(groups, { first: first.group, of, causes: first.causes }, context);
	});
	const weight = ({ isSignificant, changeMs }: EngineRow) => (isSignificant ? Math.abs(changeMs ?? 0) : 0);
	const moved = ({ base, head }: EngineRow) => Math.abs((head?.bytes ?? 0) - (base?.bytes ?? 0));
	return rows.sort((a, b) => weight(b) - weight(a) || moved(b) - moved(a));
}

function rowOf(
	group: readonly Judged[],
	{ first, of, causes }: { first: Judged; of: number; causes: EngineRow["causes"] },
	{ isTimed, gpu, advises }: RowContext,
) {
	const partIn = (arm: Arm) => {
		const layers = group.flatMap(({ component }) => component[arm]);
		const facts = group.map((one) => one[arm]);
		return layers.length === 0 ? null : partOf(facts, layers, gpu);
	};
	return {
		label: groupLabel(first.component),
		members: group.slice(0, maxMembers).map(({ component }) => groupLabel(component)),
		of,
		base: partIn("base"),
		head: partIn("head"),
		changeMs: isTimed ? sum(group, ({ delta }) => delta.ms) : null,
		halfWidthMs: isTimed ? halfWidthOf(group) : null,
		isSignificant: first.delta.isSignificant,
		causes: advises ? causes : causes.map(({ try: _, ...cause }) => cause),
		tier: first.component.tier,
		confidence: Math.min(...group.map(({ component }) => component.confidence)),
	};
}

interface Accounted extends Surroundings {
	engines: Engines;
	overheadMs: number;
}

function accountOf(
	groups: readonly Judged[],
	noise: Noise,
	{ enginesMs, engines, overheadMs }: Accounted,
): EngineDiff["account"] {
	// Leaving out changes within their own noise would favour those that chance made larger.
	const attributed = groups.filter(isShown);
	const rest = groups.filter((group) => !isShown(group));
	const runsMs = enginesMs ?? {
		base: sum(groups, ({ base }) => base.time.ms),
		head: sum(groups, ({ head }) => head.time.ms),
	};
	const measuredMs = runsMs.head - runsMs.base;
	const attributedMs = sum(attributed, ({ delta }) => delta.ms);
	const aloneMs = ({ base, head }: Judged) => aloneError * Math.max(base.time.ms, head.time.ms);
	return {
		baseMs: runsMs.base,
		measuredMs,
		from: enginesMs === null ? "profiles" : "runs",
		attributedMs,
		halfWidthMs: quadrature([
			halfWidthOf(attributed),
			...(enginesMs === null ? [] : attributed.map(aloneMs)),
		]),
		restMs: measuredMs - attributedMs,
		largestRestMs: rest.reduce((most, { delta }) => Math.max(most, Math.abs(delta.ms)), 0),
		profiles: Math.min(engines.base.profiles, engines.head.profiles),
		commonFactor: noise.commonFactor,
		overheadMs,
	};
}
