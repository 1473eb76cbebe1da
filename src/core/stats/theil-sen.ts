// The slope of a series that may jump, with an interval that needs no distribution.
import { groupBy } from "../group.ts";
import { median } from "./quantile.ts";

/** Normal quantile. */
const z99 = 2.5758293035489004;

/**
 * Per place of an evenly spaced series of two values or more: the median of the slopes between all pairs. The interval at
 * 99 % inverts Kendall's test, corrected for ties (Sen, JASA 63, 1968), as in scipy.stats.theilslopes.
 */
export function theilSen(values: readonly number[]): { slope: number; low: number; high: number } {
	const slopes = values.flatMap((left, at) =>
		values.slice(at + 1).map((right, gap) => (right - left) / (gap + 1)),
	);
	slopes.sort((one, other) => one - other);
	const spread = (n: number) => n * (n - 1) * (2 * n + 5);
	const ties = [...groupBy(values, (value) => value).values()].reduce(
		(sum, own) => sum + spread(own.length),
		0,
	);
	const half = (z99 * Math.sqrt((spread(values.length) - ties) / 18)) / 2;
	const at = (place: number) =>
		slopes[Math.min(Math.max(Math.round(place), 0), slopes.length - 1)] ?? Number.NaN;
	const middle = slopes.length / 2;
	return { slope: median(slopes), low: at(middle - half - 1), high: at(middle + half) };
}
