// Pairs of runs: their order, their noise, which are disturbed, and when they are looked at.
import type { Arm, BuildSpread } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { median, sampleMean } from "../stats/quantile.ts";
import { uniformSource } from "../stats/random.ts";

export interface Pair {
	base: number;
	head: number;
	builds?: { base: number; head: number };
	/** What both runs would take undisturbed, in the same unit, if pairs have work of their own. */
	expected?: number;
}

function scatter(values: readonly number[]) {
	const logs = values.map(Math.log);
	const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
	return {
		squares: logs.reduce((sum, value) => sum + (value - mean) ** 2, 0),
		free: Math.max(0, logs.length - 1),
	};
}

/** Coefficient of variation within a side, both sides pooled; null if neither has two runs. */
export function runCv(base: readonly number[], head: readonly number[]): number | null {
	const arms = [base, head].filter((values) => values.length > 0).map(scatter);
	const free = arms.reduce((sum, arm) => sum + arm.free, 0);
	const cv = Math.sqrt(arms.reduce((sum, arm) => sum + arm.squares, 0) / free);
	return free > 0 && Number.isFinite(cv) ? cv : null;
}

// Two builds of one model differ, because TensorRT chooses kernels by timing them.

export interface BuildError {
	error: number;
	df: number;
	spread: BuildSpread;
}

function byBuild(pairs: readonly Pair[], arm: Arm) {
	return [...groupBy(pairs, ({ builds }) => builds?.[arm]).values()].map((own) =>
		own.map((pair) => Math.log(pair[arm])),
	);
}

/**
 * Random effects ln t = side + build + run, by unweighted means (Searle, Casella and McCulloch, Variance Components, 1992,
 * ch. 4): with the mean m_i of each build's runs, V = Σ (m_i − m̄)² ÷ Σ (builds − 1) over both sides has the expectation
 * σ_B² + σ_R² · mean(1 / runs). With the share w_i of its side's runs in each build, the change has the variance V · Σ w_i².
 */
export function buildError(pairs: readonly Pair[]): BuildError | null {
	const arms = (["base", "head"] as const).map((arm) => byBuild(pairs, arm));
	const means = arms.map((builds) => sampleMean(builds.map((logs) => sampleMean(logs)?.mean ?? 0)));
	const df = means.reduce((sum, mean) => sum + (mean?.df ?? 0), 0);
	if (df < 1) return null;
	const between = means.reduce((sum, mean) => sum + (mean?.sd ?? 0) ** 2 * (mean?.df ?? 0), 0) / df;
	const runs = arms.flat().flatMap((logs) => sampleMean(logs) ?? []);
	const free = runs.reduce((sum, run) => sum + run.df, 0);
	const within = free === 0 ? 0 : runs.reduce((sum, run) => sum + run.sd ** 2 * run.df, 0) / free;
	const ofRuns = (within * runs.reduce((sum, run) => sum + 1 / (run.df + 1), 0)) / runs.length;
	const shares = arms.flat().reduce((sum, logs) => sum + (logs.length / pairs.length) ** 2, 0);
	const count = Math.min(...arms.map((builds) => builds.length));
	return {
		error: Math.sqrt(between * shares),
		df,
		spread: { count, sd: Math.sqrt(Math.max(0, between - ofRuns)) },
	};
}

/** Standard deviations above the median pair; estimated from the median deviation. */
const maxSds = 3;
/** Factor from the median absolute deviation to the standard deviation of normal noise. */
const perMedianDeviation = 1.482602218505602;
const minExcess = 0.005;
const minPairs = 5;

/** ln of the geometric mean of both runs, which does not depend on which side was slow. */
function centre({ base, head, expected = 1 }: Pair) {
	return (Math.log(base) + Math.log(head)) / 2 - Math.log(expected);
}

function aboveMiddle(pairs: readonly Pair[]) {
	const key = ({ builds }: Pair) => `${builds?.base} ${builds?.head}`;
	const middles = new Map([...groupBy(pairs, key)].map(([builds, own]) => [builds, median(own.map(centre))]));
	return pairs.map((pair) => centre(pair) - (middles.get(key(pair)) ?? 0));
}

/**
 * A pair that took far longer than the others says nothing about the change. For sides of equal noise, the geometric mean
 * is independent of their ratio, so setting pairs aside costs none of the error of the t interval (bench/error-rates.ts).
 */
export function undisturbed(pairs: readonly Pair[]): readonly Pair[] {
	if (pairs.length < minPairs) return pairs;
	const excess = aboveMiddle(pairs);
	const sd = perMedianDeviation * median(excess.map(Math.abs));
	const limit = Math.max(maxSds * sd, minExcess);
	const counting = pairs.filter((_, index) => (excess[index] ?? 0) <= limit);
	return pairs.length - counting.length > pairs.length / 3 ? pairs : counting;
}

/** By simulation, two thirds of the heads that are 10 % slow in 30 % of their runs are then not called unchanged. */
const maxLean = 1 / 6;

/**
 * Why `unchanged` cannot be concluded: disturbances hit either side, an engine that is slow in some runs only one.
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

export const defaultLooks: readonly number[] = [5, 8, 12, 16];
export const defaultAlpha = 0.01;

/** The latency decides the verdict and the number of pairs; the limit of P99 is five times as wide. */
const figureShares = { latency: 0.8, p99: 0.2 } as const;

export function errorShare(figure: keyof typeof figureShares, family: number): number {
	return figureShares[figure] / family;
}

function ascending(looks: readonly number[]) {
	return [...new Set(looks)].sort((left, right) => left - right);
}

/**
 * The two-sided p at the last look that `pairs` pairs reach; null before the first. Each look spends in proportion to the
 * pairs that it adds (Kim and DeMets, Biometrika 74, 1987), so by the union bound at most `alpha` in all.
 */
export function nominalP(looks: readonly number[], pairs: number, alpha: number): number | null {
	const sorted = ascending(looks);
	const reached = sorted.findLastIndex((look) => look <= pairs);
	const [look, last] = [sorted[reached], sorted.at(-1)];
	return look === undefined || last === undefined
		? null
		: (alpha * (look - (sorted[reached - 1] ?? 0))) / last;
}

export function nextLook(looks: readonly number[], pairs: number): number | null {
	return ascending(looks).find((look) => look > pairs) ?? null;
}

function hash(text: string) {
	let state = 0x811c9dc5;
	for (let index = 0; index < text.length; index += 1) {
		state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
	}
	return state >>> 0;
}

/** Sides in blocks of two pairs, ABBA or BAAB, so that linear drift cancels. */
export function firstArms(seed: string, pairs: number): Arm[] {
	const uniform = uniformSource(hash(seed));
	const blocks = Array.from({ length: Math.ceil(pairs / 2) }, (): Arm[] =>
		uniform() < 0.5 ? ["base", "head"] : ["head", "base"],
	);
	return blocks.flat().slice(0, pairs);
}
