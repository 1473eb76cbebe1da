// Golden verdicts, checks and changes as text: counts, metrics, limits, elements.

import type { GoldenCheck, GoldenElement, GoldenVerdict, MovedOutput } from "../../../generated/result.ts";
import { metricLabels } from "../golden/compare/registry.ts";
import { ofSlice } from "../golden/tensor/slice.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";

/** Verdicts on one case each: those on a whole set are not counted as cases. */
export function caseVerdicts(verdicts: readonly GoldenVerdict[]): readonly GoldenVerdict[] {
	return verdicts.filter(({ scope }) => scope === undefined);
}

/** `8 of 9 cases match, 1 of 2 whole sets, 3 with warnings`. */
export function goldenCounts(verdicts: readonly GoldenVerdict[]): string {
	const matching = (some: readonly GoldenVerdict[]): number =>
		some.filter(({ state }) => state === "match").length;
	const cases = caseVerdicts(verdicts);
	const sets = verdicts.filter(({ scope, fault }) => scope !== undefined && fault === undefined);
	const unusable = verdicts.filter(({ fault }) => fault !== undefined).length;
	const ofUnusable = unusable === 0 ? "" : `, ${counted(unusable, "golden")} unusable`;
	const ofSets = sets.length === 0 ? "" : `, ${matching(sets)} of ${counted(sets.length, "whole set")}`;
	const warned = verdicts.filter(
		({ state, checks }) => state === "match" && checks.some(({ pass }) => !pass),
	).length;
	const warnings = warned === 0 ? "" : `, ${warned} with warnings`;
	return `${matching(cases)} of ${counted(cases.length, "case matches", "cases match")}${ofSets}${ofUnusable}${warnings}`;
}

/** ` in 1 of 9 cases`, ` over its whole set of 9 cases`, or both. */
export function goldenExtent(group: readonly GoldenVerdict[], totalCases: number): string {
	const cases = caseVerdicts(group).length;
	const ofCases = cases === 0 ? "" : ` in ${cases} of ${counted(totalCases, "case")}`;
	if (cases === group.length) return ofCases;
	const over = `over its whole set of ${counted(totalCases, "case")}`;
	return cases === 0 ? ` ${over}` : `${ofCases}, and ${over}`;
}

const knownMetrics: ReadonlyMap<string, string> = new Map([
	...Object.entries(metricLabels),
	["non-finite", "values that are not finite"],
	["dtype", "data type"],
]);

export function metricLabel(metric: string): string {
	return knownMetrics.get(metric) ?? cleanName(metric, 60).replaceAll("-", " ");
}

/** The metric, with the part of the output that it covers. */
export function checkLabel({ metric, slice }: Pick<GoldenCheck, "metric" | "slice">): string {
	return `${metricLabel(metric)}${ofSlice(slice)}`;
}

/** The value as a multiple of its limit; null where that has no meaning. */
function timesTheCap(check: GoldenCheck): number | null {
	if (
		check.bound !== "at-most" ||
		typeof check.got !== "number" ||
		check.allowed === null ||
		check.allowed <= 0
	)
		return null;
	const times = check.got / check.allowed;
	return Number.isFinite(times) ? times : null;
}

/** More digits where a short form would make two different numbers look the same. */
export function gotText(check: GoldenCheck): string {
	const short = formatValue(check.got);
	return short === formatValue(check.allowed) && check.got !== check.allowed
		? formatValue(check.got, 8)
		: short;
}

/** Near one, more digits: a near miss must not read as `1 times`. */
function timesText(times: number): string {
	if (times < 10) return formatValue(times, times < 1.1 ? 4 : 2);
	return times < 1e6 ? String(Math.round(times)) : formatValue(times, 2);
}

function demandText(check: GoldenCheck): string {
	if (check.allowed === null) return "";
	const allowed = formatValue(check.allowed);
	if (check.bound === "at-least") return ` (at least ${allowed} required)`;
	const times = timesTheCap(check);
	return times === null ? ` (limit ${allowed})` : `, ${timesText(times)} times the limit of ${allowed}`;
}

/** `relative L2 is 3.3e-2, 33 times the limit of 1e-3`. */
export function measureText(check: GoldenCheck): string {
	const measure = checkLabel(check);
	return check.got === null ? measure : `${measure} is ${gotText(check)}${demandText(check)}`;
}

/** Both values, with more digits where short forms would look the same. */
export function apartTexts({ got, expected }: GoldenElement): { got: string; expected: string } {
	const short = { got: formatValue(got), expected: formatValue(expected) };
	return short.got === short.expected && got !== expected
		? { got: formatValue(got, 8), expected: formatValue(expected, 8) }
		: short;
}

export function worstText(check: GoldenCheck): string | null {
	if (check.worst === undefined) return null;
	const index = check.worst.index.slice(0, 12).join(",");
	const { got, expected } = apartTexts(check.worst);
	return `[${index}]: got ${got}, expected ${expected}`;
}

/** How bad a check is: the multiple of its limit; one without a ratio (shape, non-finite) is worse than all. */
export function capRatio(check: GoldenCheck): number {
	return timesTheCap(check) ?? Number.MAX_VALUE;
}

/** `≤ 1e-3`; `≥ 0.99`; a dash. */
export function allowedText({ allowed, bound }: GoldenCheck): string {
	return allowed === null ? "–" : `${bound === "at-least" ? "≥" : "≤"} ${formatValue(allowed)}`;
}

export function movedText({ relativeL2, maxAbs, detail }: MovedOutput): string {
	if (relativeL2 === null) return detail === undefined ? "cannot be compared" : cleanName(detail, 120);
	return `relative L2 ${formatValue(relativeL2)}, at most ${formatValue(maxAbs)}`;
}
