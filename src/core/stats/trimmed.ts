// The 10 % trimmed mean with its winsorised standard error (Tukey and McLaughlin, Sankhya A 25, 1963).

export interface TrimmedMean {
	mean: number;
	/** Standard deviation of the winsorised sample. */
	winsorisedSd: number;
	/** Degrees of freedom: values kept, less one. */
	df: number;
	/** Values cut off at each end. */
	cut: number;
	/** From a standard deviation to a standard error: 1 / (share kept · √n). */
	perSd: number;
}

/** Cut at each end: a tenth, and one at least from six values on, so that one disturbed run cannot decide. */
function cutOf(n: number): number {
	return n < 6 ? 0 : Math.max(1, Math.floor(n / 10));
}

/**
 * Sum taken from both ends at once: a sample and its mirror image then give sums that differ in sign alone, to the bit.
 */
function mirroredSum(sorted: readonly number[], value: (x: number) => number): number {
	let sum = 0;
	for (let low = 0, high = sorted.length - 1; low <= high; low += 1, high -= 1) {
		sum += low === high ? value(sorted[low] ?? Number.NaN) : value(sorted[low] ?? Number.NaN) + value(sorted[high] ?? Number.NaN);
	}
	return sum;
}

/** Null for an empty sample; with one value the spread is unknown: df 0 and a standard deviation of 0. */
export function trimmedMean(values: readonly number[]): TrimmedMean | null {
	const n = values.length;
	if (n === 0) return null;
	const sorted = [...values].sort((left, right) => left - right);
	const cut = cutOf(n);
	const kept = sorted.slice(cut, n - cut);
	const low = kept[0] ?? Number.NaN;
	const high = kept.at(-1) ?? Number.NaN;
	const winsorised = sorted.map((value) => Math.min(high, Math.max(low, value)));
	const centre = mirroredSum(winsorised, (value) => value) / n;
	const squares = mirroredSum(winsorised, (value) => (value - centre) ** 2);
	return {
		mean: mirroredSum(kept, (value) => value) / kept.length,
		winsorisedSd: n > 1 ? Math.sqrt(squares / (n - 1)) : 0,
		df: kept.length - 1,
		cut,
		perSd: Math.sqrt(n) / kept.length,
	};
}
