// Each golden check with its limit, the pictures of those that fail, and their highlights.
import type { GoldenCheck, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, goldenLabels, present, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { allowedText, checkLabel, goldenCounts, gotText, sortable, worstText } from "../golden-format.ts";
import { errorPictures } from "../html/errors/pictures.ts";
import { html, nameOf } from "../html/markup.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	long,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";
import { goldenHighlights } from "./golden-highlights.ts";

interface Line {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

/** Up to this many checks are in one table; beyond, those that pass are folded. */
const openRows = 12;

const columns: readonly Column<Line>[] = [
	heading("Output", ({ verdict, check }) => `${subjectName(verdict)} · ${cleanName(check.output, 60)}`, {
		cell: ({ verdict, check }) => [
			nameOf(verdict.model, [verdict.engine, verdict.case], verdict.part),
			html`<small>${cleanName(check.output, 60)}</small>`,
		],
	}),
	plain(
		"check",
		({ check: { pass, severity, existing } }) =>
			pass ? "pass" : existing === true ? `${severity}, base too` : severity,
		{
			tone: ({ check }) => (check.pass ? "ok" : check.severity === "warn" ? "warn" : "bad"),
		},
	),
	long("metric", ({ check }) => {
		return `${checkLabel(check)}${check.sample === undefined ? "" : `, sample ${check.sample}`}`;
	}),
	numeric("base engine", ({ check }) => formatValue(check.base ?? null), {
		sortBy: ({ check }) => sortable(check.base),
	}),
	numeric("head engine", ({ check }) => gotText(check), { sortBy: ({ check }) => sortable(check.got) }),
	numeric("allowed", ({ check }) => allowedText(check), { sortBy: ({ check }) => check.allowed }),
	long("worst element", ({ check }) =>
		present([worstText(check), check.detail && cleanName(check.detail, 160)]).join(" · "),
	),
];

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
