// Share of elements that are not close.
import type { Pair } from "../compare/difference.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * #{not (|got − expected| ≤ atol + rtol · |expected|)} / n: the rule of numpy.isclose(got, expected), which is not
 * symmetric. 64-bit integers are subtracted as integers.
 */
export function allclose(pair: Pair, question: Question): Measured {
	const { outside, elements, maxAbsAt } = pair.difference(question);
	const detail = outside === 0 ? undefined : `${outside} of ${elements} elements lie outside`;
	return { value: outside / elements, elements, worstAt: maxAbsAt, ...(detail ? { detail } : {}) };
}
