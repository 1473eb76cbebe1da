// Gates of the whole change: checks that the head lacks, and changed rules, which hold once they are merged.
import type { GateResult } from "../../../generated/result.ts";
import type { Config } from "../config/config.ts";
import { type Counterparts, type RuleChange, ruleChanges } from "../config/rules.ts";
import { placeOf } from "../config/source.ts";
import { groupBy } from "../group.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { shorten } from "../text/escape.ts";
import { counted, listNames } from "../text/labels.ts";

export interface CoverageFacts {
	base: readonly EngineSpec[];
	head: readonly EngineSpec[];
	counterparts: Counterparts;
	droppedCases?: ReadonlyMap<string, readonly string[]>;
}

/** Lost engines, workloads, goldens and cases; the base's setting decides what they mean. */
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

export interface RuleSides {
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
	group: readonly RuleChange[],
	{ head, holds }: Pick<RuleSides, "head" | "holds">,
): GateResult[] {
	const [first] = group;
	if (first === undefined) return [];
	const { key, isLooser, limitChange, pointer } = first;
	if (isLooser && limitChange === "off") return [];
	const change = `${key}: ${shorten(first.base, maxShownChars)} → ${shorten(first.head, maxShownChars)}`;
	const when = holds === "base" ? " It holds after the merge; this change was judged by the base's." : "";
	const review = isLooser ? " It needs a review." : "";
	const status = isLooser && limitChange !== "off" ? limitChange : "pass";
	const message = `${change}${countOf(group)}.${when}${review}`;
	const subject = subjectOf(group, head.path);
	return [{ gate: "limit-change", ...subject, status, message, ...placeOf(head, pointer) }];
}

function subjectOf(
	group: readonly RuleChange[],
	path: string,
): Pick<GateResult, "model" | "engine" | "workload"> {
	const common = (key: "model" | "engine" | "workload"): string | undefined => {
		const [value, other] = new Set(group.map((change) => change[key]));
		return other === undefined ? value : undefined;
	};
	const model = common("model");
	const engine = model && common("engine");
	return { model: model ?? path, engine, workload: engine && common("workload") };
}

function countOf(group: readonly RuleChange[]): string {
	const [first] = group;
	if (first === undefined || group.length === 1) return "";
	const what = first.workload !== undefined ? "workload" : first.engine !== undefined ? "engine" : "model";
	return `, in ${counted(group.length, what)}`;
}
