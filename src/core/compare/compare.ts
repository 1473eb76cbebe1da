// From the runs of one workload to its comparisons: latency, P99 and memory, with the noise and both arms summed up.
import type { Arm, ArmStats, Comparison, PerfRun, RunFigure, WorkloadResult } from "../schema/result.ts";
import { figureMs, isSummarized, peakOf, summarizeArm } from "../stats/summary.ts";
import { hopeless } from "./busy.ts";
import { compareExact, observedMemory } from "./exact.ts";
import { defaultAlpha, defaultLooks, errorShare } from "./looks.ts";
import { type Pair, runCv } from "./noise.ts";
import { type JudgeOptions, judgePairs } from "./verdict.ts";

export interface CompareOptions extends Omit<JudgeOptions, "share"> {
	/** Number of workloads of the job that share its error; 1 by default. */
	family?: number;
	/** Minimal effect of P99, wider than the median's: a tail is noisier. */
	p99MinimalEffect: number;
	/** The figure of a run whose latency is compared; the median by default. */
	figure?: RunFigure;
}

export interface RunsCompared {
	latency: Comparison;
	/** More pairs would not decide either, because the machine is too busy. */
	isHopeless: boolean;
	p99: Comparison;
	memory: Comparison;
	noise: WorkloadResult["noise"];
	base: ArmStats | null;
	head: ArmStats | null;
}

type Figure = "medianMs" | "minMs" | "p99Ms";

/** The arm's runs that count, by pair; where a pair was measured again, the later run holds. */
function byPair(runs: readonly PerfRun[], arm: Arm): Map<number, PerfRun> {
	const counted = runs.filter((run) => run.arm === arm && isSummarized(run)).sort((left, right) => left.order - right.order);
	return new Map(counted.map((run) => [run.pair, run]));
}

/** Only pairs with both halves. */
function pairsOf(base: Map<number, PerfRun>, head: Map<number, PerfRun>, figure: Figure): Pair[] {
	return [...base].flatMap(([pair, run]) => {
		const other = head.get(pair);
		if (other === undefined) return [];
		const builds = run.build === undefined && other.build === undefined ? {} : { builds: { base: run.build ?? 0, head: other.build ?? 0 } };
		return [{ base: run[figure] ?? Number.NaN, head: other[figure] ?? Number.NaN, ...builds }];
	});
}

/** Why there is no pair at all; undefined when there is one. */
function absence(runs: readonly PerfRun[], counted: Record<Arm, Map<number, PerfRun>>): string | undefined {
	if (counted.head.size === 0) return "The head has no usable run.";
	if (counted.base.size > 0) return "No pair has a usable run of both arms.";
	if (runs.some((run) => run.arm === "base")) return "The base has no usable run.";
	return "There is no base to compare with: the workload is new.";
}

/** Half width of the interval, as a fraction: the logarithms' half width turned back. */
function detectableBy({ interval }: Comparison): number | null {
	return interval === null ? null : Math.sqrt((1 + interval[1]) / (1 + interval[0])) - 1;
}

/** Compares the runs that count (state ok, all figures finite) of one workload. Without a base every verdict is `missing`. */
export function compareRuns(runs: readonly PerfRun[], options: CompareOptions): RunsCompared {
	const { p99MinimalEffect, figure, family = 1, ...shared } = options;
	const counted = { base: byPair(runs, "base"), head: byPair(runs, "head") };
	const kept = { base: [...counted.base.values()], head: [...counted.head.values()] };
	const judge = (figure: Figure, own: Pick<JudgeOptions, "minimalEffect" | "share">): Comparison => {
		const comparison = judgePairs(pairsOf(counted.base, counted.head, figure), { ...shared, ...own });
		const reason = comparison.verdict === "missing" ? absence(runs, counted) : undefined;
		return reason === undefined ? comparison : { ...comparison, reason };
	};
	const { minimalEffect } = options;
	const share = errorShare("latency", family);
	const judged = judge(figure === "fastest" ? "minMs" : "medianMs", { minimalEffect, share });
	const { looks = defaultLooks, alpha = defaultAlpha } = shared;
	// A GPU under a lease is not busy with other work.
	const busy =
		figure === "fastest" ? hopeless(judged, { pairs: pairsOf(counted.base, counted.head, "minMs"), looks, alpha: alpha * share }) : null;
	const latency = busy === null ? judged : { ...judged, reason: busy };
	const figures = (arm: Arm) => kept[arm].map((run) => figureMs(run, figure) ?? Number.NaN);
	return {
		latency,
		isHopeless: busy !== null,
		p99: judge("p99Ms", { minimalEffect: p99MinimalEffect, share: errorShare("p99", family) }),
		memory: compareExact(peakOf(kept.base), peakOf(kept.head), observedMemory),
		noise: { runCv: runCv(figures("base"), figures("head")), detectable: detectableBy(latency) },
		base: summarizeArm(kept.base),
		head: summarizeArm(kept.head),
	};
}
