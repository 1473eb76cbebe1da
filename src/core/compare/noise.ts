// Noise of runs and of builds.

import type { Arm, BuildSpread } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { sampleMean } from "../stats/mean.ts";

/** Medians or P99s of two adjacent runs, in ms. */
export interface Pair {
	base: number;
	head: number;
	builds?: { base: number; head: number };
}

/** Squared deviations of the logarithms, and their degrees of freedom. */
function scatter(values: readonly number[]): { squares: number; free: number } {
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

function byBuild(pairs: readonly Pair[], arm: Arm): number[][] {
	return [...groupBy(pairs, ({ builds }) => builds?.[arm]).values()].map((own) =>
		own.map((pair) => Math.log(pair[arm])),
	);
}

/**
 * Runs within builds within a side, as random effects: ln t = side + build + run, with variances σ_B² and σ_R². Analysis
 * of unweighted means (Searle, Casella and McCulloch, Variance Components, 1992, ch. 4; Kalibera and Jones, ISMM 2013):
 * with the mean m_i of each build's runs, V = Σ (m_i − m̄)² ÷ Σ (builds − 1) over both sides has the expectation σ_B² +
 * σ_R² · mean(1 / runs). A build has the share w_i of its side's runs, so the change has the variance V · Σ w_i². Null
 * if no side has two builds.
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
