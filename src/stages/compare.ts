// Turns the runs of a workload, once judged, into its row of the result.
import type { Arm, Comparison, WorkloadResult } from "../../generated/result.ts";
import type { RunsCompared } from "../core/compare/compare.ts";
import { enqueueNotes } from "../core/explain/machine.ts";
import { histogram } from "../core/stats/histogram.ts";
import { clockNotes, workloadGpu } from "../core/telemetry/summary.ts";
import type { TimedRun } from "./time-pair.ts";
import type { TimedWorkload } from "./workloads.ts";

/** Bins of the distribution that the report draws. */
const bins = 60;

interface Timed {
	runs: readonly TimedRun[];
	replaced: number;
	/** What is said of the latency in place of the verdict by its runs. */
	said: Partial<Comparison>;
	/** Kernels are launched as one CUDA graph. */
	cudaGraph: boolean;
}

export function rowOfRuns(timed: TimedWorkload, compared: RunsCompared, done: Timed): WorkloadResult {
	const latency = { ...compared.latency, ...done.said };
	const runs = done.runs.map(({ run }) => run);
	const samplesOf = (arm: Arm): Float64Array[] =>
		done.runs.flatMap(({ run, samples }) => (run.arm === arm && samples ? [samples] : []));
	const gpu = workloadGpu(runs, latency.estimate);
	const notes = [
		...(gpu === null ? [] : clockNotes(gpu, latency)),
		...enqueueNotes(runs, { cudaGraph: done.cudaGraph }),
	];
	return {
		...identityOf(timed),
		...compared,
		verdict: latency.verdict,
		latency,
		...(gpu !== null && { gpu }),
		...((gpu !== null || notes.length > 0) && { notes }),
		replaced: done.replaced,
		runs,
		limits: { ...timed.workload.config.gates.latency },
		distribution: histogram(samplesOf("base"), samplesOf("head"), bins),
	};
}

/** Engines with the same bytes cannot differ in speed, so every change is ruled out without a measurement. */
export function rowOfIdentical(timed: TimedWorkload, nothing: RunsCompared): WorkloadResult {
	const reason =
		timed.head.record.sharedWithBase === true
			? "Base and head have the same model and settings: they share one engine, so nothing was timed."
			: "Base and head have the same engine, byte for byte; nothing was timed, and any change is ruled out.";
	const unchanged = { verdict: "unchanged", reason, estimate: 0, interval: [0, 0], excluded: 0 } as const;
	const same = (comparison: Comparison): Comparison => ({ ...comparison, ...unchanged, interval: [0, 0] });
	const { latency, p99, memory } = nothing;
	const compared = { ...nothing, latency: same(latency), p99: same(p99), memory: same(memory) };
	return rowOfRuns(timed, compared, { runs: [], replaced: 0, said: {}, cudaGraph: false });
}

/** What names a workload in a result, and its sizes. */
export function identityOf({ workload, head, inputs }: TimedWorkload) {
	const { model, engine } = head.spec;
	return {
		id: workload.id,
		model: model.name,
		engine: engine.name,
		workload: workload.config.name,
		precision: engine.precision,
		shapes: Object.fromEntries(inputs.map((tensor) => [tensor.name, [...tensor.shape]])),
		streams: workload.config.streams,
	};
}
