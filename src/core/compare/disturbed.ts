// Finds disturbed pairs, without looking at which side was slow.
import { groupBy } from "../group.ts";
import { median } from "../stats/quantile.ts";
import type { Pair } from "./noise.ts";

/** Standard deviations above the median pair; estimated from the median deviation. */
const maxSds = 3;
/** Factor from the median absolute deviation to the standard deviation of normal noise. */
export const perMedianDeviation = 1.482602218505602;
/** Smaller excesses are never disturbances. */
const minExcess = 0.005;
const minPairs = 5;

/** ln of the geometric mean of both runs, which does not depend on which side was slow. */
function centre({ base, head }: Pair): number {
	return (Math.log(base) + Math.log(head)) / 2;
}

function aboveMiddle(pairs: readonly Pair[]): number[] {
	const key = ({ builds }: Pair): string => `${builds?.base} ${builds?.head}`;
	const middles = new Map([...groupBy(pairs, key)].map(([builds, own]) => [builds, median(own.map(centre))]));
	return pairs.map((pair) => centre(pair) - (middles.get(key(pair)) ?? 0));
}

/**
 * Disturbances only add time, so a pair whose runs together took far longer than the others says nothing about the
 * change. For sides of equal noise, the geometric mean is independent of their ratio, so setting pairs aside costs none
 * of the error of the t interval (bench/error-rates.ts). If more than a third of the pairs stand out, all count.
 */
export function undisturbed(pairs: readonly Pair[]): readonly Pair[] {
	if (pairs.length < minPairs) return pairs;
	const excess = aboveMiddle(pairs);
	const sd = perMedianDeviation * median(excess.map(Math.abs));
	const limit = Math.max(maxSds * sd, minExcess);
	const counting = pairs.filter((_, index) => (excess[index] ?? 0) <= limit);
	return pairs.length - counting.length > pairs.length / 3 ? pairs : counting;
}

/**
 * Share of pairs that may lean to one side, and at least one pair, before it looks like that side's own doing. Chosen by
 * simulation: two thirds of the heads that are 10 % slow in 30 % of their runs are then not called unchanged
 * (bench/error-rates.py).
 */
const maxLean = 1 / 6;

/**
 * Why `unchanged` cannot be concluded, or null. An engine that is slow in some runs looks like a disturbance, but
 * disturbances hit either side. This rule can only withhold `unchanged`.
 * @param estimate ln of the change, from the pairs that count.
 */
export function doubtOfSetAside(
	aside: readonly Pair[],
	at: { estimate: number; pairs: number; isFirstLook: boolean },
): string | null {
	if (aside.length === 0) return null;
	const slowHeads = aside.filter(({ base, head }) => Math.log(head / base) > at.estimate).length;
	const slowBases = aside.length - slowHeads;
	if (Math.abs(slowHeads - slowBases) > Math.max(1, at.pairs * maxLean)) {
		const [arm, count] = slowHeads > slowBases ? ["head", slowHeads] : ["base", slowBases];
		return `The pairs that count agree, but in ${count} of the ${aside.length} pairs set aside as disturbed it was the ${arm} that ran slowly: it may be slow in some of its runs.`;
	}
	return at.isFirstLook
		? "A pair was disturbed and set aside, so the first look is too early for a verdict."
		: null;
}
