// The main table of the page: one row a workload, with the forest plot.
import type { Result, WorkloadResult } from "../../../../generated/result.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, withCaveat } from "../../text/labels.ts";
import { formatLimit, formatPercent } from "../../text/units.ts";
import { changeText, intervalText, levelText } from "../comparison-format.ts";
import { backendOf } from "../facts.ts";
import { armTitle, isCounted, type WorkloadRow, type WorkloadTexts, workloadTexts } from "../rows.ts";
import {
	at,
	type Column,
	folded,
	html,
	type Markup,
	moreText,
	type Piece,
	partLine,
	pill,
	section,
	sortableTable,
} from "./markup.ts";
import { linearScale, roundTicks, type Scale } from "./scale.ts";

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
	const level = same(rows.map((row) => levelText(comparedOf(row.workload))));
	const zone = same(rows.map((row) => formatLimit(comparedOf(row.workload).minimalEffect)));
	const gate = same(
		rows.map(({ workload }) =>
			workload.limits?.fail === undefined ? "" : formatLimit(workload.limits.fail),
		),
	);
	const parts = [
		...(isCounted(rows) ? [] : [level === undefined ? "interval" : `${level} interval`]),
		zone === undefined ? "grey: too small to count" : `grey: ±${zone}`,
		...(gate === undefined ? ["dashed: fails"] : gate === "" ? [] : [`dashed: fails at ${gate}`]),
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
			sortBy: ({ row }) => comparedOf(row.workload).estimate,
		},
		{
			title: forestTitle(rows),
			axis: forestAxis(scale),
			cell: ({ row }) => drawForest(row, scale),
			sortBy: ({ row }) => comparedOf(row.workload).interval?.[1] ?? null,
		},
		{
			title: armTitle("base", rows),
			numeric: true,
			cell: ({ texts }) => texts.base,
			sortBy: ({ row }) => comparedOf(row.workload).base ?? shownMs(row.workload, "base") ?? null,
		},
		{
			title: armTitle("head", rows),
			numeric: true,
			cell: ({ texts }) => texts.head,
			sortBy: ({ row }) => comparedOf(row.workload).head ?? shownMs(row.workload, "head") ?? null,
		},
	];
}

