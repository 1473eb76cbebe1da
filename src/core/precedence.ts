// The one order of outcomes: of gates, of the parts of a merge, and of what a report shows first.
import type { Outcome } from "../../generated/result.ts";

/** Worst first. A definite failure beats an error, because a retry would not fix it. */
export const precedence: readonly Outcome[] = ["fail", "error", "inconclusive", "warn", "pass"];

/** The worst of all; an error where there is none, because nothing compared is never a pass. */
export function worstOutcome(outcomes: Iterable<Outcome>): Outcome {
	const all = new Set(outcomes);
	return precedence.find((outcome) => all.has(outcome)) ?? "error";
}
