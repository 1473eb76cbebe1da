// The order of outcomes.
import type { Outcome } from "../../generated/result.ts";

/** Worst first. A failure beats an error, because a retry would not fix it. */
export const precedence: readonly Outcome[] = ["fail", "error", "inconclusive", "warn", "pass"];

/** Returns error if there are none. */
export function worstOutcome(outcomes: Iterable<Outcome>): Outcome {
	const all = new Set(outcomes);
	return precedence.find((outcome) => all.has(outcome)) ?? "error";
}
