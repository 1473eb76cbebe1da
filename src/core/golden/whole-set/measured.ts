// What is summed over all cases of a golden, and the number that comes of it.
import type { Pair } from "../compare/difference.ts";
import type { Measured, Question } from "../metrics/measured.ts";

export interface SetTally {
	/** One output of one case. */
	add(pair: Pair, question: Question, caseId: string): void;
	/** What was added so far; `question` is that of any case. */
	measure(question: Question): SetMeasured;
}

/** NaN where the number is not defined, which never passes. */
export type SetMeasured = Pick<Measured, "value" | "elements" | "detail">;
