// Kullback-Leibler divergence of two class distributions, as a mean over rows.
import type { Pair } from "../compare/difference.ts";
import { forEachExactRow } from "../tensor/rows.ts";
import { holdsNaN, topIndices } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/**
 * Mean over rows of Σ p · (ln p − ln q) in nats, p the golden's distribution, q the engine's (scipy: `entropy(p, q)`).
 * Infinite if p > 0 and q = 0; NaN if a row is not a distribution. Rows in which the golden is NaN are left out. A tiny
 * probability underflows to 0 in an engine's arithmetic, so a 0 of the engine counts as up to `zeroProbability`.
 */
export function klDivergence(pair: Pair, options: MetricOptions): Measured {
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	forEachExactRow(pair, { axis: options.axis, keep: "differences" }, (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = klOfRow(expected, got, options);
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
	if (rows === 0) return {};
	if (Number.isNaN(mean))
		return { detail: "a row is not a distribution: it has a negative value, or its sum is not 1" };
	if (mean === Number.POSITIVE_INFINITY)
		return { detail: "the engine gives probability 0 where the golden does not; compare logits instead" };
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

function klOfRow(expected: Float64Array, got: Float64Array, options: MetricOptions): number {
	const [logP, logQ] =
		options.input === "logits"
			? [logSoftmax(expected), logSoftmax(got)]
			: logProbabilities(expected, got, options.zeroProbability);
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += divergenceTerm(logP[i] as number, logQ[i] as number);
	return sum;
}

/** Below this, terms of the series after the sixth power no longer matter. */
const seriesLimit = 1e-2;

/**
 * p · (e^r − 1 − r) with r = ln q − ln p. Summed over all classes this is KL(p ‖ q), because p and q both add up to 1, but no
 * term is negative, so nothing cancels if p and q are near each other.
 */
function divergenceTerm(logP: number, logQ: number): number {
	const p = Math.exp(logP);
	if (p === 0) return Math.exp(logQ);
	const r = logQ - logP;
	if (Math.abs(r) > seriesLimit) return Math.exp(logQ) - p - p * r;
	return p * r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))));
}

/** Subtracts the maximum first, beside which the logarithm of the sum would be lost. Infinite maxima share all probability. */
function logSoftmax(logits: Float64Array): Float64Array {
	let max = Number.NEGATIVE_INFINITY;
	for (const value of logits) max = Math.max(max, value);
	const below = logits.map((value) => (value === max ? 0 : value - max));
	let sum = 0;
	for (const value of below) sum += Math.exp(value);
	const logSum = Math.log(sum);
	return below.map((value) => value - logSum);
}

function logProbabilities(
	expected: Float64Array,
	got: Float64Array,
	zeroProbability: number,
): [Float64Array, Float64Array] {
	const p = probabilities(expected);
	const q = probabilities(got);
	const filled = q.map((value, i) => (value === 0 ? Math.min(p[i] as number, zeroProbability) : value));
	const sum = 1 + filled.reduce((added, value, i) => (q[i] === 0 ? added + value : added), 0);
	return [p.map(Math.log), filled.map((value) => Math.log(value / sum))];
}

const sumTolerance = 1e-2;

function probabilities(values: Float64Array): Float64Array {
	const sum = values.reduce((total, value) => total + value, 0);
	const isDistribution = Math.abs(sum - 1) <= sumTolerance && values.every((value) => value >= 0);
	return values.map((value) => (isDistribution ? value / sum : Number.NaN));
}
