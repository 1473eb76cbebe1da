// Distributions over classes as logarithms, and the term that divergences between them are sums of.

/** Below this the terms of the series after the sixth power no longer matter. */
const seriesLimit = 1e-2;

/**
 * p · (e^r − 1 − r) with r = ln q − ln p. Over all classes it sums up to KL(p ‖ q), as p and q both add up to 1, but no term
 * is negative, so that nothing cancels where p and q are near each other.
 */
export function divergenceTerm(logP: number, r: number, logQ: number): number {
	const p = Math.exp(logP);
	if (p === 0) return Math.exp(logQ);
	if (Math.abs(r) > seriesLimit) return Math.exp(logQ) - p - p * r;
	return p * r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))));
}

/** The maximum is taken off first: added to a large one, the logarithm of the sum would be lost. Infinite maxima share all there is. */
export function logSoftmax(logits: Float64Array): Float64Array {
	let max = Number.NEGATIVE_INFINITY;
	for (const value of logits) max = Math.max(max, value);
	const below = logits.map((value) => (value === max ? 0 : value - max));
	let sum = 0;
	for (const value of below) sum += Math.exp(value);
	const logSum = Math.log(sum);
	return below.map((value) => value - logSum);
}

/** Probabilities whose sum is further than this from 1 are no probabilities; nearer, they are scaled to 1. */
const sumTolerance = 1e-2;

/** Scaled to a sum of 1; NaN where the values are no distribution. */
export function probabilities(values: Float64Array): Float64Array {
	let sum = 0;
	let valid = true;
	for (const value of values) {
		sum += value;
		if (value < 0) valid = false;
	}
	if (!valid || !(Math.abs(sum - 1) <= sumTolerance)) return new Float64Array(values.length).fill(Number.NaN);
	return values.map((value) => value / sum);
}
