// Kullback-Leibler divergence of the engine's class distribution from the golden's.
import type { Pair } from "../compare/difference.ts";
import { divergenceTerm, logSoftmax, probabilities } from "./distribution.ts";
import { meanDivergence } from "./divergence.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * Mean over rows of Σ p · (ln p − ln q), p the golden's distribution, q the engine's, in nats (scipy: `entropy(p, q)`).
 * A 0 of the engine is read as the golden's own probability, but as no more than `zeroProbability`, because a tiny probability
 * underflows in an engine's own arithmetic; q is then scaled to 1 again. 0 against 0 adds nothing.
 * Logits become ln softmax with the maximum taken off, so that no epsilon is needed. 0 · ln 0 is 0; p > 0 where q = 0
 * is infinite. Rows that are no distribution make NaN, which never passes; rows in which the golden itself is NaN are left out.
 */
export function klDivergence(pair: Pair, question: Question): Measured {
	return meanDivergence(pair, question, (expected, got) => {
		if (question.input === "logits") return rowDivergence(logSoftmax(expected), logSoftmax(got));
		const p = probabilities(expected);
		return rowDivergence(p.map(Math.log), withUnderflow(probabilities(got), p, question.zeroProbability).map(Math.log));
	});
}

function withUnderflow(q: Float64Array, p: Float64Array, most: number): Float64Array {
	let added = 0;
	const filled = q.map((value, i) => {
		if (value !== 0) return value;
		const read = Math.min(p[i] as number, most);
		added += read;
		return read;
	});
	return added === 0 ? q : filled.map((value) => value / (1 + added));
}

function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1)
		sum += divergenceTerm(logP[i] as number, (logQ[i] as number) - (logP[i] as number), logQ[i] as number);
	return sum;
}
