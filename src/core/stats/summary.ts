// Summaries of runs and sides.
import type { Arm, ArmStats, Comparison, PerfRun, WorkloadResult } from "../../../generated/result.ts";
import { harrellDavis, highest, median, quantile } from "./quantile.ts";

interface RunSummary {
	iterations: number;
	medianMs: number;
	meanMs: number;
	minMs: number;
	p90Ms: number;
	p95Ms: number;
	/** Harrell-Davis: a plain order statistic of a tail is too noisy. */
	p99Ms: number;
}

export function summarize(samplesMs: Float64Array): RunSummary | null {
	if (samplesMs.length === 0) return null;
	let sumMs = 0;
	for (const ms of samplesMs) {
		if (!Number.isFinite(ms) || ms < 0) return null;
		sumMs += ms;
	}
	const sorted = samplesMs.slice().sort();
	return {
		iterations: sorted.length,
		medianMs: quantile(sorted, 0.5),
		meanMs: sumMs / sorted.length,
		minMs: quantile(sorted, 0),
		p90Ms: quantile(sorted, 0.9),
		p95Ms: quantile(sorted, 0.95),
		p99Ms: harrellDavis(sorted, 0.99),
	};
}

export function throughputOf(iterations: number, timedMs: number, reported?: number): number | undefined {
	const perSecond = reported ?? (1000 * iterations) / timedMs;
	return Number.isFinite(perSecond) && perSecond > 0 ? perSecond : undefined;
}

type SummarizedRun = PerfRun & RunSummary;

const measured = ["iterations", "medianMs", "meanMs", "minMs", "p90Ms", "p95Ms", "p99Ms"] as const;

export function isSummarized(run: PerfRun): run is SummarizedRun {
	return run.state === "ok" && measured.every((key) => Number.isFinite(run[key]));
}

export function peakOf(runs: readonly PerfRun[]): number | null {
	const used = runs.filter(({ state }) => state === "ok");
	return highest(used.map(({ peakMemoryBytes = null }) => peakMemoryBytes));
}

export function summarizeArm(runs: readonly PerfRun[]): ArmStats | null {
	const counted = runs.filter(isSummarized);
	if (counted.length === 0) return null;
	const middle = (figure: (run: SummarizedRun) => number) => median(counted.map(figure));
	const iterations = counted.reduce((sum, run) => sum + run.iterations, 0);
	const throughputs = counted.flatMap(({ throughputPerSecond }) => throughputPerSecond ?? []);
	return {
		runs: counted.length,
		iterations,
		medianMs: middle((run) => run.medianMs),
		meanMs: counted.reduce((sum, run) => sum + run.meanMs * (run.iterations / iterations), 0),
		minMs: middle((run) => run.minMs),
		p90Ms: middle((run) => run.p90Ms),
		p95Ms: middle((run) => run.p95Ms),
		p99Ms: middle((run) => run.p99Ms),
		throughputPerSecond: throughputs.length === counted.length ? median(throughputs) : null,
		peakMemoryBytes: peakOf(counted),
	};
}

/** The time shown beside a change: that of the comparison's pairs, if there is one. */
export function shownMs(workload: WorkloadResult, arm: Arm): number | undefined {
	return workload.latency[arm] ?? workload[arm]?.medianMs;
}

export function comparedOf({ work, latency }: Pick<WorkloadResult, "work" | "latency">): Comparison {
	return work ?? latency;
}
