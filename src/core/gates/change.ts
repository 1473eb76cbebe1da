// Gates of the whole change: checks that the head lacks, changed rules, and changes that are accepted once.
import type { Arm, BuildRecord, GateResult, WorkloadResult } from "../../../generated/result.ts";
import type { AcceptedChange, Config } from "../config/config.ts";
import { type Counterparts, type RuleChange, ruleChanges } from "../config/rules.ts";
import { placeOf } from "../config/source.ts";
import { type Group, groupBy } from "../group.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { shorten } from "../text/escape.ts";
import { commonSubject, counted, listNames } from "../text/labels.ts";
import { formatPercent } from "../text/units.ts";

export interface CoverageFacts {
	base: readonly EngineSpec[];
	head: readonly EngineSpec[];
	counterparts: Counterparts;
	droppedCases?: ReadonlyMap<string, readonly string[]>;
}

export function judgeCoverage({ base, head, counterparts, droppedCases }: CoverageFacts): GateResult[] {
	const heads = new Map(
		head.flatMap((spec) => (counterparts.has(spec.id) ? [[counterparts.get(spec.id), spec] as const] : [])),
	);
	return base.flatMap((spec) => {
		const { coverage } = spec.engine.gates;
		if (coverage === "off") return [];
		const place = { model: spec.model.name, engine: spec.engine.name };
		const lost = (what: string, more: { workload?: string } = {}): GateResult => ({
			gate: "coverage",
			...place,
			...more,
			status: coverage,
			message: `The base checks ${what}; the head no longer does.`,
		});
		const now = heads.get(spec.id);
		if (now === undefined) return [lost("this engine")];
		const kept = new Set(now.engine.workloads.map(({ name }) => name));
		const workloads = spec.engine.workloads.filter(({ name }) => !kept.has(name));
		const cases = droppedCases?.get(spec.id) ?? [];
		const lostWorkloads = workloads.map(({ name }) => lost("this workload", { workload: name }));
		const isGoldenLost = spec.engine.golden !== undefined && now.engine.golden === undefined;
		return [
			...lostWorkloads,
			...(isGoldenLost ? [lost("its outputs against a golden")] : []),
			...(cases.length > 0
				? [lost(`${counted(cases.length, "golden case")} more (${listNames(cases)})`)]
				: []),
		];
	});
}

interface RuleSides {
	base: Config;
	head: Config;
	counterparts: Counterparts;
	holds: "base" | "head";
}

export function judgeLimitChanges({ base, head, counterparts, holds }: RuleSides): GateResult[] {
	const changes = ruleChanges(base, head, counterparts);
	const groups = groupBy(changes, ({ limitChange, isLooser, key, base: was, head: is }) =>
		JSON.stringify([limitChange, isLooser, key, was, is]),
	);
	return [...groups.values()].flatMap((group) => resultOf(group, { head, holds }));
}

export function judgeUnreadBase(fault: string, head: Config): GateResult {
	const message = `The base's config cannot be read, so the head's recipes and rules were used for both sides: ${fault}`;
	return { gate: "limit-change", model: head.path, status: "warn", message };
}

const maxShownChars = 120;

function resultOf(
	group: Group<RuleChange>,
	{ head, holds }: Pick<RuleSides, "head" | "holds">,
): GateResult[] {
	const [first] = group;
	const { key, isLooser, limitChange, pointer } = first;
	if (isLooser && limitChange === "off") return [];
	const change = `${key}: ${shorten(first.base, maxShownChars)} → ${shorten(first.head, maxShownChars)}`;
	const when = holds === "base" ? " It holds after the merge; this change was judged by the base's." : "";
	const review = isLooser ? " It needs a review." : "";
	const status = isLooser && limitChange !== "off" ? limitChange : "pass";
	const message = `${change}${countOf(group)}.${when}${review}`;
	const subject = { model: head.path, ...commonSubject(group) };
	return [{ gate: "limit-change", ...subject, status, message, ...placeOf(head, pointer) }];
}

