// Golden verdicts and checks as text.
import type {
	GoldenCheck,
	GoldenElement,
	GoldenVerdict,
	MovedOutput,
	Numeric,
} from "../../../generated/result.ts";
import { metricLabels } from "../../golden/core/compare/registry.ts";
import { ofSlice } from "../../golden/core/tensor/tensor.ts";
import { cleanName } from "../text/escape.ts";
import { counted, present } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";

export function caseVerdicts(verdicts: readonly GoldenVerdict[]): readonly GoldenVerdict[] {
	return verdicts.filter(({ scope }) => scope !== "set");
}

export function goldenCounts(verdicts: readonly GoldenVerdict[]): string {
	const cases = caseVerdicts(verdicts);
	const sets = verdicts.filter(({ scope, fault }) => scope === "set" && fault === undefined);
	const isMatch = ({ state }: GoldenVerdict) => state === "match";
	const unusable = verdicts.filter(({ fault }) => fault !== undefined).length;
	const warned = verdicts.filter(
		(verdict) => isMatch(verdict) && verdict.checks.some(({ pass }) => !pass),
	).length;
	return present([
		`${cases.filter(isMatch).length} of ${counted(cases.length, "case matches", "cases match")}`,
		sets.length > 0 && `${sets.filter(isMatch).length} of ${counted(sets.length, "whole set")}`,
		unusable > 0 && `${counted(unusable, "golden")} unusable`,
		warned > 0 && `${warned} with warnings`,
	]).join(", ");
}

const knownMetrics: ReadonlyMap<string, string> = new Map([
	...Object.entries(metricLabels),
	["non-finite", "values that are not finite"],
	["dtype", "data type"],
]);

export function checkLabel({ metric, slice }: Pick<GoldenCheck, "metric" | "slice">): string {
	const name = knownMetrics.get(metric) ?? cleanName(metric, 60).replaceAll("-", " ");
	return `${name}${ofSlice(slice)}`;
}

function timesTheCap({ bound, got, allowed }: GoldenCheck) {
	if (bound !== "at-most" || typeof got !== "number" || allowed === null || allowed <= 0) return null;
	const times = got / allowed;
	return Number.isFinite(times) ? times : null;
}

export function capRatio(check: GoldenCheck): number {
	return timesTheCap(check) ?? Number.MAX_VALUE;
}

/** More digits if a short form would make two different numbers look the same. */
function toldApart(value: Numeric | null, other: Numeric | null) {
	const short = formatValue(value);
	return short === formatValue(other) && value !== other ? formatValue(value, 8) : short;
}

/** What is not finite goes last, what is unknown has no key. */
export function sortable(value: Numeric | null | undefined): number | null {
	return typeof value === "number" ? value : value == null ? null : 1e300;
}

export function gotText({ got, allowed }: GoldenCheck): string {
	return toldApart(got, allowed);
}

export function apartTexts({ got, expected }: GoldenElement): { got: string; expected: string } {
	return { got: toldApart(got, expected), expected: toldApart(expected, got) };
}

/** More digits near one, so that a near miss does not read as `1 times`. */
function timesText(times: number) {
	if (times < 10) return formatValue(times, times < 1.1 ? 4 : 2);
	return times < 1e6 ? String(Math.round(times)) : formatValue(times, 2);
}

function demandText(check: GoldenCheck) {
	if (check.allowed === null) return "";
	const allowed = formatValue(check.allowed);
	if (check.bound === "at-least") return ` (at least ${allowed} required)`;
	const times = timesTheCap(check);
	return times === null ? ` (limit ${allowed})` : `, ${timesText(times)} times the limit of ${allowed}`;
}

export function measureText(check: GoldenCheck): string {
	const measure = checkLabel(check);
	return check.got === null ? measure : `${measure} is ${gotText(check)}${demandText(check)}`;
}

export function worstText({ worst }: GoldenCheck): string | null {
	if (worst === undefined) return null;
	const { got, expected } = apartTexts(worst);
	return `[${worst.index.slice(0, 12).join(",")}]: got ${got}, expected ${expected}`;
}

export function allowedText({ allowed, bound }: GoldenCheck): string {
	return allowed === null ? "–" : `${bound === "at-least" ? "≥" : "≤"} ${formatValue(allowed)}`;
}

export function movedText({ relativeL2, maxAbs, detail }: MovedOutput): string {
	if (relativeL2 === null) return detail === undefined ? "cannot be compared" : cleanName(detail, 120);
	return `relative L2 ${formatValue(relativeL2)}, at most ${formatValue(maxAbs)}`;
}
