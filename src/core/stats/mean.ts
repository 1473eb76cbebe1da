// Mean and standard deviation, exactly mirrored if every sign turns.

export interface SampleMean {
	mean: number;
	/** Sample standard deviation (n − 1); 0 for a single value. */
	sd: number;
	df: number;
}

/** Sums from both ends at once, so that mirrored samples give sums that differ only in sign. */
function mirroredSum(sorted: readonly number[], value: (x: number) => number): number {
	let sum = 0;
	for (let low = 0, high = sorted.length - 1; low <= high; low += 1, high -= 1) {
		sum +=
			low === high
				? value(sorted[low] ?? Number.NaN)
				: value(sorted[low] ?? Number.NaN) + value(sorted[high] ?? Number.NaN);
	}
	return sum;
}

export function sampleMean(values: readonly number[]): SampleMean | null {
	const n = values.length;
	if (n === 0) return null;
	const sorted = [...values].sort((left, right) => left - right);
	const mean = mirroredSum(sorted, (value) => value) / n;
	const squares = mirroredSum(sorted, (value) => (value - mean) ** 2);
	return { mean, sd: n > 1 ? Math.sqrt(squares / (n - 1)) : 0, df: n - 1 };
}

/** Mean of the middle half: finer than a grid of values, and blind to spikes. */
export function middleMean(values: readonly number[]): number {
	const sorted = values.toSorted((left, right) => left - right);
	const quarter = Math.floor(sorted.length / 4);
	return sampleMean(sorted.slice(quarter, sorted.length - quarter))?.mean ?? 0;
}
