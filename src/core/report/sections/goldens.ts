// Each golden check with its cap on a logarithmic bar, the pictures of those that fail, and their highlights.
import type { GoldenCheck, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, goldenLabels, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { allowedText, checkLabel, goldenCounts, gotText, worstText } from "../golden-format.ts";
import { errorPictures } from "../html/errors/pictures.ts";
import { at, type Column, html, nameOf, type Piece } from "../html/markup.ts";
import { linearScale, type Scale } from "../html/scale.ts";
import { type Block, details, type ReportSection, sentence, table } from "../section.ts";
import { goldenHighlights } from "./golden-highlights.ts";

interface Line {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

type Value = GoldenCheck["got"] | undefined;

/** Up to this many checks are in one table; beyond, those that pass are folded. */
const openRows = 12;
const barWidth = 100;

/** Decades from the smallest to the largest error of all checks, with one decade of air on the left. */
function logScale(lines: readonly Line[]): Scale {
	const values = lines
		.filter(({ check }) => check.bound === "at-most")
		.flatMap(({ check }) => [check.got, check.allowed, check.base])
		.flatMap((value) => (typeof value === "number" && value > 0 ? [Math.log10(value)] : []))
		.slice(0, 100_000);
	const low = Math.max(-12, Math.floor(Math.min(0, ...values)) - 1);
	const high = Math.min(12, Math.ceil(Math.max(low + 1, ...values)));
	return linearScale([low, high], [0, barWidth]);
}

/** Values that are not finite go last. */
function sortable(value: Value): number | null {
	return typeof value === "number" ? value : value === "Infinity" || value === "NaN" ? 1e300 : null;
}

function place(value: Value, scale: Scale): number | null {
	const number = sortable(value);
	return number === null ? null : number > 0 ? scale.place(Math.log10(number)) : 0;
}

/** A bar for the head's value, a mark for the limit and a tick for the base's value. */
function drawBar({ check }: Line, scale: Scale): Piece {
	const [got, cap, own] = [check.got, check.allowed, check.base].map((value) => place(value, scale));
	if (got == null || check.bound === "at-least") return null;
	const tone = check.pass ? "" : check.severity === "warn" ? " warn" : " bad";
	const mark = (kind: string, x: number | null | undefined, size: Piece): Piece =>
		x == null ? null : html`<rect class="${kind}" x="${at(Math.max(0, x - 0.4))}" ${size}/>`;
	return html`<svg class="gold" viewBox="0 0 ${barWidth} 12" preserveAspectRatio="none" aria-hidden="true"><rect class="track" y="1" width="${barWidth}" height="10" rx="1"/><rect class="bar${tone}" y="1" width="${Math.max(0.6, at(got))}" height="10" rx="1"/>${mark("own", own, html`y="7" width=".6" height="5"`)}${mark("cap", cap, html`width=".8" height="12"`)}</svg>`;
}

const columnsOf = (scale: Scale): Column<Line>[] => [
	{
		title: "Output",
		heading: true,
		text: ({ verdict, check }) => `${subjectName(verdict)} · ${cleanName(check.output, 60)}`,
		cell: ({ verdict, check }) => [
			nameOf(verdict.model, [verdict.engine, verdict.case], verdict.part),
			html`<small>${cleanName(check.output, 60)}</small>`,
		],
	},
	{
		title: "check",
		text: ({ check: { pass, severity, existing } }) =>
			pass ? "pass" : existing === true ? `${severity}, base too` : severity,
		tone: ({ check }) => (check.pass ? "ok" : check.severity === "warn" ? "warn" : "bad"),
	},
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
		sortBy: ({ check }) => sortable(check.got),
	},
	{
		title: "allowed",
		numeric: true,
		text: ({ check }) => allowedText(check),
		sortBy: ({ check }) => check.allowed,
	},
	{
		title: "head on a log scale; mark: allowed, tick: base",
		cell: (line) => drawBar(line, scale),
		sortBy: ({ check }) => sortable(check.got),
	},
	{
		title: "worst element",
		wraps: true,
		text: ({ check }) =>
			[worstText(check) ?? [], check.detail === undefined ? [] : cleanName(check.detail, 160)]
				.flat()
				.join(" · "),
	},
];

/** Verdicts without checks, or with a message. */
function remarks({ golden }: Result): string[] {
	return golden
		.filter(
			({ state, checks, message }) => state !== "match" && (checks.length === 0 || message !== undefined),
		)
		.slice(0, 50)
		.map(
			({ state, message, ...of }) =>
				`${subjectName(of)}: ${goldenLabels[state]}${message === undefined ? "" : `. ${cleanMessage(message)}`}`,
		);
}

function blocksOf(result: Result, isPage: boolean): Block[] {
	const lines = result.golden.flatMap((verdict) => verdict.checks.map((check) => ({ verdict, check })));
	const passing = lines.filter(({ check }) => check.pass);
	const failing = lines.filter(({ check }) => !check.pass);
	const columns = columnsOf(logScale(lines));
	const checks = (label: string, rows: readonly Line[]) => table(label, columns, rows, { noun: "check" });
	if (!isPage)
		return failing.length === 0
			? [sentence("Each output of each case is in `report.html`.")]
			: [checks("golden checks", failing)];
	const isShort = lines.length <= openRows || passing.length === 0;
	const quiet = [checks("golden checks that pass", passing)];
	return [
		{ kind: "list", items: remarks(result) },
		checks("golden checks", isShort ? [...failing, ...passing] : failing),
		...(isShort ? [] : details(`${counted(passing.length, "check")} that pass`, quiet)),
		{ kind: "figure", drawn: errorPictures(result) },
	];
}

export const goldenSection: ReportSection = {
	id: "goldens",
	formats: ["markdown", "html"],
	show: ({ result }, { format }) =>
		result.golden.length === 0
			? null
			: { title: `Goldens: ${goldenCounts(result.golden)}`, blocks: blocksOf(result, format === "html") },
	highlights: goldenHighlights,
};
