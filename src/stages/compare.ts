// Turns the judged runs of a workload into its row of the result.
import type { Comparison, WorkloadResult } from "../../generated/result.ts";
import type { RunsCompared } from "../core/compare/compare.ts";
import { clockNotes, workloadGpu } from "../core/telemetry/summary.ts";
import { enqueueNotes } from "../engine/core/explain/machine.ts";
import type { TimedRun } from "./time-pair.ts";
import type { TimedWorkload } from "./workloads.ts";

interface Timed {
	runs: readonly TimedRun[];
	replaced: number;
	/** Set if there is no base, or after an interruption or failure. */
	override: Partial<Comparison>;
	cudaGraph: boolean;
}

export function rowOfRuns(timed: TimedWorkload, compared: RunsCompared, done: Timed): WorkloadResult {
	const latency = { ...compared.latency, ...done.override };
	const runs = done.runs.map(({ run }) => run);
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
	};
}

/** Identical bytes rule out any change, so no measurement is needed. */
export function identicalEngines({ head }: TimedWorkload, done: "timed" | "counted") {
	const same =
		head.record.sharedWithBase === true
			? "the same model and settings, and share one engine"
			: "the same engine, byte for byte";
	const reason = `Base and head have ${same}, so nothing was ${done}.`;
	const interval: [number, number] = [0, 0];
	return { verdict: "unchanged", reason, estimate: 0, interval, excluded: 0 } as const;
}

export function rowOfIdentical(timed: TimedWorkload, nothing: RunsCompared): WorkloadResult {
	const same = (comparison: Comparison): Comparison => ({
		...comparison,
		...identicalEngines(timed, "timed"),
	});
	const { latency, p99, memory } = nothing;
	const compared = { ...nothing, latency: same(latency), p99: same(p99), memory: same(memory) };
	return rowOfRuns(timed, compared, { runs: [], replaced: 0, override: {}, cudaGraph: false });
}

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
