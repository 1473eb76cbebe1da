// Bounds of a quantile by order statistics, for requests that depend on their neighbours.
import { quantile, regularisedBeta } from "../stats/quantile.ts";

/** Of each bound. 459 independent requests are the fewest that bound a P99 from above. */
export const tailConfidence = 0.99;
/** Few enough to hold whole busy periods. */
const blocksPerRun = 20;

export interface TailBounds {
	/** null: too few requests. */
	lowMs: number | null;
	highMs: number | null;
}

/**
 * Of the quantile `share` over all runs. Slow requests come in busy periods, so the sample is worth as many independent
 * requests as blocks of it scatter like: its size ÷ the design effect (Korn and Graubard, Survey Methodology 24, 1998).
 */
export function tailBounds(runs: readonly Float64Array[], share: number): TailBounds {
	const sorted = joined(runs).sort();
	const worth = Math.floor(sorted.length / designEffect(runs, quantile(sorted, share)));
	// The number of requests above the quantile is binomial.
	const atMost = (above: number) =>
		above >= worth ? 1 : regularisedBeta(worth - above, above + 1, { x: share, y: 1 - share });
	const fewest = firstWhere(worth, (above) => atMost(above) > 1 - tailConfidence);
	const most = firstWhere(worth, (above) => atMost(above) >= tailConfidence);
	const withAbove = (count: number) => sorted[sorted.length - 1 - count] ?? null;
	const perWorth = sorted.length / worth;
	return {
		highMs: fewest === 0 ? null : withAbove(Math.floor((fewest - 1) * perWorth)),
		lowMs: most >= worth ? null : withAbove(Math.ceil(most * perWorth)),
	};
}

export function joined(runs: readonly Float64Array[]): Float64Array {
	const all = new Float64Array(runs.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const run of runs) {
		all.set(run, at);
		at += run.length;
	}
	return all;
}

/** The least count from 0 to `most` for which a test holds that holds for all larger ones. */
function firstWhere(most: number, holds: (count: number) => boolean) {
	let [low, high] = [0, most];
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		if (holds(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** Variance of the share of requests above `limit` between blocks ÷ that of independent requests; at least 1. */
function designEffect(runs: readonly Float64Array[], limit: number) {
	const blocks = runs.flatMap((run) => {
		const size = Math.ceil(run.length / blocksPerRun);
		return Array.from({ length: Math.floor(run.length / Math.max(1, size)) }, (_, index) => {
			const block = run.subarray(index * size, (index + 1) * size);
			return { size, above: block.reduce((sum, ms) => sum + (ms > limit ? 1 : 0), 0) };
		});
	});
	const size = blocks.reduce((sum, block) => sum + block.size, 0);
	const share = blocks.reduce((sum, block) => sum + block.above, 0) / size;
	if (blocks.length < 2 || !(share > 0)) return 1;
	const squares = blocks.reduce((sum, block) => sum + (block.above - share * block.size) ** 2, 0);
	const between = (squares * blocks.length) / (blocks.length - 1);
	return Math.max(1, between / (size * share * (1 - share)));
}
