// Compares the runs of one workload: latency, P99 and memory.
import type { Arm, Comparison, PerfRun, WorkloadResult } from "../../../generated/result.ts";
import { isSummarized, peakOf, summarizeArm } from "../stats/summary.ts";
import { quoted } from "../text/escape.ts";
import { errorShare, runCv } from "./pairs.ts";
import { type JudgeOptions, judgePairs, unknownChange } from "./verdict.ts";

interface CompareOptions extends Omit<JudgeOptions, "share"> {
	family?: number;
	p99MinimalEffect: number;
}

export type RunsCompared = Pick<WorkloadResult, "latency" | "p99" | "memory" | "noise" | "base" | "head">;

type Figure = "medianMs" | "p99Ms";

/** Valid runs by pair; a repeated pair replaces the earlier one. */
function byPair(runs: readonly PerfRun[], arm: Arm) {
	const counted = runs
		.filter((run) => run.arm === arm && isSummarized(run))
		.sort((left, right) => left.order - right.order);
	return new Map(counted.map((run) => [run.pair, run]));
}

function pairsOf(base: Map<number, PerfRun>, head: Map<number, PerfRun>, figure: Figure) {
	return [...base].flatMap(([pair, run]) => {
		const other = head.get(pair);
		if (other === undefined) return [];
		const builds = { base: run.build ?? 0, head: other.build ?? 0 };
		return [{ base: run[figure] ?? NaN, head: other[figure] ?? NaN, builds }];
	});
}

function absence(runs: readonly PerfRun[], counted: Record<Arm, Map<number, PerfRun>>) {
	if (counted.head.size === 0) return "The head has no usable run.";
	if (counted.base.size > 0) return "No pair has a usable run of both base and head.";
	if (runs.some((run) => run.arm === "base")) return "The base has no usable run.";
	return "There is no base to compare with: the workload is new.";
}

function detectableBy({ interval }: Comparison) {
	return interval === null ? null : Math.sqrt((1 + interval[1]) / (1 + interval[0])) - 1;
}

export function compareRuns(runs: readonly PerfRun[], options: CompareOptions): RunsCompared {
	const { p99MinimalEffect, family = 1, ...shared } = options;
	const counted = { base: byPair(runs, "base"), head: byPair(runs, "head") };
	const kept = { base: [...counted.base.values()], head: [...counted.head.values()] };
	const judge = (figure: Figure, own: Pick<JudgeOptions, "minimalEffect" | "share">) => {
		const comparison = judgePairs(pairsOf(counted.base, counted.head, figure), { ...shared, ...own });
		const reason = comparison.verdict === "missing" ? absence(runs, counted) : undefined;
		return reason === undefined ? comparison : { ...comparison, reason };
	};
	const { minimalEffect } = options;
	const latency = judge("medianMs", { minimalEffect, share: errorShare("latency", family) });
	const medians = (arm: Arm) => kept[arm].map((run) => run.medianMs ?? NaN);
	return {
		latency,
		p99: judge("p99Ms", { minimalEffect: p99MinimalEffect, share: errorShare("p99", family) }),
		memory: compareMemory(kept),
		noise: { runCv: runCv(medians("base"), medians("head")), detectable: detectableBy(latency) },
		base: summarizeArm(kept.base),
		head: summarizeArm(kept.head),
	};
}

/** What one version states and the other does not is shown as both state it. */
function compareMemory(kept: Record<Arm, readonly PerfRun[]>): Comparison {
	const compared = comparePeaks(peakOf(kept.base), peakOf(kept.head));
	const lineOf = (arm: Arm) => kept[arm].find(({ memoryLine }) => memoryLine !== undefined)?.memoryLine;
	const [base, head] = [lineOf("base"), lineOf("head")];
	if (compared.estimate !== null || base === undefined || head === undefined) return compared;
	const reason = `GPU memory is not comparable. The base's log has ${quoted(base, 200)}; the head's has ${quoted(head, 200)}.`;
	return { ...compared, verdict: "not-comparable", reason };
}

/** Observed peak memory comes in steps of a MiB and moves with the driver's lazy loading. */
const toleranceBytes = 2 * 2 ** 20;
const toleranceFraction = 0.005;

function isSize(value: number | null): value is number {
	return value !== null && Number.isFinite(value) && value >= 0;
}

function verdictOf(change: number, tolerance: number) {
	if (Math.abs(change) <= tolerance) return "unchanged";
	return change > 0 ? "regressed" : "improved";
}

function obstacle(base: number | null, head: number | null) {
	const missing = (reason: string) => ({ verdict: "missing", reason }) as const;
	const apart = (reason: string) => ({ verdict: "not-comparable", reason }) as const;
	if (base === null && head === null) return missing("Neither base nor head reports its GPU memory.");
	if (base === null) return missing("The base reports no GPU memory: there is nothing to compare with.");
	if (head === null) return apart("The base reports its GPU memory, the head does not.");
	if (!isSize(base)) return apart(`The base's GPU memory is ${base}, not a size.`);
	if (!isSize(head)) return apart(`The head's GPU memory is ${head}, not a size.`);
	return base === 0 && head > 0 ? apart("The base's GPU memory is 0: no ratio exists.") : null;
}

/** In the result, `minimalEffect` is the tolerance as a share of the base, `level` 1 and `pairs` 0. */
export function comparePeaks(base: number | null, head: number | null): Comparison {
	const blank = { ...unknownChange, pairs: 0, minimalEffect: toleranceFraction, level: 1 };
	const fault = obstacle(base, head);
	if (fault !== null || base === null || head === null) return { ...blank, verdict: "missing", ...fault };
	const tolerance = Math.max(toleranceBytes, toleranceFraction * base);
	const estimate = base === 0 ? 0 : (head - base) / base;
	return {
		...blank,
		verdict: verdictOf(head - base, tolerance),
		estimate,
		interval: [estimate, estimate],
		excluded: Math.abs(estimate),
		minimalEffect: base === 0 ? toleranceFraction : tolerance / base,
	};
}
