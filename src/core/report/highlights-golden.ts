// Stories of engines that do not compute what their golden cases hold.
import { metricLabels } from "../golden/metrics/measured.ts";
import type { GoldenCheck, GoldenElement, GoldenState, GoldenVerdict, Numeric, Result } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted, subjectName } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";
import { cleanMessage } from "./comparison-format.ts";
import { goldenExtent } from "./golden-labels.ts";
import type { Highlight, HighlightSeverity, Phrase } from "./highlight.ts";
import { engineKey, type GateIndex } from "./index-gates.ts";

interface Failing {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

const metricWords: ReadonlyMap<string, string> = new Map([
	...Object.entries(metricLabels),
	["non-finite", "values that are not finite"],
	["dtype", "data type"],
]);

export function metricLabel(metric: string): string {
	return metricWords.get(metric) ?? cleanName(metric, 60).replaceAll("-", " ");
}

/** How often the cap fits into what was got; null where that says nothing. */
function timesTheCap(check: GoldenCheck): number | null {
	if (check.bound !== "at-most" || typeof check.got !== "number" || check.allowed === null || check.allowed <= 0) return null;
	const times = check.got / check.allowed;
	return Number.isFinite(times) ? times : null;
}

/** More digits where a short form would make two different numbers look alike. */
export function gotText(check: GoldenCheck): string {
	const short = formatValue(check.got);
	return short === formatValue(check.allowed) && check.got !== check.allowed ? formatValue(check.got, 8) : short;
}

/** Near one, more digits: a miss by a hair must not read as `1 times`. */
function timesText(times: number): string {
	if (times < 10) return formatValue(times, times < 1.1 ? 4 : 2);
	return times < 1e6 ? String(Math.round(times)) : formatValue(times, 2);
}

function demandText(check: GoldenCheck): string {
	if (check.allowed === null) return "";
	const allowed = formatValue(check.allowed);
	if (check.bound === "at-least") return `, where at least ${allowed} is demanded`;
	const times = timesTheCap(check);
	return times === null ? `, where ${allowed} is allowed` : `, ${timesText(times)} times the allowed ${allowed}`;
}

/** A comparator's remark is no sentence of its own, and the next one follows it. */
function sentence(text: string): string {
	return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** `relative L2 is 3.3e-2, 33 times the allowed 1e-3`. */
export function measureText(check: GoldenCheck): string {
	const measure = metricLabel(check.metric);
	return check.got === null ? measure : `${measure} is ${gotText(check)}${demandText(check)}`;
}

function placeOf({ check, verdict }: Failing): Phrase {
	if (verdict.scope !== undefined) return [` over the whole set of ${counted(verdict.cases ?? 0, "case")}`];
	const sample = check.sample === undefined ? "" : `, sample ${check.sample}`;
	return [" (case ", { code: cleanName(verdict.case, 60) }, `${sample})`];
}

function checkSentence(failing: Failing): Phrase {
	const { check } = failing;
	const where = placeOf(failing);
	// Its sentence has both numbers, and what it is held against is no limit of the golden's.
	if (check.metric === "error-growth" && check.detail !== undefined)
		return [{ code: cleanName(check.output) }, `: ${cleanMessage(check.detail, 300)}`, ...where, "."];
	const detail = check.detail === undefined ? "" : ` ${sentence(cleanMessage(check.detail, 300))}`;
	return [{ code: cleanName(check.output) }, `: ${measureText(check)}`, ...where, `.${detail}`];
}

/** Both values, with more digits where short forms would look alike. */
export function apartTexts({ got, expected }: GoldenElement): { got: string; expected: string } {
	const short = { got: formatValue(got), expected: formatValue(expected) };
	return short.got === short.expected && got !== expected ? { got: formatValue(got, 8), expected: formatValue(expected, 8) } : short;
}

/** How far apart both values are; infinite where one of them is no finite number. */
export function offBy({ got, expected }: GoldenElement): Numeric {
	const size = typeof got === "number" && typeof expected === "number" ? Math.abs(got - expected) : Number.POSITIVE_INFINITY;
	return Number.isFinite(size) ? size : "Infinity";
}

export function worstText(check: GoldenCheck): string | null {
	if (check.worst === undefined) return null;
	const index = check.worst.index.slice(0, 12).join(",");
	const { got, expected } = apartTexts(check.worst);
	return `[${index}]: ${got}, not ${expected}`;
}

/** With how far off it is, where something is allowed of each element. */
function worstSentence({ worst }: GoldenCheck, text: string): string {
	if (worst?.allowed === undefined) return `Worst element ${text}.`;
	return `Worst element ${text}: off by ${formatValue(offBy(worst), 3)}, where ${formatValue(worst.allowed, 3)} is allowed.`;
}

/** How loud a check is: times its cap; one without a ratio (shape, non-finite) is louder than all. */
export function capRatio(check: GoldenCheck): number {
	return timesTheCap(check) ?? Number.MAX_VALUE;
}

function worstFirst(a: Failing, b: Failing): number {
	return capRatio(b.check) - capRatio(a.check);
}

/** One failing check an output and metric: the loudest over all cases. */
function loudest(verdicts: readonly GoldenVerdict[]): Failing[] {
	const failing = verdicts.flatMap((verdict) => verdict.checks.filter((check) => !check.pass).map((check) => ({ verdict, check })));
	const seen = new Map<string, Failing>();
	for (const entry of failing.sort(worstFirst)) {
		const key = JSON.stringify([entry.check.output, entry.check.metric]);
		if (!seen.has(key)) seen.set(key, entry);
	}
	return [...seen.values()];
}

function mismatchSentences(verdicts: readonly GoldenVerdict[]): Phrase[] {
	const checks = loudest(verdicts);
	const first = checks[0];
	if (first === undefined) return messages(verdicts);
	const worst = worstText(first.check);
	return [
		checkSentence(first),
		...(first.check.base === undefined || first.check.base === null
			? []
			: [[`The base engine's own error to the same golden is ${formatValue(first.check.base)}.`]]),
		...(worst === null ? [] : [[worstSentence(first.check, worst)]]),
		...checks.slice(1, 4).map(checkSentence),
		...(checks.length > 4 ? [[`${counted(checks.length - 4, "more check")} of other outputs or metrics fail.`]] : []),
		...messages(verdicts),
	];
}

/** What the judge said in words, each sentence once. */
function messages(verdicts: readonly GoldenVerdict[]): Phrase[] {
	const said = new Set(verdicts.flatMap((verdict) => (verdict.message === undefined ? [] : [cleanMessage(verdict.message)])));
	return [...said].slice(0, 3).map((message) => [message]);
}

const stateSeverity: Readonly<Record<GoldenState, HighlightSeverity>> = { match: "warn", mismatch: "fail", stale: "warn", error: "error" };

const titles: Readonly<Record<GoldenState, string>> = {
	match: "stays within its goldens, with warnings",
	mismatch: "computes something else",
	stale: "cannot be held against its goldens: they are stale",
	error: "could not be held against its goldens",
};

const topics: Readonly<Record<GoldenState, readonly [string, string]>> = {
	match: ["golden warning", "golden warnings"],
	mismatch: ["golden mismatch", "golden mismatches"],
	stale: ["stale golden", "stale goldens"],
	error: ["golden not judged", "goldens not judged"],
};

function isNews(verdict: GoldenVerdict): boolean {
	return verdict.state !== "match" || verdict.checks.some((check) => !check.pass);
}

function groupHighlight(group: readonly GoldenVerdict[], totalCases: number, gates: GateIndex): Highlight | null {
	const first = group[0];
	if (first === undefined) return null;
	const { model, engine, state, part } = first;
	const gate = state === "match" ? undefined : gates.status("golden", { model, engine, part });
	return {
		severity: gate === undefined || gate === "pass" ? stateSeverity[state] : gate,
		topic: topics[state],
		title: `${subjectName({ model, engine, part })} ${titles[state]}${goldenExtent(group, totalCases)}`,
		sentences: mismatchSentences(group),
	};
}

/** One story for each engine and state that is not a plain match. */
export function goldenHighlights(result: Result, gates: GateIndex): Highlight[] {
	const groups = new Map<string, GoldenVerdict[]>();
	const totals = new Map<string, number>();
	for (const verdict of result.golden) {
		const engine = engineKey(verdict);
		totals.set(engine, (totals.get(engine) ?? 0) + (verdict.scope === undefined ? 1 : 0));
		if (!isNews(verdict)) continue;
		const key = verdict.state + engine;
		groups.set(key, [...(groups.get(key) ?? []), verdict]);
	}
	return [...groups.values()]
		.map((group) => groupHighlight(group, (group[0] === undefined ? 0 : totals.get(engineKey(group[0]))) ?? 0, gates))
		.filter((highlight) => highlight !== null);
}
