// Quantiles: numpy's linear interpolation, and Harrell-Davis.
import { regularisedBeta } from "./beta.ts";

/** Bit for bit numpy's default (`linear`); NaN for an empty sample. */
export function quantile(sorted: Float64Array, p: number): number {
	const place = (sorted.length - 1) * Math.min(1, Math.max(0, p));
	const below = Math.floor(place);
	const low = sorted[below];
	if (low === undefined) return Number.NaN;
	const high = sorted[below + 1] ?? low;
	const share = place - below;
	// numpy interpolates from the nearer end.
	return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1 - share);
}

export function median(values: readonly number[]): number {
	return quantile(Float64Array.from(values).sort(), 0.5);
}

/**
 * Harrell-Davis estimate (Biometrika 69, 1982): the mean of all order statistics under a Beta((n+1)p, (n+1)(1−p))
 * weight. Weights beyond twelve standard deviations and forty places are below 1e-16 and left out. NaN for an empty
 * sample.
 */
export function harrellDavis(sorted: Float64Array, p: number): number {
	const n = sorted.length;
	if (n === 0) return Number.NaN;
	if (p <= 0) return sorted[0] ?? Number.NaN;
	if (p >= 1) return sorted[n - 1] ?? Number.NaN;
	const a = (n + 1) * p;
	const b = (n + 1) * (1 - p);
	const reach = 12 * Math.sqrt(n * p * (1 - p)) + 40;
	const first = Math.max(0, Math.floor(n * p - reach));
	const last = Math.min(n, Math.ceil(n * p + reach));
	let sum = 0;
	let weights = 0;
	let before = regularisedBeta(a, b, { x: first / n, y: (n - first) / n });
	for (let index = first; index < last; index += 1) {
		const upTo = regularisedBeta(a, b, { x: (index + 1) / n, y: (n - index - 1) / n });
		sum += (upTo - before) * (sorted[index] ?? Number.NaN);
		weights += upTo - before;
		before = upTo;
	}
	return sum / weights;
}
