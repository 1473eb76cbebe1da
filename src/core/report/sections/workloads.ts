// The speed of every workload: the main table, its rows that need no attention folded, and the highlights of what changed.
import type { Result } from "../../../../generated/result.ts";
import { cleanName, escapeMarkdown } from "../../text/escape.ts";
import { counted, subjectName, withCaveat } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import type { Detail } from "../budget.ts";
import { excludedText, levelText } from "../comparison-format.ts";
import { workloadTable } from "../html/workloads-table.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "../markdown-parts.ts";
import { armTitle, isCounted, type WorkloadRow, workloadTexts } from "../rows.ts";
import { defineSection } from "../section.ts";
import {
	type Cell,
	paint,
	renderColumns,
	type TerminalOptions,
	toneStyles,
	wrapText,
} from "../terminal-text.ts";
import { speedHighlights } from "./speed-highlights.ts";
import { workloadAnchors } from "./workload-details.ts";

const maxInTerminal = 40;

interface Facts {
	result: Result;
	rows: readonly WorkloadRow[];
}

/** `isPlain`: of a table without the columns that only timing fills. */
function rowCells(row: WorkloadRow, isPlain: boolean): string[] {
	const texts = workloadTexts(row);
	return [
		subjectName(row.workload),
		row.verdict,
		// Early, as a phone shows only the first columns.
		texts.interval === "" ? texts.change : `${texts.change} (${texts.interval})`,
		texts.base,
		texts.head,
		...(isPlain ? [] : [texts.p99, texts.memory]),
		texts.golden,
	];
}

function rowsTable(rows: readonly WorkloadRow[], limit: number): string {
	const isPlain = isCounted(rows);
	const level = rows[0] === undefined ? "99 %" : levelText(rows[0].workload.latency);
	const figures = [
		isPlain ? "change" : `change (${level} interval)`,
		armTitle("base", rows),
		armTitle("head", rows),
	];
	const head = [
		"model · engine · workload",
		"verdict",
		...figures,
		...(isPlain ? [] : ["P99 change", "GPU memory"]),
		"golden",
	];
	const cells = rows.slice(0, limit).map((row) => rowCells(row, isPlain));
	const table = markdownTable(head, cells, isPlain ? [2, 3, 4, 5] : [2, 3, 4, 5, 6, 7]);
	return withHiddenRows(table, rows.length - limit, "more row");
}

function foldedRows(result: Result, rows: readonly WorkloadRow[], detail: Detail): string {
	const label = result.arms.base !== null ? "unchanged" : isCounted(rows) ? "counted" : "timed";
	const summary = `${formatCount(rows.length)} ${label} ${rows.length === 1 ? "row" : "rows"}`;
	return foldedMarkdown(
		summary,
		detail.quietRows ? rowsTable(rows, detail.rows) : "Left out here; see `report.html`.",
	);
}

/** Over the table, for all of its rows; a caveat that only some parts of a result have is in their rows. */
function speedCaveat({ backend }: Result, rows: readonly WorkloadRow[]): string[] {
	if (isCounted(rows)) return [`Work counted on ${cleanName(backend.name)}, exact; not time, not TensorRT.`];
	return backend.caveat === undefined
		? []
		: [`Speed measured on ${withCaveat(cleanName(backend.name), backend)}.`];
}

function markdownBlocks({ result, rows }: Facts, detail: Detail): string[] {
	const changed = rows.filter((row) => !row.isUnchanged);
	const unchanged = rows.filter((row) => row.isUnchanged);
	return [
		...(changed.length === 0
			? []
			: [...speedCaveat(result, rows).map(escapeMarkdown), rowsTable(changed, detail.rows)]),
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
function ruledOutText({ workload: { latency, work } }: WorkloadRow): string {
	if (work !== undefined) return work.estimate === 0 && work.base === undefined ? "any" : "";
	if (latency.verdict !== "unchanged" || latency.excluded === null) return "";
	return latency.excluded === 0 ? "any" : `≥ ${excludedText(latency.excluded)}`;
}

/** Rows that need attention first. */
function terminalLines({ result, rows }: Facts, options: TerminalOptions): string[] {
	const ordered = [...rows].sort((a, b) => Number(a.isUnchanged) - Number(b.isUnchanged));
	const titles = ["workload", "verdict", "base", "head", "change", "interval", "ruled out", "golden"];
	const head = titles.map(
		(text, column): Cell => ({ text, style: "dim", right: [2, 3, 4, 6, 7].includes(column) }),
	);
	const lines = renderColumns([head, ...ordered.slice(0, maxInTerminal).map(terminalRow)], options);
	const hidden = rows.length - maxInTerminal;
	const about = [
		...speedCaveat(result, rows),
		...(isCounted(rows) ? [] : ["Times are the median of each run."]),
	].join(" ");
	const all = [...wrapText(about, options.columns), ...lines];
	return hidden > 0
		? [...all, paint(`… and ${counted(hidden, "more row")} in the report`, "dim", options.color)]
		: all;
}

export const workloadSection = defineSection({
	id: "workloads",
	select: ({ result, rows }) => (rows.length === 0 ? null : { result, rows }),
	markdown: markdownBlocks,
	html: ({ result, rows }) => workloadTable(result, rows, workloadAnchors(rows)),
	terminal: terminalLines,
	highlights: speedHighlights,
});
