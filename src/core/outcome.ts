// Folds facts and verdicts into gates, and gates into the one outcome of the run.
import type { ErrorRecord, GateResult, GateStatus, Outcome } from "./schema/result.ts";

/** Worst first. A definite failure beats an error, because a retry would not mend it. */
const precedence: readonly GateStatus[] = ["fail", "error", "inconclusive", "warn", "pass"];

/** The fold of all gates. Nothing compared is an error, never a pass. */
export function foldOutcome(gates: readonly GateResult[], errors: readonly ErrorRecord[]): Outcome {
	const statuses = new Set<GateStatus>(gates.map((gate) => gate.status));
	if (errors.some((error) => error.kind !== "github")) statuses.add("error");
	return precedence.find((status) => statuses.has(status)) ?? "error";
}

/** What decided, where it was not a verdict; a configuration fault before a runner's, since a retry cannot mend it. */
export function failureKindOf(outcome: Outcome, errors: readonly ErrorRecord[]): "runner" | "configuration" | "internal" | undefined {
	if (outcome !== "error") return undefined;
	for (const kind of ["internal", "configuration", "runner"] as const) if (errors.some((error) => error.kind === kind)) return kind;
	return "configuration";
}
