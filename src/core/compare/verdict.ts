// Judges speed: turns pairs of runs into a verdict with its uncertainty.

import type { Arm, Comparison, Interval } from "../../../generated/result.ts";
import { sampleMean, tCritical } from "../stats/quantile.ts";
import { formatLimit, formatPercent } from "../text/units.ts";
import {
	type BuildError,
	buildError,
	defaultAlpha,
	defaultLooks,
	doubtOfSetAside,
	nextLook,
	nominalP,
	type Pair,
	runCv,
	undisturbed,
} from "./pairs.ts";

export interface JudgeOptions {
	/** Smallest relevant change, 0.02 for 2 %; symmetric in logarithms. */
	minimalEffect: number;
	looks?: readonly number[];
	alpha?: number;
	share?: number;
}

/** No clock is more exact: five equal ratios must not give an interval without width. */
const minSd = 1e-4;
/** JSON has no infinity; an interval this wide excludes nothing. */
const widest = 1e12;

/** A change in logarithms, so that swapping the sides mirrors both bounds exactly. */
interface LogChange {
	estimate: number;
	low: number;
	high: number;
}

/** ln(head / base), exactly the negative of ln(base / head). */
function logRatio({ base, head }: Pair) {
	return head >= base ? Math.log(head / base) : -Math.log(base / head);
}

function toFraction(log: number) {
	return Math.min(widest, Math.expm1(log));
}

function intervalOf(logs: readonly number[], p: number) {
	const sample = sampleMean(logs);
	if (sample === null || sample.df < 1) return null;
	const half = (tCritical(p, sample.df) * Math.max(sample.sd, minSd)) / Math.sqrt(logs.length);
	return { estimate: sample.mean, low: sample.mean - half, high: sample.mean + half };
}

/** The wider of the intervals of pairs and builds; more pairs do not narrow the latter. */
function widened(change: LogChange, builds: BuildError | null, p: number) {
	const half = builds === null ? 0 : tCritical(p, builds.df) * builds.error;
	const { estimate, low, high } = change;
	return half <= (high - low) / 2 ? change : { estimate, low: estimate - half, high: estimate + half };
}

function buildVariation({ spread }: BuildError, change: LogChange, minimalEffect: number) {
	const found = formatPercent(toFraction(change.estimate), { sign: true });
	return `Builds of the same model differ by ±${formatPercent(spread.sd)} (${spread.count} builds each of base and head), so a change of ${found} may be variation between builds; more builds (measure.rebuilds) can tell; ${openRange(change, Math.log1p(minimalEffect))}`;
}

function levelsOf(pairs: readonly Pair[]) {
	const level = (arm: Arm) => Math.exp(sampleMean(pairs.map((pair) => Math.log(pair[arm])))?.mean ?? NaN);
	return { base: level("base"), head: level("head") };
}

export const unknownChange = { estimate: null, interval: null, excluded: null } as const;

function decide(
	{ estimate, low, high }: LogChange,
	limit: number,
): "regressed" | "improved" | "unchanged" | "inconclusive" {
	if (low > 0 && estimate >= limit) return "regressed";
	if (high < 0 && -estimate >= limit) return "improved";
	if (low > -limit && high < limit) return "unchanged";
	return "inconclusive";
}

function openRange({ low, high }: LogChange, limit: number) {
	const slowdown = `a slowdown of up to ${formatPercent(toFraction(high))} is not ruled out`;
	const speedUp = `a speedup of up to ${formatPercent(-toFraction(low))}`;
	if (high <= 0) return `${speedUp} is not ruled out.`;
	return high >= limit ? `${slowdown}.` : `${slowdown}, nor is ${speedUp}.`;
}

