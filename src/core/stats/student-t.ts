// Student's t distribution: its quantiles.
import { logGamma, regularisedBeta } from "./beta.ts";

/** P(T > t) for t ≥ 0, with full relative precision. */
function upperTail(t: number, df: number): number {
	const square = t * t;
	return 0.5 * regularisedBeta(df / 2, 0.5, { x: df / (df + square), y: square / (df + square) });
}

const maxSteps = 200;

/**
 * The t with P(T > t) = tail, for 0 < tail < ½: Newton on ln tail over ln t, a concave curve, with bisection if a step
 * leaves the bracket or the tail underflows.
 */
function upperQuantile(tail: number, df: number): number {
	const logScale = logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(Math.PI * df);
	let [low, high] = [1e-300, 1e300];
	let t = 1;
	for (let step = 0; step < maxSteps; step += 1) {
		const reached = upperTail(t, df);
		if (reached > tail) low = t;
		else high = t;
		const density = Math.exp(logScale - ((df + 1) / 2) * Math.log1p((t * t) / df));
		const move = (reached / (density * t)) * Math.log(reached / tail);
		if (Math.abs(move) < 1e-15) break;
		const next = t * Math.exp(move);
		t = next > low && next < high ? next : Math.sqrt(low) * Math.sqrt(high);
	}
	return t;
}

/** ±Infinity at p = 1 and 0, NaN outside. */
export function tQuantile(p: number, df: number): number {
	if (!(p >= 0 && p <= 1) || !(df > 0)) return Number.NaN;
	if (p === 0.5) return 0;
	if (p === 0) return Number.NEGATIVE_INFINITY;
	if (p === 1) return Number.POSITIVE_INFINITY;
	return p < 0.5 ? -upperQuantile(p, df) : upperQuantile(1 - p, df);
}

/** Critical value of a two-sided test at p. */
export function tCritical(p: number, df: number): number {
	return p >= 1 ? 0 : -tQuantile(p / 2, df);
}
