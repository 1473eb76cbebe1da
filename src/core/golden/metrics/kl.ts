// Kullback-Leibler divergence of the engine's class distribution from the golden's.
import type { Pair } from "../difference.ts";
import { forEachRow } from "../rows.ts";
import { divergenceTerm, logProbabilities, logSoftmax } from "./distribution.ts";
import type { Measured, Question } from "./measured.ts";
import { holdsNaN, topIndices } from "./top-k.ts";

/**
 * Mean over rows of Σ p · (ln p − ln q), p the golden's distribution, q the engine's, in nats (scipy: `entropy(p, q)`).
 * A 0 of the engine can be read as `zeroProbability`, because a tiny probability underflows in an engine's own arithmetic.
 * Logits become ln softmax with the maximum taken off, so that no epsilon is needed. 0 · ln 0 is 0; p > 0 where q = 0
 * is infinite. Rows that are no distribution make NaN, which never passes; rows in which the golden itself is NaN are left out.
 */
export function klDivergence(pair: Pair, question: Question): Measured {
	const logits = question.input === "logits";
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	forEachRow(pair, question.axis, (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = logits
			? rowDivergence(logSoftmax(expected), logSoftmax(got))
			: rowDivergence(logProbabilities(expected, 0), logProbabilities(got, question.zeroProbability));
		rows += 1;
		sum += value;
		elements += expected.length;
		if (worst.at < 0 || (!(value <= worst.value) && !Number.isNaN(worst.value))) {
			worst.value = value;
			worst.at = place.first + (topIndices(expected, 1)[0] ?? 0) * place.stride;
		}
	});
	const value = rows === 0 ? Number.NaN : sum / rows;
	return { value, elements, worstAt: worst.at, ...describe(value, worst.value, rows) };
}

function describe(mean: number, worst: number, rows: number): { detail?: string } {
	if (Number.isNaN(mean)) return rows === 0 ? {} : { detail: "a row is no distribution: negative, or its sum is not 1" };
	if (mean === Number.POSITIVE_INFINITY)
		return { detail: "the engine gives probability 0 where the golden does not; compare logits instead" };
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1)
		sum += divergenceTerm(logP[i] as number, (logQ[i] as number) - (logP[i] as number), logQ[i] as number);
	return sum;
}
