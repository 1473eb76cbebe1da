// How much the runs of one arm differ among themselves.

/** A base run and a head run next to each other in time: medians or P99s in ms. */
export interface Pair {
	base: number;
	head: number;
	/** Which build of the model each run had, where an arm has several. */
	builds?: { base: number; head: number };
}

/** Sum of squared deviations of the logarithms, and how many of them are free. */
function scatter(values: readonly number[]): { squares: number; free: number } {
	const logs = values.map(Math.log);
	const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
	return { squares: logs.reduce((sum, value) => sum + (value - mean) ** 2, 0), free: Math.max(0, logs.length - 1) };
}

/**
 * Coefficient of variation of runs within an arm: the standard deviation of their logarithms, both arms pooled.
 * Null where neither arm has two runs.
 */
export function runCv(base: readonly number[], head: readonly number[]): number | null {
	const arms = [base, head].filter((values) => values.length > 0).map(scatter);
	const free = arms.reduce((sum, arm) => sum + arm.free, 0);
	const cv = Math.sqrt(arms.reduce((sum, arm) => sum + arm.squares, 0) / free);
	return free > 0 && Number.isFinite(cv) ? cv : null;
}