function doubtOf(change: LogChange, pairs: readonly Pair[], minimalEffect: number) {
	const open = openRange(change, Math.log1p(minimalEffect));
	const limit = formatLimit(minimalEffect);
	if (change.high - change.low > 2 * Math.log1p(minimalEffect)) {
		const cv = runCv(
			pairs.map(({ base, expected = 1 }) => base / expected),
			pairs.map(({ head, expected = 1 }) => head / expected),
		);
		return `Run noise of ${formatPercent(cv ?? 0)} is too high for a limit of ${limit} with ${pairs.length} pairs; ${open}`;
	}
	if (change.low > 0 || change.high < 0) {
		return `There is a change, but whether it reaches the limit of ${limit} is undecided; ${open}`;
	}
	return `The interval reaches beyond the limit of ${limit}; ${open}`;
}

function faultOf(pairs: readonly Pair[]) {
	for (const [index, pair] of pairs.entries()) {
		for (const arm of ["base", "head"] as const) {
			const value = pair[arm];
			if (!(value > 0 && Number.isFinite(value)))
				return `The ${arm} run of pair ${index + 1} gave ${value}, not a time above 0.`;
		}
		if (!Number.isFinite(logRatio(pair)))
			return `The runs of pair ${index + 1} differ by more than a number can represent.`;
	}
	return null;
}

/** Log-ratios of the undisturbed pairs, with a t interval at the error that the look may spend. */
export function judgePairs(pairs: readonly Pair[], options: JudgeOptions): Comparison {
	const { minimalEffect, looks = defaultLooks, alpha = defaultAlpha, share = 1 } = options;
	const blank = { ...unknownChange, pairs: pairs.length, minimalEffect, level: 1 - alpha };
	if (pairs.length === 0)
		return { verdict: "missing", reason: "There is no pair of runs to compare.", ...blank };
	const fault = faultOf(pairs);
	if (fault !== null) return { verdict: "not-comparable", reason: fault, ...blank };
	const counted = undisturbed(pairs);
	const logs = counted.map(logRatio);
	const aside = pairs.filter((pair) => !counted.includes(pair));
	const levels = { ...blank, ...levelsOf(counted), ...(aside.length > 0 ? { setAside: aside.length } : {}) };
	const p = nominalP(looks, pairs.length, alpha * share);
	const ofPairs = p === null ? null : intervalOf(logs, p);
	if (ofPairs === null || p === null) {
		const estimate = toFraction(sampleMean(logs)?.mean ?? 0);
		return { ...levels, verdict: "inconclusive", reason: tooFew(pairs.length, looks), estimate };
	}
	const builds = buildError(counted);
	const change = widened(ofPairs, builds, p);
	const decided = decide(change, Math.log1p(minimalEffect));
	const isFirstLook = nextLook(looks, 0) === pairs.length && nextLook(looks, pairs.length) !== null;
	const doubt =
		decided === "unchanged"
			? doubtOfSetAside(aside, { estimate: change.estimate, pairs: pairs.length, isFirstLook })
			: null;
	const verdict = doubt === null ? decided : "inconclusive";
	const interval: Interval = [toFraction(change.low), toFraction(change.high)];
	const excluded = Math.max(Math.abs(interval[0]), Math.abs(interval[1]));
	const spread = builds === null ? {} : { builds: builds.spread };
	const found = { ...levels, verdict, estimate: toFraction(change.estimate), interval, excluded, ...spread };
	if (verdict !== "inconclusive") return found;
	const ofBuilds =
		builds === null || change === ofPairs ? null : buildVariation(builds, change, minimalEffect);
	return { ...found, reason: doubt ?? ofBuilds ?? doubtOf(change, counted, minimalEffect) };
}

function tooFew(pairs: number, looks: readonly number[]) {
	const needed = Math.max(2, Math.min(...looks));
	return `${pairs === 1 ? "1 run each of base and head is" : `${pairs} runs each of base and head are`} too few for a verdict: at least ${needed} pairs are needed.`;
}

/** To be called only at a look, because looking more often inflates the error. */
export function shouldStop({ verdict }: Comparison): boolean {
	return verdict !== "inconclusive";
}
