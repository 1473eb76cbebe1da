// The report for a terminal: headline, stories, a compact table, what to do next, where the files are.
import type { Result } from "../schema/result.ts";
import { cleanName, cleanText } from "../text/escape.ts";
import { counted, gateTitle, outcomeLabels, subjectName, type Tone } from "../text/labels.ts";
import { excludedText, intervalText } from "./comparison-format.ts";
import { armsText, jobFacts, noBaseText, partialText } from "./facts.ts";
import { headline } from "./headline.ts";
import { type Highlight, plainPhrase } from "./highlight.ts";
import { highlights } from "./highlights.ts";
import { excerptLines } from "./highlights-build.ts";
import { armTitle, type WorkloadRow, workloadRows, workloadTexts } from "./rows.ts";
import { probeLines } from "./terminal-probes.ts";
import { type Cell, renderColumns } from "./terminal-table.ts";
import { paint, type Style, wrapText } from "./terminal-text.ts";

export interface TerminalOptions {
	color: boolean;
	columns: number;
}

const maxHighlights = 8;
const maxRows = 40;

const severityStyles: Readonly<Record<Highlight["severity"], Style>> = {
	fail: "red",
	error: "red",
	inconclusive: "magenta",
	warn: "yellow",
	note: "cyan",
};
const severityMarks: Readonly<Record<Highlight["severity"], string>> = { fail: "✗", error: "✗", inconclusive: "?", warn: "!", note: "i" };
const toneStyles: Readonly<Record<Tone, Style>> = { bad: "red", warn: "yellow", ok: "green", open: "magenta", plain: "dim" };
const outcomeStyles: Readonly<Record<Result["outcome"], Style>> = {
	pass: "green",
	warn: "yellow",
	fail: "red",
	inconclusive: "magenta",
	error: "red",
};

function highlightLines(highlight: Highlight, { color, columns }: TerminalOptions): string[] {
	const mark = paint(severityMarks[highlight.severity], severityStyles[highlight.severity], color);
	const [first = "", ...rest] = wrapText(highlight.title, columns - 2);
	const told = highlight.sentences.map(plainPhrase).join(" ");
	return [
		`${mark} ${paint(first, "bold", color)}`,
		...rest.map((line) => `  ${paint(line, "bold", color)}`),
		...wrapText(told, columns - 2).map((line) => `  ${line}`),
		...excerptLines(highlight.excerpt ?? []).map((line) => paint(`  │ ${line}`, "dim", color)),
	];
}

function tableRow(row: WorkloadRow): Cell[] {
	const texts = workloadTexts(row);
	return [
		{ text: subjectName(row.workload) },
		{ text: row.verdict, style: toneStyles[row.tone] },
		{ text: texts.base, right: true },
		{ text: texts.head, right: true },
		{ text: texts.change, right: true },
		{ text: row.workload.latency.interval === null ? "" : intervalText(row.workload.latency) },
		{ text: excludes(row), right: true },
		{ text: texts.golden, right: true },
	];
}

/** Only what is unchanged excludes something that a reader may rely on. */
function excludes({ workload: { latency } }: WorkloadRow): string {
	if (latency.verdict !== "unchanged" || latency.excluded === null) return "";
	return latency.excluded === 0 ? "any" : `≥ ${excludedText(latency.excluded)}`;
}

/** Rows that ask for attention first. */
function tableLines(result: Result, options: TerminalOptions): string[] {
	const rows = workloadRows(result).sort((a, b) => Number(a.quiet) - Number(b.quiet));
	if (rows.length === 0) return [];
	const head = ["workload", "verdict", armTitle("base", rows), armTitle("head", rows), "change", "interval", "excluded", "golden"].map(
		(text, column): Cell => ({ text, style: "dim", right: [2, 3, 4, 6, 7].includes(column) }),
	);
	const lines = renderColumns([head, ...rows.slice(0, maxRows).map(tableRow)], options);
	const more = rows.length - maxRows;
	return more > 0 ? [...lines, paint(`… and ${counted(more, "more row")} in the report`, "dim", options.color)] : lines;
}

function nextLines(told: readonly Highlight[], { color, columns }: TerminalOptions): string[] {
	const fixes = [...new Set(told.flatMap((highlight) => (highlight.fix === undefined ? [] : [cleanText(highlight.fix)])))].slice(0, 5);
	if (fixes.length === 0) return [];
	return [
		paint("What to do next", "bold", color),
		...fixes.flatMap((fix) => wrapText(fix, columns - 4).map((line, at) => (at === 0 ? `  - ${line}` : `    ${line}`))),
	];
}

function fileLines(result: Result, { color }: TerminalOptions): string[] {
	if (result.files.length === 0) return [];
	const shown = result.files.slice(0, 8);
	const width = Math.max(...shown.map((file) => cleanName(file.path, 100).length));
	const more = result.files.length - shown.length;
	return [
		paint("Files", "bold", color),
		...shown.map((file) => `  ${cleanName(file.path, 100).padEnd(width)}  ${paint(cleanName(file.what, 100), "dim", color)}`),
		...(more > 0 ? [paint(`  … and ${counted(more, "more file")}`, "dim", color)] : []),
	];
}

function headLines(result: Result, { color, columns }: TerminalOptions): string[] {
	const word = paint(outcomeLabels[result.outcome].toUpperCase(), outcomeStyles[result.outcome], color);
	const facts = jobFacts(result).map(({ label, value }) => `${label} ${value}`);
	const [first = "", ...rest] = wrapText(
		`${gateTitle(result.backend)}: ${headline(result)}`,
		columns - outcomeLabels[result.outcome].length - 2,
	);
	return [
		`${word}  ${paint(first, "bold", color)}`,
		...rest.map((line) => paint(line, "bold", color)),
		...wrapText([armsText(result), ...facts].join(" · "), columns).map((line) => paint(line, "dim", color)),
	];
}

function noticeLines(result: Result, { color, columns }: TerminalOptions): string[] {
	const loud = [partialText(result), noBaseText(result)].filter((text) => text !== null);
	const notes = result.notes.slice(0, 10).map((note) => `Note: ${cleanName(note, 400)}`);
	return [...loud, ...notes].flatMap((text) => wrapText(text, columns)).map((line) => paint(line, "yellow", color));
}

/** Ends with a line break. */
export function renderTerminal(result: Result, options: TerminalOptions): string {
	const bounded = { ...options, columns: Math.max(40, Math.min(options.columns, 400)) };
	const told = highlights(result);
	const hidden = told.length - maxHighlights;
	const blocks = [
		headLines(result, bounded),
		noticeLines(result, bounded),
		...told.slice(0, maxHighlights).map((highlight) => highlightLines(highlight, bounded)),
		hidden > 0 ? [`… and ${hidden.toLocaleString("en-US")} more like these, in the report.`] : [],
		tableLines(result, bounded),
		probeLines(result, bounded),
		nextLines(told, bounded),
		fileLines(result, bounded),
	];
	return `${blocks
		.filter((block) => block.length > 0)
		.map((block) => block.join("\n"))
		.join("\n\n")}\n`;
}
