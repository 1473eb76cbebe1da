// The slope of a series that may jump, with an interval that needs no distribution.
import { groupBy } from "../group.ts";
import { median } from "./quantile.ts";

export interface Slope {
	slope: number;
	low: number;
	high: number;
}

/** Two-sided 99 %, of the normal distribution. */
const z99 = 2.5758293035489004;

/**
 * Theil-Sen slope per place of an evenly spaced series of at least two values: the median of the slopes between all pairs.
 * The interval at 99 % inverts Kendall's test with its correction for ties (Sen, JASA 63, 1968), as in scipy.stats.theilslopes.
 */
export function theilSen(values: readonly number[]): Slope {
	const slopes = values.flatMap((left, at) =>
		values.slice(at + 1).map((right, gap) => (right - left) / (gap + 1)),
	);
	slopes.sort((one, other) => one - other);
	const ties = [...groupBy(values, (value) => value).values()].map(({ length }) => length);
	const spread = (n: number): number => n * (n - 1) * (2 * n + 5);
	const variance = (spread(values.length) - ties.reduce((sum, n) => sum + spread(n), 0)) / 18;
	const half = (z99 * Math.sqrt(variance)) / 2;
	const last = slopes.length - 1;
	const at = (place: number): number => slopes[Math.min(Math.max(place, 0), last)] ?? Number.NaN;
	const middle = slopes.length / 2;
	return { slope: median(slopes), low: at(roundEven(middle - half) - 1), high: at(roundEven(middle + half)) };
}

/** As numpy rounds. */
function roundEven(value: number): number {
	const floor = Math.floor(value);
	if (value - floor !== 0.5) return Math.round(value);
	return floor % 2 === 0 ? floor : floor + 1;
}
