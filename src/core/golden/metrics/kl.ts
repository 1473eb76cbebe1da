// Kullback-Leibler divergence of the engine's class distribution from the golden's.
import type { Pair } from "../difference.ts";
import { divergenceTerm, logProbabilities, logSoftmax } from "./distribution.ts";
import { meanDivergence } from "./divergence.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * Mean over rows of Σ p · (ln p − ln q), p the golden's distribution, q the engine's, in nats (scipy: `entropy(p, q)`).
 * A 0 of the engine can be read as `zeroProbability`, because a tiny probability underflows in an engine's own arithmetic.
 * Logits become ln softmax with the maximum taken off, so that no epsilon is needed. 0 · ln 0 is 0; p > 0 where q = 0
 * is infinite. Rows that are no distribution make NaN, which never passes; rows in which the golden itself is NaN are left out.
 */
export function klDivergence(pair: Pair, question: Question): Measured {
	return meanDivergence(pair, question, (expected, got) =>
		question.input === "logits"
			? rowDivergence(logSoftmax(expected), logSoftmax(got))
			: rowDivergence(logProbabilities(expected, 0), logProbabilities(got, question.zeroProbability)),
	);
}

function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1)
		sum += divergenceTerm(logP[i] as number, (logQ[i] as number) - (logP[i] as number), logQ[i] as number);
	return sum;
}
