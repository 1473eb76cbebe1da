// The speed of every workload: the main table, its rows that need no attention folded, and the highlights of what changed.
import type { Result } from "../../schema/result.ts";
import { cleanName, escapeMarkdown } from "../../text/escape.ts";
import { counted, subjectName, withCaveat } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import type { Detail } from "../budget.ts";
import { excludedText, levelText } from "../comparison-format.ts";
import { workloadTable } from "../html/workloads-table.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "../markdown-parts.ts";
import { armTitle, timeFigure, type WorkloadRow, workloadTexts } from "../rows.ts";
import { defineSection } from "../section.ts";
import { type Cell, paint, renderColumns, type TerminalOptions, toneStyles, wrapText } from "../terminal-text.ts";
import { speedHighlights } from "./speed-highlights.ts";
import { workloadAnchors } from "./workload-details.ts";

const maxInTerminal = 40;

interface Facts {
	result: Result;
	rows: readonly WorkloadRow[];
}

function rowCells(row: WorkloadRow): string[] {
	const texts = workloadTexts(row);
	return [
		subjectName(row.workload),
		row.verdict,
		// Early, as a phone shows only the first columns.
		texts.interval === "" ? texts.change : `${texts.change} (${texts.interval})`,
		texts.base,
		texts.head,
		texts.p99,
		texts.memory,
		texts.golden,
	];
}

function rowsTable(result: Result, rows: readonly WorkloadRow[], limit: number): string {
	const level = rows[0] === undefined ? "99 %" : levelText(rows[0].workload.latency);
	const memory = result.backend.kind === "tensorrt" ? "GPU memory" : "peak memory";
	const times = [`change (${level} interval)`, armTitle("base", rows), armTitle("head", rows), "P99 change"];
	const head = ["model · engine · workload", "verdict", ...times, memory, "golden"];
	const table = markdownTable(head, rows.slice(0, limit).map(rowCells), [2, 3, 4, 5, 6, 7]);
	return withHiddenRows(table, rows.length - limit, "more row");
}

function foldedRows(result: Result, rows: readonly WorkloadRow[], detail: Detail): string {
	const label = result.arms.base === null ? "timed" : "unchanged";
	const summary = `${formatCount(rows.length)} ${label} ${rows.length === 1 ? "row" : "rows"}`;
	return foldedMarkdown(summary, detail.quietRows ? rowsTable(result, rows, detail.rows) : "Left out here; see `report.html`.");
}

/** Over the table, for all of its rows; a caveat that only some parts of a result have is in their rows. */
function speedCaveat({ backend }: Result): string[] {
	return backend.caveat === undefined ? [] : [`Speed measured on ${withCaveat(cleanName(backend.name), backend)}.`];
}

function markdownBlocks({ result, rows }: Facts, detail: Detail): string[] {
	const changed = rows.filter((row) => !row.isUnchanged);
	const unchanged = rows.filter((row) => row.isUnchanged);
	return [
		...(changed.length === 0 ? [] : [...speedCaveat(result).map(escapeMarkdown), rowsTable(result, changed, detail.rows)]),
		...(unchanged.length === 0 ? [] : [foldedRows(result, unchanged, detail)]),
	];
}

function terminalRow(row: WorkloadRow): Cell[] {
	const texts = workloadTexts(row);
	return [
		{ text: subjectName(row.workload) },
		{ text: row.verdict, style: toneStyles[row.tone] },
		{ text: texts.base, right: true },
		{ text: texts.head, right: true },
		{ text: texts.change, right: true },
		{ text: texts.interval },
		{ text: ruledOutText(row), right: true },
		{ text: texts.golden, right: true },
	];
}

/** Only an unchanged row rules out changes that a reader may rely on. */
function ruledOutText({ workload: { latency } }: WorkloadRow): string {
	if (latency.verdict !== "unchanged" || latency.excluded === null) return "";
	return latency.excluded === 0 ? "any" : `≥ ${excludedText(latency.excluded)}`;
}

/** Rows that need attention first. */
function terminalLines({ result, rows }: Facts, options: TerminalOptions): string[] {
	const ordered = [...rows].sort((a, b) => Number(a.isUnchanged) - Number(b.isUnchanged));
	const titles = ["workload", "verdict", "base", "head", "change", "interval", "ruled out", "golden"];
	const head = titles.map((text, column): Cell => ({ text, style: "dim", right: [2, 3, 4, 6, 7].includes(column) }));
	const lines = renderColumns([head, ...ordered.slice(0, maxInTerminal).map(terminalRow)], options);
	const hidden = rows.length - maxInTerminal;
	const about = [...speedCaveat(result), `Times are the ${timeFigure(rows)} of each run.`].join(" ");
	const all = [...wrapText(about, options.columns), ...lines];
	return hidden > 0 ? [...all, paint(`… and ${counted(hidden, "more row")} in the report`, "dim", options.color)] : all;
}

export const workloadSection = defineSection({
	id: "workloads",
	select: ({ result, rows }) => (rows.length === 0 ? null : { result, rows }),
	markdown: markdownBlocks,
	html: ({ result, rows }) => workloadTable(result, rows, workloadAnchors(rows)),
	terminal: terminalLines,
	highlights: speedHighlights,
});
