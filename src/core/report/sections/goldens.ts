// Each golden check with its limit, the pictures of those that fail, and their highlights.
import type { GoldenCheck, GoldenState, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { type Group, groupBy } from "../../group.ts";
import { cleanMessage, cleanName, quoted } from "../../text/escape.ts";
import { capitalize, counted, goldenLabels, present, subjectName, subjectOf } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import {
	allowedText,
	capRatio,
	caseVerdicts,
	checkLabel,
	goldenCounts,
	gotText,
	measureText,
	sortable,
	worstText,
} from "../golden-format.ts";
import { engineKey, type GateIndex, type Highlight, type HighlightSeverity } from "../highlight.ts";
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

interface Judged {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

function sentenceOf(text: string) {
	const capital = capitalize(text);
	return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

function placeOf({ check, verdict }: Judged, totalCases: number) {
	if (verdict.scope === "set") return ` over the whole set of ${counted(verdict.cases ?? 0, "case")}`;
	const place = present([totalCases !== 1 && `case ${quoted(verdict.case, 60)}`, sampleText(check)]);
	return place.length === 0 ? "" : ` (${place.join(", ")})`;
}

/** In a sequence, the steps after the first wrong one follow from it. */
function sampleText({ sample, position }: GoldenCheck) {
	if (position !== undefined) return `first at position ${position}`;
	return sample === undefined ? "" : `sample ${sample}`;
}

function checkLine(failing: Judged, totalCases: number) {
	const { metric, detail, output, base, baseAllowed, existing } = failing.check;
	// The detail has both numbers, and its limit is not one of the golden's.
	const measure =
		metric === "error-growth" && detail !== undefined
			? cleanMessage(detail, 300)
			: measureText(failing.check);
	const own = baseAllowed == null ? "" : ` (its own limit ${formatValue(baseAllowed)})`;
	const ofBase = present([
		base != null && `base ${formatValue(base)}${own}`,
		existing === true && "the base fails this check too",
	]).join(", ");
	return `${quoted(output, 80)}: ${measure}${placeOf(failing, totalCases)}${ofBase && `; ${ofBase}`}.`;
}

function worstChecks(verdicts: readonly GoldenVerdict[]) {
	const failing = verdicts
		.flatMap((verdict) => verdict.checks.map((check) => ({ verdict, check })))
		.filter(({ check }) => !check.pass)
		.sort((a, b) => capRatio(b.check) - capRatio(a.check));
	return [...groupBy(failing, ({ check }) => check.output).values()].map(([worst]) => worst);
}

const maxLines = 8;

function mismatchTexts(verdicts: readonly GoldenVerdict[], totalCases: number) {
	const checks = worstChecks(verdicts);
	const [first] = checks;
	if (first === undefined) return { sentences: messagesOf(verdicts) };
	const { detail, metric } = first.check;
	const worst = worstText(first.check);
	const hidden = checks.length - maxLines;
	return {
		lines: present([
			...checks.slice(0, maxLines).map((check) => checkLine(check, totalCases)),
			hidden > 0 && `… and ${counted(hidden, "more output")}.`,
		]),
		sentences: present([
			...messagesOf(verdicts),
			worst && `Worst element ${worst}.`,
			detail !== undefined && metric !== "error-growth" && sentenceOf(cleanMessage(detail, 300)),
		]),
	};
}

function messagesOf(verdicts: readonly GoldenVerdict[]) {
	const texts = verdicts.flatMap(({ message }) => (message === undefined ? [] : [cleanMessage(message)]));
	return [...new Set(texts)].slice(0, 3);
}

const states: Readonly<
	Record<GoldenState, [severity: HighlightSeverity, topic: string, topics: string, title: string]>
> = {
	match: ["warn", "golden warning", "golden warnings", "stays within its goldens, with warnings"],
	mismatch: ["fail", "golden mismatch", "golden mismatches", "does not match its goldens"],
	existing: ["warn", "pre-existing golden mismatch", "pre-existing golden mismatches", "fails its goldens"],
	stale: ["warn", "stale golden", "stale goldens", "has stale goldens"],
	error: ["error", "golden not judged", "goldens not judged", "could not be compared with its goldens"],
};

function existingFix(gate: HighlightSeverity) {
	const fix = "Fix the base's model or engine; if the golden is wrong, record it again.";
	return gate === "fail"
		? fix
		: `${fix} With \`gates: { golden: { existing: fail } }\` it would fail the check.`;
}

function extentOf(group: readonly GoldenVerdict[], totalCases: number) {
	const cases = caseVerdicts(group).length;
	const all = counted(totalCases, "case");
	return present([
		cases > 0 && ` in ${cases} of ${all}`,
		cases < group.length && ` over its whole set of ${all}`,
	]).join(", and");
}

function groupHighlight(group: Group<GoldenVerdict>, totalCases: number, gates: GateIndex): Highlight {
	const [first] = group;
	const { model, engine, part, state, fault } = first;
	const [ownSeverity, topic, topics, title] = states[state];
	const cases = new Set(state === "match" ? [] : group.map((verdict) => verdict.case));
	const about = subjectOf({ model, engine, part });
	const subject = subjectName(about);
	const common = gates.explain("golden", first, ownSeverity, cases);
	if (fault !== undefined)
		return {
			...common,
			about,
			topic: ["unusable golden", "unusable goldens"],
			title: `${subject} has a golden that cannot be used`,
			sentences: messagesOf(group),
			fix: cleanMessage(fault.fix),
		};
	const cause = state === "existing" ? ", as the base does; this change did not cause it" : "";
	return {
		...common,
		about,
		topic: [topic, topics],
		title: `${subject} ${title}${extentOf(group, totalCases)}${cause}`,
		...mismatchTexts(group, totalCases),
		fix: state === "existing" ? existingFix(common.severity) : undefined,
	};
}

function goldenHighlights({ golden }: Result, gates: GateIndex) {
	const totals = groupBy(caseVerdicts(golden), engineKey);
	const notable = golden.filter(({ state, checks }) => state !== "match" || checks.some(({ pass }) => !pass));
	const groups = groupBy(
		notable,
		(verdict) => (verdict.fault === undefined ? verdict.state : "fault") + engineKey(verdict),
	);
	return [...groups.values()].map((group) =>
		groupHighlight(group, totals.get(engineKey(group[0]))?.length ?? 0, gates),
	);
}

const openRows = 12;

const columns: readonly Column<Judged>[] = [
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
		return present([checkLabel(check), sampleText(check)]).join(", ");
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

function remarks({ golden }: Result) {
	const unlike = golden.filter(
		({ state, checks, message }) => state !== "match" && (checks.length === 0 || message !== undefined),
	);
	const groups = groupBy(unlike, (verdict) =>
		JSON.stringify([engineKey(verdict), verdict.state, verdict.message]),
	);
	return [...groups.values()].slice(0, 50).map(([first, ...others]) => {
		const { state, message, model, engine, part } = first;
		const about = others.length === 0 ? first : subjectOf({ model, engine, part });
		const extent = others.length === 0 ? "" : ` in ${counted(others.length + 1, "case")}`;
		return `${subjectName(about)}: ${goldenLabels[state]}${extent}${message === undefined ? "" : `. ${cleanMessage(message)}`}`;
	});
}

function blocksOf(result: Result, isPage: boolean): Block[] {
	const lines = result.golden.flatMap((verdict) => verdict.checks.map((check) => ({ verdict, check })));
	const passing = lines.filter(({ check }) => check.pass);
	const failing = lines.filter(({ check }) => !check.pass);
	const checks = (label: string, rows: readonly Judged[]) => table(label, columns, rows, { noun: "check" });
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
