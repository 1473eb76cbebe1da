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
	const notable = cases
		.filter(isNotable)
		.sort((left, right) => Number(left.state === "match") - Number(right.state === "match"));
	const more =
		notable.length > maxShown
			? [
					`… and ${counted(notable.length - maxShown, "more case")} with failures or warnings (--json shows them)`,
				]
			: [];
	const plain = cases.filter((verdict) => !isNotable(verdict));
	return `${[title, ...notable.slice(0, maxShown).flatMap(notableLines), ...more, ...matchLines(plain, notable.length > 0)].join("\n")}\n`;
}

function isNotable({ state, message, checks }: GoldenVerdict): boolean {
	return state !== "match" || message !== undefined || checks.some(({ pass }) => !pass);
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
	return [
		checkLine(check),
		`        at [${check.worst.index.slice(0, 12).join(",")}]: got ${got}, expected ${expected}`,
	];
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

/** The checks nearest to their limits, which show limits that are too wide or nearly broken. */
function matchLines(verdicts: readonly GoldenVerdict[], besideOthers: boolean): string[] {
	const [first] = verdicts;
	if (first === undefined) return [];
	const isAlone = verdicts.length === 1;
	const near = nearestChecks(verdicts).map(({ check, caseId }) => nearLine(check, isAlone ? null : caseId));
	if (isAlone) return [headOf(first), ...near];
	const title = besideOthers
		? `✓ ${counted(verdicts.length, "case")} match; nearest to its limit:`
		: "  nearest to its limit:";
	return [title, ...near];
}

function nearLine(check: GoldenCheck, caseId: string | null): string {
	const { output, metric, slice, sample = 0 } = check;
	const where =
		caseId === null ? "" : `, in ${quoteName(caseId, "")}${sample === 0 ? "" : `, sample ${sample}`}`;
	const isCounted = check.detail !== undefined && metric.startsWith("accuracy");
	const detail = isCounted ? `; ${showText(check.detail ?? "")}` : "";
	const got = check.got === null ? (check.detail ?? "agrees") : formatValue(check.got);
	return `    ✓ ${quoteName(output, "")}: ${metric}${ofSlice(slice)} ${got}${limitText(check)}${where}${detail}`;
}

function nearestChecks(verdicts: readonly GoldenVerdict[]) {
	const nearest = new Map<string, { check: GoldenCheck; caseId: string }>();
	for (const verdict of verdicts)
		for (const check of verdict.checks) {
			const key = JSON.stringify([check.output, check.metric, check.slice, check.bound]);
			const known = nearest.get(key);
			if (known === undefined || roomOf(check) < roomOf(known.check))
				nearest.set(key, { check, caseId: verdict.case });
		}
	return [...nearest.values()];
}

function roomOf({ got, allowed, bound }: GoldenCheck): number {
	const value = Number(got ?? Number.NaN);
	if (allowed === null || Number.isNaN(value)) return Number.POSITIVE_INFINITY;
	return bound === "at-most" ? allowed - value : value - allowed;
}
