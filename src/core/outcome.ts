// Folds facts and verdicts into gates, and gates into the one outcome of the run.
import { worstOutcome } from "./precedence.ts";
import type { ErrorRecord, GateResult, Outcome } from "./schema/result.ts";

/** The fold of all gates. Nothing compared is an error, never a pass. */
export function foldOutcome(gates: readonly GateResult[], errors: readonly ErrorRecord[]): Outcome {
	const isFaulty = errors.some((error) => error.kind !== "github");
	return worstOutcome([...gates.map(({ status }) => status), ...(isFaulty ? (["error"] as const) : [])]);
}

/** What decided, where it was not a verdict; a configuration fault before a runner's, since a retry cannot fix it. */
export function failureKindOf(outcome: Outcome, errors: readonly ErrorRecord[]): "runner" | "configuration" | "internal" | undefined {
	if (outcome !== "error") return undefined;
	for (const kind of ["internal", "configuration", "runner"] as const) if (errors.some((error) => error.kind === kind)) return kind;
	return "configuration";
}
