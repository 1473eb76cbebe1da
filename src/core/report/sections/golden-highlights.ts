import type { GoldenCheck, GoldenState, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { cleanMessage, quoted } from "../../text/escape.ts";
import { capitalize, counted, present, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { capRatio, caseVerdicts, measureText, worstText } from "../golden-format.ts";
import type { Highlight, HighlightSeverity } from "../highlight.ts";
import { engineKey, type GateIndex } from "../index-gates.ts";

interface Failing {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

function sentenceOf(text: string): string {
	const capital = capitalize(text);
	return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

function placeOf({ check, verdict }: Failing, totalCases: number): string {
	if (verdict.scope !== undefined) return ` over the whole set of ${counted(verdict.cases ?? 0, "case")}`;
	const place = present([
		totalCases !== 1 && `case ${quoted(verdict.case, 60)}`,
		check.sample !== undefined && `sample ${check.sample}`,
	]);
	return place.length === 0 ? "" : ` (${place.join(", ")})`;
}

/** `logits: relative L2 is 3.3e-2, 33 times the limit of 1e-3 (case a); base 3e-7.` */
function checkLine(failing: Failing, totalCases: number): string {
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

function worstChecks(verdicts: readonly GoldenVerdict[]): Failing[] {
	const failing = verdicts
		.flatMap((verdict) => verdict.checks.map((check) => ({ verdict, check })))
		.filter(({ check }) => !check.pass)
		.sort((a, b) => capRatio(b.check) - capRatio(a.check));
	return [...groupBy(failing, ({ check }) => check.output).values()].flatMap(([worst]) => worst ?? []);
}

/** More would push the sentences off the screen. */
const maxLines = 8;

function mismatchTexts(
	verdicts: readonly GoldenVerdict[],
	totalCases: number,
): Pick<Highlight, "lines" | "sentences"> {
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

function messagesOf(verdicts: readonly GoldenVerdict[]): string[] {
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

function existingFix(gate: HighlightSeverity): string {
	const fix = "Fix the base's model or engine; if the golden is wrong, record it again.";
	return gate === "fail"
		? fix
		: `${fix} With \`gates: { golden: { existing: fail } }\` it would fail the check.`;
}

/** ` in 1 of 9 cases, and over its whole set of 9 cases`. */
function extentOf(group: readonly GoldenVerdict[], totalCases: number): string {
	const cases = caseVerdicts(group).length;
	const all = counted(totalCases, "case");
	return present([
		cases > 0 && ` in ${cases} of ${all}`,
		cases < group.length && ` over its whole set of ${all}`,
	]).join(", and");
}

function groupHighlight(group: readonly GoldenVerdict[], totalCases: number, gates: GateIndex): Highlight[] {
	const [first] = group;
	if (first === undefined) return [];
	const { model, engine, part, state, fault } = first;
	const [ownSeverity, topic, topics, title] = states[state];
	const cases = new Set(state === "match" ? [] : group.map((verdict) => verdict.case));
	const subject = subjectName({ model, engine, part });
	const common = gates.explain("golden", first, ownSeverity, cases);
	if (fault !== undefined)
		return [
			{
				...common,
				topic: ["unusable golden", "unusable goldens"],
				title: `${subject} has a golden that cannot be used`,
				sentences: messagesOf(group),
				fix: cleanMessage(fault.fix),
			},
		];
	const cause = state === "existing" ? ", as the base does; this change did not cause it" : "";
	return [
		{
			...common,
			topic: [topic, topics],
			title: `${subject} ${title}${extentOf(group, totalCases)}${cause}`,
			...mismatchTexts(group, totalCases),
			fix: state === "existing" ? existingFix(common.severity) : undefined,
		},
	];
}

export function goldenHighlights({ golden }: Result, gates: GateIndex): Highlight[] {
	const totals = groupBy(caseVerdicts(golden), engineKey);
	const notable = golden.filter(({ state, checks }) => state !== "match" || checks.some(({ pass }) => !pass));
	const groups = groupBy(
		notable,
		(verdict) => (verdict.fault === undefined ? verdict.state : "fault") + engineKey(verdict),
	);
	return [...groups.values()].flatMap((group) =>
		groupHighlight(group, (group[0] && totals.get(engineKey(group[0]))?.length) ?? 0, gates),
	);
}
