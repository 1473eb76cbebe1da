// Of cases that match, the check of each output and metric that came nearest to its limit.
import type { GoldenCheck, GoldenVerdict } from "../../core/schema/result.ts";

export interface NearCheck {
	check: GoldenCheck;
	caseId: string;
}

export function nearestChecks(verdicts: readonly GoldenVerdict[]): NearCheck[] {
	const nearest = new Map<string, NearCheck>();
	for (const verdict of verdicts) {
		for (const check of verdict.checks) {
			const key = JSON.stringify([check.output, check.metric, check.bound]);
			const known = nearest.get(key);
			if (known === undefined || roomOf(check) < roomOf(known.check)) nearest.set(key, { check, caseId: verdict.case });
		}
	}
	return [...nearest.values()];
}

/** What is left up to the limit; all of it where there is no number. */
function roomOf({ got, allowed, bound }: GoldenCheck): number {
	const value = Number(got ?? Number.NaN);
	if (allowed === null || Number.isNaN(value)) return Number.POSITIVE_INFINITY;
	return bound === "at-most" ? allowed - value : value - allowed;
}
