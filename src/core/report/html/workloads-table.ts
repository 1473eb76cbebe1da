// The main table of the page: one row a workload, with the forest plot.

import type { Result } from "../../schema/result.ts";
import { shownMs } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, withCaveat } from "../../text/labels.ts";
import { formatLimit } from "../../text/units.ts";
import { levelText } from "../comparison-format.ts";
import { backendOf } from "../part-backend.ts";
import { armTitle, type WorkloadRow, type WorkloadTexts, workloadTexts } from "../rows.ts";
import { drawForest, forestAxis, forestScale } from "./forest.ts";
import { type Column, folded, html, type Markup, moreText, type Piece, partLine, pill, section, sortableTable } from "./markup.ts";

interface Line {
	row: WorkloadRow;
	texts: WorkloadTexts;
	/** Anchor of its own section; null where it has none. */
	anchor: string | null;
}

const maxRows = 1000;
/** With more rows, those that are unchanged are folded. */
const maxOpenRows = 30;

function workloadName({ workload }: WorkloadRow): Markup {
	return html`<b>${cleanName(workload.model)}</b> <span>${cleanName(workload.engine)} · ${cleanName(workload.workload)}</span>${partLine(workload.part)}`;
}

/** The limits, where all rows share them; each row draws its own. */
function forestTitle(rows: readonly WorkloadRow[]): string {
	const same = (texts: readonly string[]) => (new Set(texts).size === 1 ? texts[0] : undefined);
	const level = same(rows.map((row) => levelText(row.workload.latency)));
	const zone = same(rows.map((row) => formatLimit(row.workload.latency.minimalEffect)));
	const gate = same(rows.map(({ workload }) => (workload.limits?.fail === undefined ? "" : formatLimit(workload.limits.fail))));
	const parts = [
		level === undefined ? "interval" : `${level} interval`,
		zone === undefined ? "grey: too small to count" : `grey ±${zone}`,
		...(gate === undefined ? ["dashed: fails"] : gate === "" ? [] : [`dashed ${gate}`]),
	];
	return parts.join(" · ");
}

function comparedColumns(rows: readonly WorkloadRow[]): Column<Line>[] {
	const scale = forestScale(rows.map((row) => row.workload));
	return [
		// The change before the times: on a phone the table is cut on the right.
		{
			title: "change",
			numeric: true,
			cell: ({ texts }) => html`<span class="strong">${texts.change}</span>`,
			sortBy: ({ row }) => row.workload.latency.estimate,
		},
		{
			title: forestTitle(rows),
			axis: forestAxis(scale),
			cell: ({ row }) => drawForest(row, scale),
			sortBy: ({ row }) => row.workload.latency.interval?.[1] ?? null,
		},
		{
			title: armTitle("base", rows),
			numeric: true,
			cell: ({ texts }) => texts.base,
			sortBy: ({ row }) => shownMs(row.workload, "base") ?? null,
		},
		{
			title: armTitle("head", rows),
			numeric: true,
			cell: ({ texts }) => texts.head,
			sortBy: ({ row }) => shownMs(row.workload, "head") ?? null,
		},
	];
}

function headColumns(rows: readonly WorkloadRow[]): Column<Line>[] {
	return [
		{
			title: armTitle("time", rows),
			numeric: true,
			cell: ({ texts }) => texts.head,
			sortBy: ({ row }) => shownMs(row.workload, "head") ?? null,
		},
	];
}

function goldenCell({ golden }: WorkloadRow): Piece {
	return golden === null ? "–" : pill(`${golden.match} / ${golden.total}`, golden.tone);
}

function verdictCell({ row }: Line, result: Result): Piece {
	const { caveat } = backendOf(result, row.workload);
	if (caveat === undefined || !row.verdict.includes("(")) return pill(row.verdict, row.tone);
	// The caveat has its own line to keep the column narrow.
	return html`${pill(row.verdict.slice(0, row.verdict.indexOf(" (")), row.tone)}<small>(${cleanName(caveat)})</small>`;
}

function columnsOf(rows: readonly WorkloadRow[], result: Result): Column<Line>[] {
	const compared = result.arms.base !== null;
	const memory = result.backend.kind === "tensorrt" ? "GPU memory" : "peak memory";
	return [
		{
			title: "Workload",
			heading: true,
			cell: ({ row, anchor }) => (anchor === null ? workloadName(row) : html`<a href="#${anchor}">${workloadName(row)}</a>`),
		},
		...(compared ? [{ title: "Verdict", cell: (line: Line) => verdictCell(line, result) }] : []),
		...(compared ? comparedColumns(rows) : headColumns(rows)),
		{
			title: compared ? "P99 change" : "P99",
			numeric: true,
			cell: ({ texts }) => texts.p99,
			sortBy: ({ row }) => row.workload.p99.estimate ?? row.workload.head?.p99Ms ?? null,
		},
		{ title: memory, numeric: true, cell: ({ texts }) => texts.memory, sortBy: ({ row }) => row.workload.head?.peakMemoryBytes ?? null },
		...(result.golden.length === 0 ? [] : [{ title: "golden", cell: ({ row }: Line) => goldenCell(row) }]),
	];
}

/** Rows that need attention first, each part in the order of the result. */
export function workloadTable(result: Result, rows: readonly WorkloadRow[], anchors: ReadonlyMap<WorkloadRow, string>): Piece {
	const unchanged = rows.filter((row) => row.isUnchanged);
	const ordered = [...rows.filter((row) => !row.isUnchanged), ...unchanged].slice(0, maxRows);
	const title = withCaveat("Workloads", result.backend);
	const columns = columnsOf(ordered, result);
	const table = (some: readonly WorkloadRow[]): Piece => {
		const lines = some.map((row): Line => ({ row, texts: workloadTexts(row), anchor: anchors.get(row) ?? null }));
		return lines.length === 0 ? null : sortableTable(title, columns, lines);
	};
	const open = ordered.length > maxOpenRows ? ordered.filter((row) => !row.isUnchanged) : ordered;
	const quiet = ordered.slice(open.length);
	const label = result.arms.base === null ? "timed" : "unchanged";
	const rest = quiet.length === 0 ? null : folded(counted(unchanged.length, `${label} workload`), table(quiet));
	return section(title, [table(open), rest, moreText(rows.length - maxRows, "rows")], "workloads");
}