function headColumns(rows: readonly WorkloadRow[]): Column<Line>[] {
	return [
		{
			title: armTitle("time", rows),
			numeric: true,
			cell: ({ texts }) => texts.head,
			sortBy: ({ row }) => comparedOf(row.workload).head ?? shownMs(row.workload, "head") ?? null,
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
	const ofTimed: Column<Line>[] = [
		{
			title: compared ? "P99 change" : "P99",
			numeric: true,
			cell: ({ texts }) => texts.p99,
			sortBy: ({ row }) => row.workload.p99.estimate ?? row.workload.head?.p99Ms ?? null,
		},
		{
			title: "GPU memory",
			numeric: true,
			cell: ({ texts }) => texts.memory,
			sortBy: ({ row }) => row.workload.head?.peakMemoryBytes ?? null,
		},
	];
	return [
		{
			title: "Workload",
			heading: true,
			cell: ({ row, anchor }) =>
				anchor === null ? workloadName(row) : html`<a href="#${anchor}">${workloadName(row)}</a>`,
		},
		...(compared ? [{ title: "Verdict", cell: (line: Line) => verdictCell(line, result) }] : []),
		...(compared ? comparedColumns(rows) : headColumns(rows)),
		...(isCounted(rows) ? [] : ofTimed),
		...(result.golden.length === 0 ? [] : [{ title: "golden", cell: ({ row }: Line) => goldenCell(row) }]),
	];
}

/** Rows that need attention first, each part in the order of the result. */
export function workloadTable(
	result: Result,
	rows: readonly WorkloadRow[],
	anchors: ReadonlyMap<WorkloadRow, string>,
): Piece {
	const unchanged = rows.filter((row) => row.isUnchanged);
	const ordered = [...rows.filter((row) => !row.isUnchanged), ...unchanged].slice(0, maxRows);
	const title = withCaveat("Workloads", result.backend);
	const columns = columnsOf(ordered, result);
	const table = (some: readonly WorkloadRow[]): Piece => {
		const lines = some.map(
			(row): Line => ({ row, texts: workloadTexts(row), anchor: anchors.get(row) ?? null }),
		);
		return lines.length === 0 ? null : sortableTable(title, columns, lines);
	};
	const open = ordered.length > maxOpenRows ? ordered.filter((row) => !row.isUnchanged) : ordered;
	const quiet = ordered.slice(open.length);
	const label = result.arms.base !== null ? "unchanged" : isCounted(rows) ? "counted" : "timed";
	const rest =
		quiet.length === 0 ? null : folded(counted(unchanged.length, `${label} workload`), table(quiet));
	return section(title, [table(open), rest, moreText(rows.length - maxRows, "rows")], "workloads");
}

// The column of the main table that shows every change with its interval on one common axis.
const width = 230;
const height = 26;
const middle = height / 2;
const margin = 10;

/** The farthest value that the axis is stretched for: beyond it, arrows; else one outlier would flatten all others. */
function reach(workloads: readonly WorkloadResult[]): number {
	return workloads.reduce(
		(most, { limits, ...row }) =>
			Math.max(most, 4 * comparedOf(row).minimalEffect, 1.5 * (limits?.fail ?? 0)),
		0.02,
	);
}

/** The common axis of all rows: every interval, every zone and every gate, as far as `reach`. */
function forestScale(workloads: readonly WorkloadResult[]): Scale {
	const farthest = reach(workloads);
	const values = workloads.flatMap((workload) => {
		const { minimalEffect, interval } = comparedOf(workload);
		const { fail } = workload.limits ?? {};
		return [-minimalEffect, minimalEffect, ...(interval ?? []), ...(fail === undefined ? [] : [fail])];
	});
	const low = Math.max(-farthest, Math.min(-0.001, ...values.slice(0, 100_000)));
	const high = Math.min(farthest, Math.max(0.001, ...values.slice(0, 100_000)));
	const pad = (high - low) * 0.04;
	return linearScale([low - pad, high + pad], [margin, width - margin]);
}

/** Tick labels under the column's title. */
function forestAxis(scale: Scale): Markup {
	const ticks = roundTicks(scale, 4);
	const digits = ticks.every((tick) => Math.abs(tick * 100 - Math.round(tick * 100)) < 1e-9) ? 0 : 1;
	const labels = ticks.map((tick) => {
		const text = tick === 0 ? "0" : formatPercent(tick, { sign: true, digits });
		return html`<text class="tick" x="${at(scale.place(tick))}" y="12" text-anchor="middle">${text}</text>`;
	});
	return html`<svg class="forest" viewBox="0 0 ${width} 16" aria-hidden="true">${labels}</svg>`;
}

function vertical(kind: string, x: number): Markup {
	return html`<line class="${kind}" x1="${at(x)}" x2="${at(x)}" y1="2" y2="${height - 2}"/>`;
}

/** An arrowhead where a value lies beyond the axis. */
function beyond(value: number, scale: Scale, tone: string): Piece {
	if (value > scale.to) return html`<path class="beyond ${tone}" d="M${width - 9} ${middle - 5}l6 5l-6 5"/>`;
	if (value < scale.from) return html`<path class="beyond ${tone}" d="M9 ${middle - 5}l-6 5l6 5"/>`;
	return null;
}

function drawInterval({ workload, tone }: WorkloadRow, scale: Scale): Piece {
	const { estimate, interval } = comparedOf(workload);
	if (estimate === null) return null;
	const bar =
		interval === null
			? null
			: html`<line class="ci ${tone}" x1="${at(scale.place(interval[0]))}" x2="${at(scale.place(interval[1]))}" y1="${middle}" y2="${middle}"/>`;
	const inside = estimate >= scale.from && estimate <= scale.to;
	const dot = inside
		? html`<circle class="dot ${tone}" cx="${at(scale.place(estimate))}" cy="${middle}" r="4"/>`
		: beyond(estimate, scale, tone);
	return [bar, dot];
}

function drawForest(row: WorkloadRow, scale: Scale): Markup {
	const { limits } = row.workload;
	const compared = comparedOf(row.workload);
	const [left, right] = [scale.place(-compared.minimalEffect), scale.place(compared.minimalEffect)];
	const gate =
		limits?.fail === undefined || limits.fail > scale.to ? null : vertical("gate", scale.place(limits.fail));
	const interval =
		row.workload.work === undefined ? `, ${levelText(compared)} interval ${intervalText(compared)}` : "";
	const label = compared.estimate === null ? "not compared" : `change ${changeText(compared)}${interval}`;
	return html`<svg class="forest" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}"><title>${label}</title><rect class="zone" x="${at(left)}" y="3" width="${at(right - left)}" height="${height - 6}"/>${vertical("zero", scale.place(0))}${gate}${drawInterval(row, scale)}</svg>`;
}
