// Highlights of engines that do not match their goldens.
import type { GoldenCheck, GoldenState, GoldenVerdict, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { capRatio, goldenExtent, measureText, offBy, worstText } from "../golden-format.ts";
import type { Highlight, HighlightSeverity, Phrase } from "../highlight.ts";
import { engineKey, type GateIndex, gateKey } from "../index-gates.ts";

interface Failing {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

/** A comparator's remark may lack its period, and another sentence follows. */
function sentence(text: string): string {
	const capital = /^[a-z]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
	return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

function placeOf({ check, verdict }: Failing, totalCases: number): Phrase {
	if (verdict.scope !== undefined) return [` over the whole set of ${counted(verdict.cases ?? 0, "case")}`];
	if (totalCases === 1) return check.sample === undefined ? [] : [` (sample ${check.sample})`];
	const sample = check.sample === undefined ? "" : `, sample ${check.sample}`;
	return [" (case ", { code: cleanName(verdict.case, 60) }, `${sample})`];
}

/** `logits: relative L2 is 3.3e-2, 33 times the limit of 1e-3 (case a); base 3e-7.` */
function checkLine(failing: Failing, totalCases: number): Phrase {
	const { check } = failing;
	// The detail has both numbers, and its limit is not one of the golden's.
	const measure =
		check.metric === "error-growth" && check.detail !== undefined
			? cleanMessage(check.detail, 300)
			: measureText(check);
	return [
		{ code: cleanName(check.output) },
		`: ${measure}`,
		...placeOf(failing, totalCases),
		`${baseText(check)}.`,
	];
}

function baseText({ base, baseAllowed, existing }: GoldenCheck): string {
	const fails = existing === true ? "the base fails this check too" : "";
	const limit =
		baseAllowed === undefined || baseAllowed === null ? "" : ` (its own limit ${formatValue(baseAllowed)})`;
	const own = base === undefined || base === null ? "" : `base ${formatValue(base)}${limit}`;
	const text = [own, fails].filter((part) => part !== "").join(", ");
	return text === "" ? "" : `; ${text}`;
}

/** With how far off it is, where something is allowed of each element. */
function worstSentence({ worst }: GoldenCheck, text: string): string {
	if (worst?.allowed === undefined) return `Worst element ${text}.`;
	return `Worst element ${text}: off by ${formatValue(offBy(worst), 3)} (limit ${formatValue(worst.allowed, 3)}).`;
}

function worstFirst(a: Failing, b: Failing): number {
	return capRatio(b.check) - capRatio(a.check);
}

/** The worst failing check of each output over all cases, the worst first. */
function worstChecks(verdicts: readonly GoldenVerdict[]): Failing[] {
	const failing = verdicts.flatMap((verdict) =>
		verdict.checks.filter((check) => !check.pass).map((check) => ({ verdict, check })),
	);
	const outputs = new Map<string, Failing>();
	for (const entry of failing.sort(worstFirst))
		if (!outputs.has(entry.check.output)) outputs.set(entry.check.output, entry);
	return [...outputs.values()];
}

/** More would push the sentences off the screen. */
const maxLines = 8;

/** A line for each output that fails; what explains the worst of them follows. */
function describeMismatch(
	verdicts: readonly GoldenVerdict[],
	totalCases: number,
): Pick<Highlight, "lines" | "sentences"> {
	const checks = worstChecks(verdicts);
	const [first] = checks;
	if (first === undefined) return { sentences: messages(verdicts) };
	const worst = worstText(first.check);
	const { detail, metric } = first.check;
	const hidden = checks.length - maxLines;
	return {
		lines: [
			...checks.slice(0, maxLines).map((check) => checkLine(check, totalCases)),
			...(hidden > 0 ? [[`… and ${counted(hidden, "more output")}.`]] : []),
		],
		sentences: [
			...messages(verdicts),
			...(worst === null ? [] : [[worstSentence(first.check, worst)]]),
			...(detail === undefined || metric === "error-growth" ? [] : [[sentence(cleanMessage(detail, 300))]]),
		],
	};
}

/** The verdicts' messages, each once. */
function messages(verdicts: readonly GoldenVerdict[]): Phrase[] {
	const texts = new Set(
		verdicts.flatMap((verdict) => (verdict.message === undefined ? [] : [cleanMessage(verdict.message)])),
	);
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
	existing: "fails its goldens",
	stale: "has stale goldens",
	error: "could not be compared with its goldens",
};

const topics: Readonly<Record<GoldenState, readonly [string, string]>> = {
	match: ["golden warning", "golden warnings"],
	mismatch: ["golden mismatch", "golden mismatches"],
	existing: ["pre-existing golden mismatch", "pre-existing golden mismatches"],
	stale: ["stale golden", "stale goldens"],
	error: ["golden not judged", "goldens not judged"],
};

/** Warning or failing, by the config. */
function existingFix(gate: HighlightSeverity): string {
	const fix = "Fix the base's model or engine; if the golden is wrong, record it again.";
	return gate === "fail"
		? fix
		: `${fix} With \`gates: { golden: { existing: fail } }\` it would fail the check.`;
}

function groupHighlight(
	group: readonly GoldenVerdict[],
	first: GoldenVerdict,
	{ totalCases, gates }: { totalCases: number; gates: GateIndex },
): Highlight {
	const { model, engine, part, state, fault } = first;
	const cases = group.map((verdict) => verdict.case);
	const gate = state === "match" ? undefined : gates.statusOfCases("golden", first, cases);
	const severity = gate === undefined || gate === "pass" ? stateSeverity[state] : gate;
	return {
		severity,
		topic: fault === undefined ? topics[state] : ["unusable golden", "unusable goldens"],
		title: `${subjectName({ model, engine, part })} ${fault === undefined ? `${titles[state]}${goldenExtent(group, totalCases)}` : "has a golden that cannot be used"}${state === "existing" ? ", as the base does; this change did not cause it" : ""}`,
		...(fault === undefined ? describeMismatch(group, totalCases) : { sentences: messages(group) }),
		fix: fault === undefined ? undefined : cleanMessage(fault.fix),
		...(state === "existing" ? { fix: existingFix(severity) } : {}),
		explains: gateKey("golden", first),
	};
}

/** One for each engine and state that is not a plain match. */
export function goldenHighlights(result: Result, gates: GateIndex): Highlight[] {
	const groups = new Map<string, GoldenVerdict[]>();
	const totals = new Map<string, number>();
	for (const verdict of result.golden) {
		const engine = engineKey(verdict);
		totals.set(engine, (totals.get(engine) ?? 0) + (verdict.scope === undefined ? 1 : 0));
		if (verdict.state === "match" && verdict.checks.every((check) => check.pass)) continue;
		const key = (verdict.fault === undefined ? verdict.state : "fault") + engine;
		groups.set(key, [...(groups.get(key) ?? []), verdict]);
	}
	return [...groups.values()].flatMap((group) =>
		group
			.slice(0, 1)
			.map((first) => groupHighlight(group, first, { totalCases: totals.get(engineKey(first)) ?? 0, gates })),
	);
}
