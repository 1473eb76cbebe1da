// Jensen-Shannon divergence of the engine's class distribution and the golden's.
import type { Pair } from "../compare/difference.ts";
import { divergenceTerm, logSoftmax, probabilities } from "./distribution.ts";
import { meanDivergence } from "./divergence.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * Mean over rows of ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2, in nats (Lin 1991; the square of scipy's
 * `distance.jensenshannon(p, q)`). Symmetric, and never more than ln 2. Rows that are no distribution make NaN, which never passes.
 */
export function jsDivergence(pair: Pair, question: Question): Measured {
	const logOf = question.input === "logits" ? logSoftmax : (values: Float64Array) => probabilities(values).map(Math.log);
	return meanDivergence(pair, question, (expected, got) => rowDivergence(logOf(expected), logOf(got)));
}

function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += halves(logP[i] as number, logQ[i] as number);
	return sum / 2;
}

function halves(logP: number, logQ: number): number {
	if (logP === Number.NEGATIVE_INFINITY && logQ === Number.NEGATIVE_INFINITY) return 0;
	const logM = Math.max(logP, logQ) + toMiddle(-Math.abs(logP - logQ));
	return divergenceTerm(logP, toMiddle(logQ - logP), logM) + divergenceTerm(logQ, toMiddle(logP - logQ), logM);
}

/**
 * ln m − ln p = ln((1 + q/p) / 2), where `apart` is ln q − ln p: by way of q/p − 1, so that near distributions lose no digits, and
 * where q is the larger by way of p/q, so that the ratio does not overflow.
 */
function toMiddle(apart: number): number {
	return apart > 0 ? apart + Math.log1p(Math.expm1(-apart) / 2) : Math.log1p(Math.expm1(apart) / 2);
}