function countOf(group: Group<RuleChange>) {
	const [first] = group;
	if (group.length === 1) return "";
	const what = first.workload !== undefined ? "workload" : first.engine !== undefined ? "engine" : "model";
	return `, in ${counted(group.length, what)}`;
}

export interface AcceptFacts {
	config: Pick<Config, "accept" | "sources">;
	builds: readonly BuildRecord[];
	rows: readonly WorkloadResult[];
	known: ReadonlySet<string>;
}

export function applyAccepted(gates: readonly GateResult[], facts: AcceptFacts): GateResult[] {
	const entries = facts.config.accept ?? [];
	if (entries.length === 0) return [...gates];
	const stale = entries.flatMap((entry) => staleness(entry, facts));
	const current = entries.filter((entry) => staleness(entry, facts).length === 0);
	return [...gates.map((gate) => acceptOne(gate, current, facts)), ...stale];
}

/** A stale entry must go, so that it cannot serve another change. */
function staleness(entry: AcceptedChange, { config, builds, known }: AcceptFacts): GateResult[] {
	const { engine, recipe, pointer } = entry;
	const built = buildOf(builds, engine, "head");
	const head = built?.recipeHash;
	const why = !known.has(engine)
		? "no such engine exists"
		: buildOf(builds, engine, "base")?.recipeHash === recipe
			? "the base already has this engine"
			: head !== undefined && head !== recipe
				? `it is for the engine ${recipe}, and this one is ${head}`
				: null;
	if (why === null) return [];
	// Names may contain slashes, so only a build tells the model's name from the engine's.
	const slash = engine.indexOf("/");
	return [
		{
			gate: "accept",
			model: built?.model ?? engine.slice(0, slash),
			engine: built?.engine ?? engine.slice(slash + 1),
			status: "fail",
			message: `The accepted ${entry.figure} is stale: ${why}. Remove the entry; \`trtgate accept RESULT --prune\` does it.`,
			...placeOf(config, pointer),
		},
	];
}

export function buildOf(builds: readonly BuildRecord[], engine: string, arm: Arm): BuildRecord | undefined {
	return builds.find((build) => build.arm === arm && `${build.model}/${build.engine}` === engine);
}

function acceptOne(gate: GateResult, entries: readonly AcceptedChange[], facts: AcceptFacts): GateResult {
	const id = `${gate.model}/${gate.engine}`;
	const entry = entries.find(({ engine, figure }) => engine === id && figure === gate.gate);
	if (entry === undefined || gate.status !== "fail") return gate;
	const change = changeOf(gate, facts);
	const most = formatPercent(entry.atMost, { sign: true });
	if (change === null || !(change <= entry.atMost))
		return { ...gate, message: `${gate.message} At most ${most} was accepted.` };
	const who = entry.by === undefined ? "" : ` by ${entry.by}`;
	const accepted = `Accepted once, up to ${most}${who}: ${entry.reason}`;
	return { ...gate, status: "warn", message: `${gate.message} ${accepted}`, accepted };
}

export function changeOf(
	{ gate, model, engine, workload }: GateResult,
	{ builds, rows }: Pick<AcceptFacts, "builds" | "rows">,
): number | null {
	if (gate === "engine-size" || gate === "build-time") {
		const figureOf = (arm: string) => {
			const build = builds.find((one) => one.arm === arm && one.model === model && one.engine === engine);
			return (gate === "engine-size" ? build?.engineBytes : build?.durationMs) ?? NaN;
		};
		const ratio = figureOf("head") / figureOf("base");
		return Number.isFinite(ratio) ? ratio - 1 : null;
	}
	if (gate !== "latency" && gate !== "work" && gate !== "p99" && gate !== "memory") return null;
	const row = rows.find((one) => one.model === model && one.engine === engine && one.workload === workload);
	return row?.[gate]?.estimate ?? null;
}
