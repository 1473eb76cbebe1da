// Renders stored outputs that were judged against a golden: failures in detail, matches in a few lines.
import type { Precision } from "../../../generated/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { ofSlice } from "../../core/golden/tensor/slice.ts";
import { quoteName, showText } from "../../core/onnx/quote.ts";
import { apartTexts, goldenCounts } from "../../core/report/golden-format.ts";
import { counted } from "../../core/text/labels.ts";
import { formatValue } from "../../core/text/units.ts";

export interface CheckReport {
	golden: string;
	precision: Precision;
	outputs: string;
	state: "match" | "mismatch";
	cases: GoldenVerdict[];
}

const maxShown = 10;

export function renderCheck({ golden, precision, state, cases }: CheckReport): string {
	const title = `${state === "match" ? "✓" : "✗"} ${golden} at ${precision}: ${goldenCounts(cases)}`;
	const isNotable = ({ state: own, message, checks }: GoldenVerdict): boolean =>
		own !== "match" || message !== undefined || checks.some(({ pass }) => !pass);
	const notable = cases
		.filter(isNotable)
		.sort((left, right) => Number(left.state === "match") - Number(right.state === "match"));
	const hidden = notable.length - maxShown;
	const more =
		hidden > 0 ? [`… and ${counted(hidden, "more case")} with failures or warnings (--json shows them)`] : [];
	const plain = cases.filter((verdict) => !isNotable(verdict));
	const lines = [
		title,
		...notable.slice(0, maxShown).flatMap(notableLines),
		...more,
		...matchLines(plain, notable.length > 0),
	];
	return `${lines.join("\n")}\n`;
}

function notableLines(verdict: GoldenVerdict): string[] {
	const failing = verdict.checks.filter(({ pass }) => !pass);
	const passing = verdict.checks.length - failing.length;
	const others =
		passing === 0 ? [] : [`    ✓ ${counted(passing, failing.length === 0 ? "check" : "other check")}`];
	return [headOf(verdict), ...failing.flatMap(failingLines), ...others];
}

function failingLines(check: GoldenCheck): string[] {
	if (check.worst === undefined) return [checkLine(check)];
	const { got, expected } = apartTexts(check.worst);
	const place = check.worst.index.slice(0, 12).join(",");
	return [checkLine(check), `        at [${place}]: got ${got}, expected ${expected}`];
}

export function headOf(verdict: GoldenVerdict): string {
	const mark = verdict.state === "match" ? "✓" : "✗";
	const message = verdict.message === undefined ? "" : `: ${showText(verdict.message)}`;
	const extent = verdict.scope === undefined ? "" : `, ${counted(verdict.cases ?? 0, "case")} together`;
	return `${mark} ${quoteName(verdict.case, "")}${extent}${message}`;
}

export function checkLine(check: GoldenCheck): string {
	const { pass, severity, output, metric, slice, got, detail, sample } = check;
	const mark = pass ? "✓" : severity === "warn" ? "!" : "✗";
	const where = sample === undefined ? "" : `, sample ${sample}`;
	const more =
		detail === undefined || (pass && !metric.startsWith("accuracy")) ? "" : `; ${showText(detail)}`;
	return `    ${mark} ${quoteName(output, "")}: ${metric}${ofSlice(slice)}${where}${got === null ? "" : ` ${formatValue(got)}`}${limitText(check)}${more}`;
}

function limitText({ allowed, bound }: GoldenCheck): string {
	return allowed === null ? "" : ` (${bound === "at-most" ? "≤" : "≥"} ${formatValue(allowed)})`;
}

/** For each limit the check nearest to it, which shows limits that are too wide or nearly broken. */
function matchLines(verdicts: readonly GoldenVerdict[], besideOthers: boolean): string[] {
	const [first] = verdicts;
	if (first === undefined) return [];
	const isAlone = verdicts.length === 1;
	const title = besideOthers
		? `✓ ${counted(verdicts.length, "case")} match; nearest to its limit:`
		: "  nearest to its limit:";
	const nearest = new Map<string, { check: GoldenCheck; caseId: string }>();
	for (const { checks, case: caseId } of verdicts)
		for (const check of checks) {
			const key = JSON.stringify([check.output, check.metric, check.slice, check.bound]);
			const known = nearest.get(key);
			if (known === undefined || roomOf(check) < roomOf(known.check)) nearest.set(key, { check, caseId });
		}
	const near = [...nearest.values()].map(({ check, caseId }) => nearLine(check, isAlone ? null : caseId));
	return [isAlone ? headOf(first) : title, ...near];
}

function nearLine(check: GoldenCheck, caseId: string | null): string {
	const { output, metric, slice, sample = 0, detail } = check;
	const inSample = sample === 0 ? "" : `, sample ${sample}`;
	const where = caseId === null ? "" : `, in ${quoteName(caseId, "")}${inSample}`;
	const more = detail !== undefined && metric.startsWith("accuracy") ? `; ${showText(detail)}` : "";
	const got = check.got === null ? (detail ?? "agrees") : formatValue(check.got);
	return `    ✓ ${quoteName(output, "")}: ${metric}${ofSlice(slice)} ${got}${limitText(check)}${where}${more}`;
}

function roomOf({ got, allowed, bound }: GoldenCheck): number {
	const value = Number(got ?? Number.NaN);
	if (allowed === null || Number.isNaN(value)) return Number.POSITIVE_INFINITY;
	return bound === "at-most" ? allowed - value : value - allowed;
}
