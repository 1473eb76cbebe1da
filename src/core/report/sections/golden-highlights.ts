// Highlights of engines that do not match their goldens.
import type { GoldenCheck, GoldenState, GoldenVerdict, Result } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { capRatio, goldenExtent, measureText, offBy, worstText } from "../golden-format.ts";
import type { Highlight, HighlightSeverity, Phrase } from "../highlight.ts";
import { engineKey, type GateIndex, gateKey } from "../index-gates.ts";
import type { SectionHighlights } from "../section.ts";

interface Failing {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

/** A comparator's remark may lack its period, and another sentence follows. */
function sentence(text: string): string {
	const capital = /^[a-z]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
	return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

function placeOf({ check, verdict }: Failing): Phrase {
	if (verdict.scope !== undefined) return [` over the whole set of ${counted(verdict.cases ?? 0, "case")}`];
	const sample = check.sample === undefined ? "" : `, sample ${check.sample}`;
	return [" (case ", { code: cleanName(verdict.case, 60) }, `${sample})`];
}

function checkSentence(failing: Failing): Phrase {
	const { check } = failing;
	const where = placeOf(failing);
	// The detail has both numbers, and its limit is not one of the golden's.
	if (check.metric === "error-growth" && check.detail !== undefined)
		return [{ code: cleanName(check.output) }, `: ${cleanMessage(check.detail, 300)}`, ...where, "."];
	const detail = check.detail === undefined ? "" : ` ${sentence(cleanMessage(check.detail, 300))}`;
	return [{ code: cleanName(check.output) }, `: ${measureText(check)}`, ...where, `.${detail}`];
}

/** With how far off it is, where something is allowed of each element. */
function worstSentence({ worst }: GoldenCheck, text: string): string {
	if (worst?.allowed === undefined) return `Worst element ${text}.`;
	return `Worst element ${text}: off by ${formatValue(offBy(worst), 3)}, where ${formatValue(worst.allowed, 3)} is allowed.`;
}

function worstFirst(a: Failing, b: Failing): number {
	return capRatio(b.check) - capRatio(a.check);
}

/** The worst failing check of each output and metric over all cases. */
function worstChecks(verdicts: readonly GoldenVerdict[]): Failing[] {
	const failing = verdicts.flatMap((verdict) => verdict.checks.filter((check) => !check.pass).map((check) => ({ verdict, check })));
	const seen = new Map<string, Failing>();
	for (const entry of failing.sort(worstFirst)) {
		const key = JSON.stringify([entry.check.output, entry.check.metric, entry.check.slice]);
		if (!seen.has(key)) seen.set(key, entry);
	}
	return [...seen.values()];
}

function mismatchSentences(verdicts: readonly GoldenVerdict[]): Phrase[] {
	const checks = worstChecks(verdicts);
	const first = checks[0];
	if (first === undefined) return messages(verdicts);
	const worst = worstText(first.check);
	return [
		checkSentence(first),
		...baseSentences(first.check),
		...(worst === null ? [] : [[worstSentence(first.check, worst)]]),
		...checks.slice(1, 4).map(checkSentence),
		...(checks.length > 4 ? [[`${counted(checks.length - 4, "more check")} of other outputs or metrics fail.`]] : []),
		...messages(verdicts),
	];
}

function baseSentences({ base, existing }: GoldenCheck): Phrase[] {
	if (base === undefined || base === null) return existing === true ? [["The base engine fails this check too."]] : [];
	return [
		[`The base engine's own error to the same golden is ${formatValue(base)}${existing === true ? ", so it fails this check too" : ""}.`],
	];
}

/** The verdicts' messages, each once. */
function messages(verdicts: readonly GoldenVerdict[]): Phrase[] {
	const texts = new Set(verdicts.flatMap((verdict) => (verdict.message === undefined ? [] : [cleanMessage(verdict.message)])));
	return [...texts].slice(0, 3).map((message) => [message]);
}

const stateSeverity: Readonly<Record<GoldenState, HighlightSeverity>> = {
	match: "warn",
	mismatch: "fail",
	existing: "warn",
	stale: "warn",
	error: "error",
};

const titles: Readonly<Record<GoldenState, string>> = {
	match: "stays within its goldens, with warnings",
	mismatch: "does not match its goldens",
	existing: "fails its goldens just as the base does, so this change did not cause it",
	stale: "cannot be compared with its goldens: they are stale",
	error: "could not be compared with its goldens",
};

const topics: Readonly<Record<GoldenState, readonly [string, string]>> = {
	match: ["golden warning", "golden warnings"],
	mismatch: ["golden mismatch", "golden mismatches"],
	existing: ["golden mismatch that this change did not cause", "golden mismatches that this change did not cause"],
	stale: ["stale golden", "stale goldens"],
	error: ["golden not judged", "goldens not judged"],
};

/** Warning or failing, by the config. */
function existingFix(gate: HighlightSeverity): string {
	const fix = "Repair the base's model or engine; if the golden is what is wrong, record it again.";
	return gate === "fail" ? fix : `${fix} With \`gates: { golden: { existing: fail } }\` it would fail the check.`;
}

function isPlainMatch({ state, checks }: GoldenVerdict): boolean {
	return state === "match" && checks.every((check) => check.pass);
}

function groupHighlight(
	group: readonly GoldenVerdict[],
	first: GoldenVerdict,
	{ totalCases, gates }: { totalCases: number; gates: GateIndex },
): Highlight {
	const { model, engine, state, part, fault } = first;
	const cases = group.map((verdict) => verdict.case);
	const gate = state === "match" ? undefined : gates.statusOfCases("golden", { model, engine, part }, cases);
	const severity = gate === undefined || gate === "pass" ? stateSeverity[state] : gate;
	return {
		severity,
		topic: fault === undefined ? topics[state] : ["unusable golden", "unusable goldens"],
		title: `${subjectName({ model, engine, part })} ${fault === undefined ? `${titles[state]}${goldenExtent(group, totalCases)}` : "has a golden that cannot be used"}`,
		sentences: fault === undefined ? mismatchSentences(group) : messages(group),
		...(fault === undefined ? {} : { fix: cleanMessage(fault.fix) }),
		...(state === "existing" ? { fix: existingFix(severity) } : {}),
	};
}

/** One for each engine and state that is not a plain match. */
export function goldenHighlights(result: Result, gates: GateIndex): SectionHighlights {
	const groups = new Map<string, GoldenVerdict[]>();
	const totals = new Map<string, number>();
	for (const verdict of result.golden) {
		const engine = engineKey(verdict);
		totals.set(engine, (totals.get(engine) ?? 0) + (verdict.scope === undefined ? 1 : 0));
		if (isPlainMatch(verdict)) continue;
		const key = (verdict.fault === undefined ? verdict.state : "fault") + engine;
		groups.set(key, [...(groups.get(key) ?? []), verdict]);
	}
	const found = [...groups.values()].flatMap((group) => {
		const [first] = group;
		if (first === undefined) return [];
		const { model, engine, part } = first;
		const highlight = groupHighlight(group, first, { totalCases: totals.get(engineKey(first)) ?? 0, gates });
		return [{ highlight, gate: gateKey("golden", { model, engine, part }) }];
	});
	return { highlights: found.map(({ highlight }) => highlight), explained: found.map(({ gate }) => gate) };
}
