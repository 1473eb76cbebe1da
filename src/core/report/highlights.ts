// Gathers the highlights of all sections, and condenses them into the headline.
import type { GateResult, Result } from "../../../generated/result.ts";
import { excludedText } from "../compare/sentence.ts";
import { groupBy } from "../group.ts";
import { upgradesOf } from "../merge/upgrade.ts";
import { cleanMessage, cleanName } from "../text/escape.ts";
import { counted, present, subjectName, subjectOf } from "../text/labels.ts";
import { backendOfRow, gateLabel, workloadRows } from "./facts.ts";
import {
	briefTitle,
	engineKey,
	type FailingGate,
	failingGates,
	GateIndex,
	gateKey,
	groupAlike,
	type Highlight,
	severityOrder,
} from "./highlight.ts";
import type { ReportContext, ReportSection } from "./section.ts";
import { reportSections } from "./sections.ts";

const statusLabels = {
	warn: ["warns", "warn"],
	fail: ["fails", "fail"],
	inconclusive: ["is inconclusive", "are inconclusive"],
	error: ["could not be judged", "could not be judged"],
} as const;

function blockingFindings({ findings }: Result, gate: GateResult) {
	if (gate.gate !== "preflight") return [];
	return findings.filter(
		({ severity, arm, part, model, engine = gate.engine }) =>
			severity !== "note" &&
			arm !== "base" &&
			part === gate.part &&
			model === gate.model &&
			engine === gate.engine,
	);
}

function gateHighlight(result: Result, gate: FailingGate): Highlight {
	const label = gateLabel(gate.gate, backendOfRow(result, gate));
	const [one, many] = statusLabels[gate.status];
	const findings = blockingFindings(result, gate);
	const fix = findings.find((finding) => finding.fix !== undefined)?.fix;
	const others = findings.filter(({ message }) => !gate.message.startsWith(message)).slice(0, 2);
	return {
		severity: gate.status,
		about: subjectOf(gate),
		topic: [`${label} gate ${one}`, `${label} gates ${many}`],
		title: `${subjectName(gate)}: the ${label} gate ${one}`,
		sentences: [gate, ...others].map(({ message }) => cleanMessage(message)),
		fix: fix && cleanMessage(fix),
	};
}

const firstSections = ["errors", "interfaces", "goldens", "golden-changes", "probes", "builds", "workloads"];

export function highlights(result: Result, sections: readonly ReportSection[] = reportSections): Highlight[] {
	const gates = new GateIndex(result);
	const rank = ({ id }: ReportSection) =>
		firstSections.includes(id) ? firstSections.indexOf(id) : firstSections.length;
	const found = [...sections]
		.sort((a, b) => rank(a) - rank(b))
		.flatMap((section) => section.highlights?.(result, gates) ?? []);
	const explained = new Set(found.flatMap(({ explains = [] }) => explains));
	const others = failingGates(result).filter((gate) => !explained.has(gateKey(gate.gate, gate)));
	return groupAlike([...found, ...others.map((gate) => gateHighlight(result, gate))]).sort(
		(a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity),
	);
}

export function reportContext(result: Result, sections: readonly ReportSection[]): ReportContext {
	const all = highlights(result, sections);
	return { result, highlights: all, lead: leadOf(result, all), rows: workloadRows(result) };
}

function topicsText(all: readonly Highlight[]) {
	const topics = [...groupBy(all, ({ topic }) => topic[0])].map(([one, list]) =>
		counted(
			list.reduce((sum, { count = 1 }) => sum + count, 0),
			one,
			list[0].topic[1],
		),
	);
	const hidden = topics.length - 5;
	return present([...topics.slice(0, 5), hidden > 0 && `${hidden} other kinds`]).join(", ");
}

function checksText({ gates }: Result) {
	const total = gates.length;
	const passing = gates.filter(({ status }) => status === "pass").length;
	if (total === 0) return "nothing was checked";
	if (total === 1) return passing === 1 ? "the only check passes" : "the only check does not pass";
	return `${passing === total ? "all" : `${passing} of`} ${counted(total, "check")} pass`;
}

/** A green result must not suggest that outputs were compared if none were. */
function uncheckedText({ outcome, builds, gates, golden }: Result) {
	const built = builds.filter(({ arm, state }) => arm === "head" && state === "built");
	const checked = new Set(golden.map(engineKey));
	const unchecked = built.filter((build) => !checked.has(engineKey(build))).length;
	if (outcome !== "pass" || unchecked === 0 || gates.length === 0) return "";
	const which = unchecked === built.length ? "" : ` of ${unchecked} of ${counted(built.length, "engine")}`;
	return `outputs${which} not checked: no golden`;
}

function ruledOutText({ outcome, workloads }: Result, all: readonly Highlight[]) {
	const bounds = workloads.flatMap(({ latency: { interval, pairs } }) =>
		interval === null || pairs === 0 ? [] : [interval[1]],
	);
	if (outcome !== "pass" || bounds.length === 0 || all.some(({ severity }) => severity !== "note")) return "";
	const largest = Math.max(...bounds);
	return largest > 0
		? `slowdowns of ${excludedText(largest)} or more are ruled out`
		: "any slowdown is ruled out";
}

function upgradeText(result: Result) {
	const [upgrade, ...others] = upgradesOf(result);
	if (upgrade === undefined || others.length > 0) return "";
	const { from, to, decision } = upgrade;
	return `${cleanName(from, 40)} → ${cleanName(to, 40)}: ${decision.replace(/\.$/, "")}`;
}

/** The worst of all, unless the whole run has news of its own. */
function leadOf(result: Result, [worst]: readonly Highlight[]) {
	const isOwnNews = result.partial !== undefined || upgradeText(result) !== "";
	const isMinor = worst?.severity === "note" && result.outcome !== "pass";
	return isOwnNews || isMinor ? undefined : worst;
}

export function leadLine({ result, highlights: all, lead }: ReportContext): string {
	if (lead === undefined) return headline(result, all);
	const found = present([
		briefTitle(lead).replace(/\.$/, ""),
		topicsText(all.filter((one) => one !== lead)),
	]).join("; ");
	return [found, ...endTexts(result, all)].join(" · ");
}

function endTexts(result: Result, all: readonly Highlight[]) {
	return present([checksText(result), uncheckedText(result), ruledOutText(result, all)]);
}

export function headline(result: Result, all: readonly Highlight[] = highlights(result)): string {
	const { partial } = result;
	return present([
		partial && `stopped in ${cleanName(partial.stage, 40)}`,
		upgradeText(result),
		topicsText(all),
		...endTexts(result, all),
	]).join(" · ");
}
