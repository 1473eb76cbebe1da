// Gathers the highlights of all sections, most severe first, and condenses them into the headline.

import type { Finding, GateResult, Result } from "../../../generated/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted, subjectName } from "../text/labels.ts";
import { cleanMessage, excludedText } from "./comparison-format.ts";
import { backendOfRow } from "./facts.ts";
import { gateLabel } from "./gate-labels.ts";
import { type Highlight, severityOrder } from "./highlight.ts";
import { engineKey, type FailingGate, failingGates, gateKey, indexGates } from "./index-gates.ts";
import { workloadRows } from "./rows.ts";
import type { ReportContext, ReportSection } from "./section.ts";
import { reportSections } from "./sections.ts";

const statusLabels: Readonly<Record<GateResult["status"], string>> = {
	pass: "passes",
	warn: "warns",
	fail: "fails",
	inconclusive: "is inconclusive",
	error: "could not be judged",
};

function blockingFindings(result: Result, gate: GateResult): Finding[] {
	if (gate.gate !== "preflight") return [];
	return result.findings.filter(
		(finding) =>
			finding.severity !== "note" &&
			finding.arm !== "base" &&
			finding.part === gate.part &&
			finding.model === gate.model &&
			(finding.engine === undefined || finding.engine === gate.engine),
	);
}

/** Of a gate that no section explains. */
function gateHighlight(result: Result, gate: FailingGate): Highlight {
	const label = gateLabel(gate.gate, backendOfRow(result, gate));
	const findings = blockingFindings(result, gate);
	const fix = findings.find((finding) => finding.fix !== undefined)?.fix;
	return {
		severity: gate.status,
		topic: [
			`${label} gate ${statusLabels[gate.status]}`,
			`${label} gates ${gate.status === "inconclusive" ? "are inconclusive" : statusLabels[gate.status].replace(/s$/, "")}`,
		],
		title: `${subjectName(gate)}: the ${label} gate ${statusLabels[gate.status]}`,
		sentences: [
			cleanMessage(gate.message),
			...findings
				.filter((finding) => !gate.message.startsWith(finding.message))
				.slice(0, 2)
				.map((finding) => cleanMessage(finding.message)),
		],
		fix: fix === undefined ? undefined : cleanMessage(fix),
	};
}

/** Sections whose highlights come first among those of one severity; the others follow in the order of the report. */
const firstSections: readonly string[] = [
	"errors",
	"interfaces",
	"goldens",
	"golden-changes",
	"probes",
	"builds",
	"workloads",
];

function inHighlightOrder(sections: readonly ReportSection[]): ReportSection[] {
	const rank = ({ id }: ReportSection) =>
		firstSections.includes(id) ? firstSections.indexOf(id) : firstSections.length;
	return [...sections].sort((a, b) => rank(a) - rank(b));
}

/** One for each thing that is not green; improvements close the list as notes. */
export function highlights(result: Result, sections: readonly ReportSection[] = reportSections): Highlight[] {
	const gates = indexGates(result);
	const found = inHighlightOrder(sections).flatMap((section) => section.highlights?.(result, gates) ?? []);
	const explained = new Set(found.map(({ explains }) => explains));
	return [
		...found,
		...failingGates(result)
			.filter((gate) => !explained.has(gateKey(gate.gate, gate)))
			.map((gate) => gateHighlight(result, gate)),
	].sort((a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity));
}

export function reportContext(result: Result, sections: readonly ReportSection[]): ReportContext {
	return { result, highlights: highlights(result, sections), rows: workloadRows(result) };
}

function tally(list: readonly Highlight[]): string[] {
	const counts = new Map<string, { count: number; topic: Highlight["topic"] }>();
	for (const { topic } of list)
		counts.set(topic[0], { count: (counts.get(topic[0])?.count ?? 0) + 1, topic });
	return [...counts.values()].map(({ count, topic }) => counted(count, topic[0], topic[1]));
}

function checksText(result: Result): string {
	const total = result.gates.length;
	const passing = result.gates.filter((gate) => gate.status === "pass").length;
	if (total === 0) return "nothing was checked";
	if (total === 1) return passing === 1 ? "the only check passes" : "the only check does not pass";
	return passing === total
		? `all ${counted(total, "check")} pass`
		: `${passing} of ${counted(total, "check")} pass`;
}

/** Keeps a green result from being read as a statement about outputs that nothing compared. */
function uncheckedText({ outcome, builds, gates, golden }: Result): string {
	const built = builds.filter(({ arm, state }) => arm === "head" && state === "built");
	const checked = new Set(golden.map(engineKey));
	const unchecked = built.filter((build) => !checked.has(engineKey(build)));
	if (outcome !== "pass" || unchecked.length === 0 || gates.length === 0) return "";
	return unchecked.length === built.length
		? "outputs not checked: no golden"
		: `outputs of ${unchecked.length} of ${counted(built.length, "engine")} not checked: no golden`;
}

/** What a green result says about speed. */
function ruledOutText({ outcome, workloads }: Result, all: readonly Highlight[]): string {
	const bounds = workloads.flatMap(({ latency: { interval, pairs } }) =>
		interval === null || pairs === 0 ? [] : [interval[1]],
	);
	if (outcome !== "pass" || bounds.length === 0 || all.some(({ severity }) => severity !== "note")) return "";
	const largest = Math.max(...bounds);
	return largest > 0
		? `slowdowns of ${excludedText(largest)} or more are ruled out`
		: "any slowdown is ruled out";
}

/**
 * `1 golden mismatch, 1 slowdown · 14 of 16 checks pass`.
 * @param all the highlights of the result, where they are known already.
 */
export function headline(result: Result, all: readonly Highlight[] = highlights(result)): string {
	const topics = tally(all);
	const shown = topics.slice(0, 5);
	const more = topics.length > shown.length ? [`${topics.length - shown.length} other kinds`] : [];
	const stopped = result.partial === undefined ? [] : [`stopped in ${cleanName(result.partial.stage, 40)}`];
	return [
		...stopped,
		[...shown, ...more].join(", "),
		checksText(result),
		uncheckedText(result),
		ruledOutText(result, all),
	]
		.filter((part) => part !== "")
		.join(" · ");
}
