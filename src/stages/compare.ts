// Turns the runs of each workload into its row of the result.

import type { Comparison, WorkloadResult } from "../../generated/result.ts";
import { compareRuns } from "../core/compare/compare.ts";
import type { Config } from "../core/config/config.ts";
import { enqueueNotes } from "../core/explain/machine.ts";
import type { EngineSpec } from "../core/plan/plan.ts";
import { histogram } from "../core/stats/histogram.ts";
import { clockNotes, workloadGpu } from "../core/telemetry/summary.ts";
import { comparisonOptions, type Measured } from "./measure.ts";

export interface CompareInput {
	spec: EngineSpec;
	looks: Config["measure"]["looks"];
	family: number;
	/** One engine serves both sides, because the model did not change. */
	isShared: boolean;
	/** Kernels are launched as one CUDA graph. */
	cudaGraph: boolean;
	/** Why there is no base to compare with, where there is none. */
	noBase?: { verdict: "missing" | "not-comparable"; reason: string };
}

/** Bins of the distribution that the report draws. */
const bins = 60;

export function compare(measured: Measured, input: CompareInput): WorkloadResult {
	const { workload } = measured;
	const options = comparisonOptions(workload, input);
	const compared = compareRuns(measured.runs, options);
	const latency = latencyOf(measured, compared.latency, input);
	const gpu = workloadGpu(measured.runs, latency.estimate);
	const notes = [
		...(gpu === null ? [] : clockNotes(gpu, latency)),
		...enqueueNotes(measured.runs, { cudaGraph: input.cudaGraph }),
	];
	return {
		id: workload.id,
		model: input.spec.model.name,
		engine: input.spec.engine.name,
		workload: workload.config.name,
		precision: input.spec.engine.precision,
		shapes: Object.fromEntries(measured.inputs.map((tensor) => [tensor.name, [...tensor.shape]])),
		streams: workload.config.streams,
		verdict: latency.verdict,
		latency,
		p99: measured.state === "identical" ? identical(compared.p99, input) : compared.p99,
		memory: measured.state === "identical" ? identical(compared.memory, input) : compared.memory,
		base: compared.base,
		head: compared.head,
		noise: compared.noise,
		...(gpu === null ? {} : { gpu }),
		...(gpu === null && notes.length === 0 ? {} : { notes }),
		replaced: measured.replaced,
		runs: [...measured.runs],
		limits: { ...workload.config.gates.latency },
		distribution: histogram(measured.samples.base, measured.samples.head, bins),
	};
}

function latencyOf(measured: Measured, compared: Comparison, input: CompareInput): Comparison {
	if (measured.state === "identical") return identical(compared, input);
	if (measured.state === "interrupted")
		return { ...compared, verdict: "inconclusive", reason: "The timing was interrupted." };
	if (measured.state === "failed")
		return {
			...compared,
			verdict: "not-comparable",
			reason: measured.error?.message ?? "The timing failed.",
		};
	return { ...compared, ...input.noBase };
}

/** Engines with the same bytes cannot differ in speed, so every change is ruled out without a measurement. */
function identical(compared: Comparison, { isShared }: CompareInput): Comparison {
	return {
		...compared,
		verdict: "unchanged",
		reason: isShared
			? "Base and head have the same model and settings: they share one engine, so nothing was timed."
			: "Base and head have the same engine, byte for byte; nothing was timed, and any change is ruled out.",
		estimate: 0,
		interval: [0, 0],
		excluded: 0,
	};
}
