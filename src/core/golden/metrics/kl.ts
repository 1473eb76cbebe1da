// Kullback-Leibler divergence of the engine's class distribution from the golden's.
import type { Pair } from "../difference.ts";
import { forEachRow } from "../rows.ts";
import type { Measured, Question } from "./measured.ts";
import { holdsNaN, topIndices } from "./top-k.ts";

/** Probabilities whose sum is further than this from 1 are no probabilities; nearer, they are scaled to 1. */
const sumTolerance = 1e-2;

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

/**
 * Σ p · (e^r − 1 − r) with r = ln q − ln p: the same sum, as p and q both add up to 1, but of terms that are never
 * negative, so that nothing cancels where p and q are near each other.
 */
function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += termOf(logP[i] as number, logQ[i] as number);
	return sum;
}

/** Below this the terms of the series after the sixth power no longer matter. */
const seriesLimit = 1e-2;

function termOf(logP: number, logQ: number): number {
	const p = Math.exp(logP);
	if (p === 0) return Math.exp(logQ);
	const r = logQ - logP;
	if (Math.abs(r) > seriesLimit) return Math.exp(logQ) - p - p * r;
	return p * r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))));
}

function logSoftmax(logits: Float64Array): Float64Array {
	let max = Number.NEGATIVE_INFINITY;
	for (const value of logits) max = Math.max(max, value);
	let sum = 0;
	for (const value of logits) sum += Math.exp(value - max);
	const total = max + Math.log(sum);
	return logits.map((value) => value - total);
}

function logProbabilities(values: Float64Array, zero: number): Float64Array {
	let sum = 0;
	let valid = true;
	for (const value of values) {
		sum += value;
		if (value < 0) valid = false;
	}
	if (!valid || !(Math.abs(sum - 1) <= sumTolerance)) return new Float64Array(values.length).fill(Number.NaN);
	return values.map((value) => Math.log(value === 0 ? zero : value / sum));
}
