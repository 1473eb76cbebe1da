// Each golden check with its cap on a logarithmic bar, the pictures of those that fail, and their highlights.
import type { GoldenCheck, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, goldenLabels, subjectName, type Tone } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import type { Detail } from "../budget.ts";
import { cleanMessage } from "../comparison-format.ts";
import { allowedText, checkLabel, goldenCounts, gotText, worstText } from "../golden-format.ts";
import { errorPictures } from "../html/errors/pictures.ts";
import {
	at,
	type Column,
	folded,
	html,
	type Markup,
	type Piece,
	partLine,
	pill,
	section,
} from "../html/markup.ts";
import { linearScale, type Scale } from "../html/scale.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";
import { goldenHighlights } from "./golden-highlights.ts";

interface Line {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

const maxRows = 500;
const noun = "check";
/** Up to this many checks are in one table; beyond, those that pass are folded. */
const openRows = 12;
const barWidth = 100;

function positive(value: GoldenCheck["got"] | undefined): number[] {
	return typeof value === "number" && value > 0 ? [value] : [];
}

/** Decades of the axis: from the smallest to the largest error of all checks, one decade of air on the left. */
function logScale(lines: readonly Line[]): Scale {
	const values = lines
		.filter(({ check }) => check.bound === "at-most")
		.flatMap(({ check }) => [...positive(check.got), ...positive(check.allowed), ...positive(check.base)])
		.slice(0, 100_000)
		.map(Math.log10);
	const low = Math.max(-12, Math.floor(Math.min(0, ...values)) - 1);
	const high = Math.min(12, Math.ceil(Math.max(low + 1, ...values)));
	return linearScale([low, high], [0, barWidth]);
}

function place(value: GoldenCheck["got"] | undefined, scale: Scale): number | null {
	if (typeof value === "number") return value > 0 ? scale.place(Math.log10(value)) : 0;
	return value === "Infinity" || value === "NaN" ? barWidth : null;
}

function barTone(check: GoldenCheck): string {
	return check.pass ? "" : check.severity === "warn" ? " warn" : " bad";
}

function drawBar({ check }: Line, scale: Scale): Piece {
	const got = place(check.got, scale);
	if (got === null || check.bound === "at-least") return null;
	const cap = place(check.allowed, scale);
	const own = place(check.base ?? null, scale);
	const label = `${gotText(check)}${check.allowed === null ? "" : `, allowed ${formatValue(check.allowed)}`}`;
	return html`<svg class="gold" viewBox="0 0 ${barWidth} 12" preserveAspectRatio="none" role="img" aria-label="${label}"><title>${label}</title><rect class="track" y="1" width="${barWidth}" height="10" rx="1"/><rect class="bar${barTone(check)}" y="1" width="${Math.max(0.6, at(got))}" height="10" rx="1"/>${own === null ? null : html`<rect class="own" x="${at(Math.max(0, own - 0.3))}" y="7" width=".6" height="5"/>`}${cap === null ? null : html`<rect class="cap" x="${at(Math.max(0, cap - 0.4))}" width=".8" height="12"/>`}</svg>`;
}

function sortable(value: GoldenCheck["got"] | undefined): number | null {
	return typeof value === "number" ? value : value === "Infinity" || value === "NaN" ? 1e300 : null;
}

function checkPill(check: GoldenCheck): Markup {
	const tone: Tone = check.pass ? "ok" : check.severity === "warn" ? "warn" : "bad";
	return pill(checkWord(check), tone);
}

function checkWord({ pass, severity, existing }: GoldenCheck): string {
	return pass ? "pass" : existing === true ? `${severity}, base too` : severity;
}

function worstCell({ check }: Line): string {
	return [worstText(check), check.detail === undefined ? null : cleanName(check.detail, 160)]
		.filter((text) => text !== null)
		.join(" · ");
}

const columns: readonly Column<Line>[] = [
	{
		title: "Output",
		heading: true,
		text: ({ verdict, check }) => `${subjectName(verdict)} · ${cleanName(check.output, 60)}`,
		cell: ({ verdict, check }) =>
			html`<b>${cleanName(verdict.model)}</b> ${cleanName(check.output, 60)}<small>${cleanName(verdict.engine)} · ${cleanName(verdict.case)}</small>${partLine(verdict.part)}`,
	},
	{ title: "check", text: ({ check }) => checkWord(check), cell: ({ check }) => checkPill(check) },
	{
		title: "metric",
		wraps: true,
		text: ({ check }) =>
			`${checkLabel(check)}${check.sample === undefined ? "" : `, sample ${check.sample}`}`,
	},
	{
		title: "base engine",
		numeric: true,
		text: ({ check }) => formatValue(check.base ?? null),
		sortBy: ({ check }) => sortable(check.base),
	},
	{
		title: "head engine",
		numeric: true,
		text: ({ check }) => gotText(check),
		cell: ({ check }) => html`<span class="strong">${gotText(check)}</span>`,
		sortBy: ({ check }) => sortable(check.got),
	},
	{
		title: "allowed",
		numeric: true,
		text: ({ check }) => allowedText(check),
		sortBy: ({ check }) => check.allowed,
	},
	{ title: "worst element", wraps: true, text: worstCell },
];

/** In HTML before the worst element. */
function withBars(scale: Scale): Column<Line>[] {
	const bars: Column<Line> = {
		title: "head on a log scale; mark: allowed, tick: base",
		cell: (line) => drawBar(line, scale),
		sortBy: ({ check }) => sortable(check.got),
	};
	return columns.toSpliced(-1, 0, bars);
}

/** Verdicts without checks, or with a message. */
function remarks(result: Result): Piece {
	const verdicts = result.golden
		.filter(
			(verdict) =>
				verdict.state !== "match" && (verdict.checks.length === 0 || verdict.message !== undefined),
		)
		.slice(0, 50);
	if (verdicts.length === 0) return null;
	return html`<ul>${verdicts.map(
		({ model, engine, case: name, part, state, message }) =>
			html`<li>${pill(goldenLabels[state], state === "mismatch" ? "bad" : "open")} ${subjectName({ model, engine, case: name, part })}${message === undefined ? "" : `: ${cleanMessage(message)}`}</li>\n`,
	)}</ul>\n`;
}

interface Facts {
	result: Result;
	title: string;
	/** Failing ones first. */
	lines: readonly Line[];
}

function markdownBlock({ title, lines }: Facts, { goldens: most }: Detail): string {
	const rows = lines.filter(({ check }) => !check.pass);
	if (rows.length === 0) return foldedMarkdown(title, "Each output of each case is in `report.html`.");
	return foldedTable(title, columns, { rows, most, noun });
}

function htmlPart({ result, title, lines }: Facts): Piece {
	const scale = logScale(lines);
	const passing = lines.filter(({ check }) => check.pass);
	const failing = lines.slice(0, lines.length - passing.length);
	const table = (label: string, rows: readonly Line[]) =>
		htmlTable(label, withBars(scale), { rows, most: maxRows, noun });
	const body =
		lines.length <= openRows
			? table("golden checks", lines)
			: [
					table("golden checks that fail", failing),
					passing.length === 0
						? null
						: folded(
								`${counted(passing.length, "check")} that pass`,
								table("golden checks that pass", passing),
							),
				];
	return section(title, [remarks(result), body, errorPictures(result)], "goldens");
}

export const goldenSection = defineSection({
	id: "goldens",
	select: ({ result }) => {
		if (result.golden.length === 0) return null;
		const lines = result.golden
			.flatMap((verdict) => verdict.checks.map((check) => ({ verdict, check })))
			.sort((a, b) => Number(a.check.pass) - Number(b.check.pass));
		return { result, title: `Goldens: ${goldenCounts(result.golden)}`, lines };
	},
	markdown: (facts, detail) => [markdownBlock(facts, detail)],
	html: htmlPart,
	highlights: goldenHighlights,
});
