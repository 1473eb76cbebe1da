// How many golden cases match, and beside them the verdicts on whole sets.
import type { GoldenVerdict } from "../schema/result.ts";
import { counted } from "../text/labels.ts";

/** Verdicts on one case each: those on a whole set are not counted as cases. */
export function caseVerdicts(verdicts: readonly GoldenVerdict[]): readonly GoldenVerdict[] {
	return verdicts.filter(({ scope }) => scope === undefined);
}

/** `8 of 9 cases match, 1 of 2 whole sets, 3 with warnings`. */
export function goldenCounts(verdicts: readonly GoldenVerdict[]): string {
	const matching = (some: readonly GoldenVerdict[]): number => some.filter(({ state }) => state === "match").length;
	const cases = caseVerdicts(verdicts);
	const sets = verdicts.filter(({ scope }) => scope !== undefined);
	const ofSets = sets.length === 0 ? "" : `, ${matching(sets)} of ${counted(sets.length, "whole set")}`;
	const warned = verdicts.filter(({ state, checks }) => state === "match" && checks.some(({ pass }) => !pass)).length;
	const warnings = warned === 0 ? "" : `, ${warned} with warnings`;
	return `${matching(cases)} of ${counted(cases.length, "case matches", "cases match")}${ofSets}${warnings}`;
}

/** `: 1 of 9 golden cases`, ` over its whole set of 9 cases`, or both. */
export function goldenExtent(group: readonly GoldenVerdict[], totalCases: number): string {
	const cases = caseVerdicts(group).length;
	const ofCases = cases === 0 ? "" : `: ${cases} of ${counted(totalCases, "golden case")}`;
	if (cases === group.length) return ofCases;
	const over = `over its whole set of ${counted(totalCases, "case")}`;
	return cases === 0 ? ` ${over}` : `${ofCases}, and ${over}`;
}
