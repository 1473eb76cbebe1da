// Divergences of two class distributions: Kullback-Leibler and Jensen-Shannon, as means over rows.
import type { Pair } from "../compare/difference.ts";
import { forEachExactRow } from "../tensor/rows.ts";
import { holdsNaN, topIndices } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/**
 * Mean over rows of Σ p · (ln p − ln q), p the golden's distribution, q the engine's, in nats (scipy: `entropy(p, q)`).
 * A 0 of the engine is read as the golden's own probability, but as no more than `zeroProbability`, because a tiny probability
 * underflows in an engine's own arithmetic; q is then scaled to 1 again. 0 against 0 adds nothing.
 * Logits become ln softmax with the maximum taken off, so that no epsilon is needed. 0 · ln 0 is 0; p > 0 where q = 0
 * is infinite. Rows that are no distribution make NaN, which never passes; rows in which the golden itself is NaN are left out.
 */
export function klDivergence(pair: Pair, options: MetricOptions): Measured {
	return meanDivergence(pair, options, (expected, got) => {
		if (options.input === "logits") return klOfRow(logSoftmax(expected), logSoftmax(got));
		const p = probabilities(expected);
		return klOfRow(
			p.map(Math.log),
			withUnderflow(probabilities(got), p, options.zeroProbability).map(Math.log),
		);
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

function klOfRow(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1)
		sum += divergenceTerm(logP[i] as number, (logQ[i] as number) - (logP[i] as number), logQ[i] as number);
	return sum;
}

/**
 * Mean over rows of ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2, in nats (Lin 1991; the square of scipy's
 * `distance.jensenshannon(p, q)`). Symmetric, and never more than ln 2. Rows that are no distribution make NaN, which never passes.
 */
export function jsDivergence(pair: Pair, options: MetricOptions): Measured {
	const logOf =
		options.input === "logits" ? logSoftmax : (values: Float64Array) => probabilities(values).map(Math.log);
	return meanDivergence(pair, options, (expected, got) => jsOfRow(logOf(expected), logOf(got)));
}

function jsOfRow(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += halves(logP[i] as number, logQ[i] as number);
	return sum / 2;
}

function halves(logP: number, logQ: number): number {
	if (logP === Number.NEGATIVE_INFINITY && logQ === Number.NEGATIVE_INFINITY) return 0;
	const logM = Math.max(logP, logQ) + toMiddle(-Math.abs(logP - logQ));
	return (
		divergenceTerm(logP, toMiddle(logQ - logP), logM) + divergenceTerm(logQ, toMiddle(logP - logQ), logM)
	);
}

/**
 * ln m − ln p = ln((1 + q/p) / 2), where `apart` is ln q − ln p: by way of q/p − 1, so that near distributions lose no digits, and
 * where q is the larger by way of p/q, so that the ratio does not overflow.
 */
function toMiddle(apart: number): number {
	return apart > 0 ? apart + Math.log1p(Math.expm1(-apart) / 2) : Math.log1p(Math.expm1(apart) / 2);
}

/** In nats, of one row: the golden's values and the engine's. NaN where either is no distribution. */
type RowDivergence = (expected: Float64Array, got: Float64Array) => number;

/** Rows in which the golden itself is NaN are left out. The place of the worst row is the golden's likeliest class in it. */
function meanDivergence(pair: Pair, { axis }: MetricOptions, divergenceOf: RowDivergence): Measured {
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	forEachExactRow(pair, { axis, keep: "differences" }, (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = divergenceOf(expected, got);
		rows += 1;
		sum += value;
		elements += expected.length;
		if (worst.at >= 0 && (value <= worst.value || Number.isNaN(worst.value))) return;
		worst.value = value;
		worst.at = place.first + (topIndices(expected, 1)[0] ?? 0) * place.stride;
	});
	const value = rows === 0 ? Number.NaN : sum / rows;
	return { value, elements, worstAt: worst.at, ...describe(value, worst.value, rows) };
}

function describe(mean: number, worst: number, rows: number): { detail?: string } {
	if (Number.isNaN(mean))
		return rows === 0
			? {}
			: { detail: "a row is not a distribution: it has a negative value, or its sum is not 1" };
	if (mean === Number.POSITIVE_INFINITY)
		return { detail: "the engine gives probability 0 where the golden does not; compare logits instead" };
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

/** Below this the terms of the series after the sixth power no longer matter. */
const seriesLimit = 1e-2;

/**
 * p · (e^r − 1 − r) with r = ln q − ln p. Over all classes it sums up to KL(p ‖ q), as p and q both add up to 1, but no term
 * is negative, so that nothing cancels where p and q are near each other.
 */
function divergenceTerm(logP: number, r: number, logQ: number): number {
	const p = Math.exp(logP);
	if (p === 0) return Math.exp(logQ);
	if (Math.abs(r) > seriesLimit) return Math.exp(logQ) - p - p * r;
	return p * r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))));
}

/** The maximum is taken off first: added to a large one, the logarithm of the sum would be lost. Infinite maxima share all there is. */
function logSoftmax(logits: Float64Array): Float64Array {
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
function probabilities(values: Float64Array): Float64Array {
	let sum = 0;
	let valid = true;
	for (const value of values) {
		sum += value;
		if (value < 0) valid = false;
	}
	if (!valid || !(Math.abs(sum - 1) <= sumTolerance)) return new Float64Array(values.length).fill(Number.NaN);
	return values.map((value) => value / sum);
}
