// Which pairs something disturbed, decided without looking at which side was slow.
import { groupBy } from "../group.ts";
import { median } from "../stats/quantile.ts";
import type { Pair } from "./noise.ts";

/** A disturbed pair is slower than the median pair by this many standard deviations, these estimated by the median deviation. */
const maxSds = 3;
/** From the median of the absolute deviations to the standard deviation of normal noise. */
export const perMedianDeviation = 1.482602218505602;
/** … and by this much at least: what is below is no disturbance, whatever the others' spread. */
const minExcess = 0.005;
const minPairs = 5;

/** ln of the geometric mean of both runs: the same whichever of the two was slow. */
function centre({ base, head }: Pair): number {
	return (Math.log(base) + Math.log(head)) / 2;
}

function aboveMiddle(pairs: readonly Pair[]): number[] {
	const key = ({ builds }: Pair): string => `${builds?.base} ${builds?.head}`;
	const middles = new Map([...groupBy(pairs, key)].map(([builds, own]) => [builds, median(own.map(centre))]));
	return pairs.map((pair) => centre(pair) - (middles.get(key(pair)) ?? 0));
}

/**
 * The pairs without those that something disturbed: other programs and throttled clocks only add time, so a pair whose two
 * runs together took far longer than the other pairs says nothing about the change. Only the geometric mean of both runs
 * decides. For sides of equal noise it is independent of their ratio, so setting pairs aside costs none of the error that
 * the t interval is allowed (bench/error-rates.ts).
 *
 * Where more than a third of the pairs stand out, that is how the machine or the engine runs, and all of them count.
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
 * Of all pairs, this share may be set aside for the sake of one side more than of the other before it looks like that side's
 * own doing; one pair always may. Chosen by simulation: of heads that are slow by 10 % in 30 % of their runs, two thirds are
 * then not called unchanged, at the price of a few undecided comparisons on disturbed machines (bench/error-rates.py).
 */
const maxLean = 1 / 6;

/**
 * Why `unchanged` cannot be concluded although the pairs that count agree; null where it can. An engine that is slow in some of
 * its runs looks like a disturbance. Disturbances hit either side, so pairs set aside that lean to one side leave the
 * comparison open, and a first look with any of them requires more pairs. The rule can only withhold `unchanged`.
 *
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
