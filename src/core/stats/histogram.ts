// Counts iterations of both sides in common bins, for display.
import type { Distribution } from "../../../generated/result.ts";
import { quantile } from "./quantile.ts";

const lowest = 0.005;
const highest = 0.995;
const maxBins = 1000;
const flatMargin = 0.005;

function pool(arrays: readonly Float64Array[]): Float64Array {
	const pooled = new Float64Array(arrays.reduce((sum, array) => sum + array.length, 0));
	let offset = 0;
	for (const array of arrays) {
		pooled.set(array, offset);
		offset += array.length;
	}
	return pooled;
}

function count(samples: Float64Array, range: { fromMs: number; toMs: number }, bins: number): number[] {
	const counts = new Array<number>(bins).fill(0);
	const perMs = bins / (range.toMs - range.fromMs);
	for (const ms of samples) {
		if (ms < range.fromMs || ms > range.toMs) continue;
		const bin = Math.min(bins - 1, Math.floor((ms - range.fromMs) * perMs));
		counts[bin] = (counts[bin] ?? 0) + 1;
	}
	return counts;
}

/**
 * Equal bins between the 0.5th and 99.5th percentile of both sides together; what lies outside is left out. Null if
 * there are no samples, a sample is not finite, or `bins` is not 1 to 1000.
 */
export function histogram(
	base: readonly Float64Array[],
	head: readonly Float64Array[],
	bins: number,
): Distribution | null {
	if (!Number.isInteger(bins) || bins < 1 || bins > maxBins) return null;
	const arms = { base: pool(base), head: pool(head) };
	const sorted = pool([arms.base, arms.head]).sort();
	// Sorting puts -Infinity first and Infinity and NaN last.
	if (!Number.isFinite(sorted[0]) || !Number.isFinite(sorted.at(-1))) return null;
	let fromMs = quantile(sorted, lowest);
	let toMs = quantile(sorted, highest);
	if (!(toMs > fromMs)) {
		const margin = Math.abs(fromMs) * flatMargin || flatMargin;
		fromMs -= margin;
		toMs += margin;
	}
	const range = { fromMs, toMs };
	return { ...range, base: count(arms.base, range, bins), head: count(arms.head, range, bins) };
}
