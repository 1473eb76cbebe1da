// The highlights of all sections, each one thing that is not green, and the headline that condenses them.
import type { GateResult, Result } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { precedence } from "../precedence.ts";
import { cleanMessage, cleanName, cleanText, shorten, withoutMarks } from "../text/escape.ts";
import { counted, present, subjectName } from "../text/labels.ts";
import { excludedText } from "./comparison-format.ts";
import { backendOfRow, gateLabel } from "./facts.ts";
import { engineKey, type FailingGate, failingGates, GateIndex, gateKey } from "./index-gates.ts";
import { workloadRows } from "./rows.ts";
import type { ReportContext, ReportSection } from "./section.ts";
import { reportSections } from "./sections.ts";

export type HighlightSeverity = "fail" | "error" | "inconclusive" | "warn" | "note";

/** Texts are clean, shortened and not escaped; backticks mark code in all but the title. */
export interface Highlight {
	severity: HighlightSeverity;
	topic: readonly [one: string, many: string];
	title: string;
	/** A line for each thing that fails, such as an output. */
	lines?: readonly string[];
	sentences: readonly string[];
	fix?: string;
	excerpt?: readonly string[];
	/** Key (`gateKey`) of the gate, which gets no highlight of its own. */
	explains?: string;
}

export const severityOrder: readonly string[] = [...precedence, "note"];

/** The first lines of a log show what broke, the last how it ended. */
export function excerptLines(lines: readonly string[]): string[] {
	const shown = lines.length <= 12 ? lines : [...lines.slice(0, 6), "…", ...lines.slice(-6)];
	return shown.map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}

/** Signs such as `%` and `→` are not words. */
export function countWords(text: string): number {
	return text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
}

const mostTitleWords = 26;
const mostFixWords = 24;
/** Kept free for `… and 3 more in report.html`. */
const moreWords = 5;

function cut(text: string, maxWords: number): string {
	let left = maxWords;
	const words = text.split(" ");
	const end = words.findIndex((word) => {
		left -= countWords(word);
		return left < 0;
	});
	return end === -1 ? text : `${words.slice(0, end).join(" ")} …`;
}

export function brief({ lines, fix, ...highlight }: Highlight, maxWords: number): Highlight {
	const title = cut(highlight.title, mostTitleWords);
	// The fix has a label of one word.
	let left = maxWords - countWords(title) - (fix === undefined ? 0 : 1);
	const take = (texts: readonly string[], reserved = 0): string[] =>
		texts.filter((text) => {
			const words = countWords(withoutMarks(text));
			if (words > left - reserved) return false;
			left -= words;
			return true;
		});
	const takeCut = (text: string, reserved = 0): string => {
		const shown = cut(text, left - reserved);
		left -= countWords(shown);
		return shown;
	};
	const forFix = fix === undefined ? 0 : Math.min(mostFixWords, countWords(fix));
	const [first, ...others] = highlight.sentences;
	const opening =
		lines === undefined && first !== undefined
			? (take([first], forFix)[0] ?? takeCut(withoutMarks(first), forFix))
			: null;
	const failing = take(lines ?? [], forFix + moreWords);
	const hidden = (lines?.length ?? 0) - failing.length;
	const more = hidden === 0 ? [] : take([`… and ${hidden} more in report.html`], forFix);
	return {
		...highlight,
		title,
		lines: lines === undefined ? undefined : [...failing, ...more],
		fix: fix === undefined ? undefined : takeCut(fix),
		sentences: opening === null ? take(highlight.sentences) : [opening, ...take(others)],
	};
}

const statusLabels = {
	warn: ["warns", "warn"],
	fail: ["fails", "fail"],
	inconclusive: ["is inconclusive", "are inconclusive"],
	error: ["could not be judged", "could not be judged"],
} as const;

function blockingFindings({ findings }: Result, gate: GateResult): Result["findings"] {
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
		topic: [`${label} gate ${one}`, `${label} gates ${many}`],
		title: `${subjectName(gate)}: the ${label} gate ${one}`,
		sentences: [gate, ...others].map(({ message }) => cleanMessage(message)),
		fix: fix && cleanMessage(fix),
	};
}

/** Whose highlights come first among those of one severity. */
const firstSections = ["errors", "interfaces", "goldens", "golden-changes", "probes", "builds", "workloads"];

/** One highlight for each thing that is not green; improvements follow as notes. */
export function highlights(result: Result, sections: readonly ReportSection[] = reportSections): Highlight[] {
	const gates = new GateIndex(result);
	const rank = ({ id }: ReportSection) =>
		firstSections.includes(id) ? firstSections.indexOf(id) : firstSections.length;
	const found = [...sections]
		.sort((a, b) => rank(a) - rank(b))
		.flatMap((section) => section.highlights?.(result, gates) ?? []);
	const explained = new Set(found.map(({ explains }) => explains));
	const others = failingGates(result).filter((gate) => !explained.has(gateKey(gate.gate, gate)));
	return [...found, ...others.map((gate) => gateHighlight(result, gate))].sort(
		(a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity),
	);
}

export function reportContext(result: Result, sections: readonly ReportSection[]): ReportContext {
	return { result, highlights: highlights(result, sections), rows: workloadRows(result) };
}

function topicsText(all: readonly Highlight[]): string {
	const topics = [...groupBy(all, ({ topic }) => topic[0])].map(([one, list]) =>
		counted(list.length, one, list[0]?.topic[1]),
	);
	const hidden = topics.length - 5;
	return present([...topics.slice(0, 5), hidden > 0 && `${hidden} other kinds`]).join(", ");
}

function checksText({ gates }: Result): string {
	const total = gates.length;
	const passing = gates.filter(({ status }) => status === "pass").length;
	if (total === 0) return "nothing was checked";
	if (total === 1) return passing === 1 ? "the only check passes" : "the only check does not pass";
	return `${passing === total ? "all" : `${passing} of`} ${counted(total, "check")} pass`;
}

/** A green result must not suggest that outputs were compared if none were. */
function uncheckedText({ outcome, builds, gates, golden }: Result): string {
	const built = builds.filter(({ arm, state }) => arm === "head" && state === "built");
	const checked = new Set(golden.map(engineKey));
	const unchecked = built.filter((build) => !checked.has(engineKey(build))).length;
	if (outcome !== "pass" || unchecked === 0 || gates.length === 0) return "";
	const which = unchecked === built.length ? "" : ` of ${unchecked} of ${counted(built.length, "engine")}`;
	return `outputs${which} not checked: no golden`;
}

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

/** `1 golden mismatch, 1 slowdown · 14 of 16 checks pass`. */
export function headline(result: Result, all: readonly Highlight[] = highlights(result)): string {
	const { partial } = result;
	return present([
		partial && `stopped in ${cleanName(partial.stage, 40)}`,
		topicsText(all),
		checksText(result),
		uncheckedText(result),
		ruledOutText(result, all),
	]).join(" · ");
}
