// Whether a machine is so busy that more pairs would not decide either.
import type { Comparison } from "../schema/result.ts";
import { median } from "../stats/quantile.ts";
import { tCritical } from "../stats/student-t.ts";
import { formatLimit, formatPercent } from "../text/units.ts";
import { perMedianDeviation } from "./disturbed.ts";
import { nominalP } from "./looks.ts";
import type { Pair } from "./noise.ts";
import { openRange } from "./verdict.ts";

/** The scatter that few pairs show may be too large by as much: below it lies the truth in 1 of 20 cases, with 4 degrees of freedom. */
const luckiest = 0.65;
/** By how many standard errors the estimate may still move. */
const mostMove = 2;

/**
 * Why measuring may stop before its last look, as one sentence, or null: even at the smallest scatter that agrees with the pairs so far, the
 * last look's interval would be wider than the limit on both sides, and would still hold zero. It can only lead to `inconclusive`.
 *
 * @param alpha the error that this comparison may spend over all its looks.
 */
export function hopeless(
	latency: Comparison,
	{ pairs, looks, alpha }: { pairs: readonly Pair[]; looks: readonly number[]; alpha: number },
): string | null {
	const last = Math.max(...looks);
	const [p, lastP] = [nominalP(looks, latency.pairs, alpha), nominalP(looks, last, alpha)];
	if (latency.verdict !== "inconclusive" || latency.interval === null || latency.estimate === null) return null;
	if (p === null || lastP === null || latency.pairs >= last) return null;
	const change = { estimate: Math.log1p(latency.estimate), low: Math.log1p(latency.interval[0]), high: Math.log1p(latency.interval[1]) };
	const counted = latency.pairs - (latency.setAside ?? 0);
	const error = (change.high - change.low) / 2 / tCritical(p, counted - 1);
	const logs = pairs.map(({ base, head }) => Math.log(head / base));
	const middle = median(logs);
	// A few pairs that were slow in one arm do not count here: among more pairs they are set aside.
	const sd = perMedianDeviation * median(logs.map((log) => Math.abs(log - middle)));
	const halfAtLast = (tCritical(lastP, last - 1) * luckiest * sd) / Math.sqrt(last);
	const limit = Math.log1p(latency.minimalEffect);
	if (halfAtLast <= limit || Math.abs(change.estimate) + mostMove * error >= halfAtLast) return null;
	const scatter = formatPercent(Math.expm1(sd));
	return `This machine is too busy: its pairs scatter by ${scatter}, so ${last} of them would not decide on a limit of ${formatLimit(latency.minimalEffect)} either, and timing stopped after ${latency.pairs}; ${openRange(change, limit)}`;
}
