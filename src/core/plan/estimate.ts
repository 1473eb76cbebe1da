// How long each step should take, roughly: for progress and for people who choose a job's time limit.
import { leastRunLength, pilotMs } from "../compare/run-length.ts";
import type { MeasureConfig } from "../config/config.ts";
import type { BackendFacts } from "../schema/result.ts";
import type { Step } from "./plan.ts";

export type BackendKind = BackendFacts["kind"];

/** Start of a process, load of the engine and end of the process, beside warm-up and duration. */
const runOverheadMs = 600;

/** TensorRT: a cold build of a middling model; 0.34 s a golden case where trtexec does it, one process each. */
const costsMs: Readonly<Record<BackendKind, { build: number; verify: number; goldenCase: number }>> = {
	tensorrt: { build: 60_000, verify: 1000, goldenCase: 340 },
	onnxruntime: { build: 2000, verify: 500, goldenCase: 50 },
};

/** An export script loads its framework and traces a model. */
const prepareMs = 30_000;
/** The structure is read, the weights are not. */
const preflightMs = 50;

/** Inferences of all probes of an engine with a batch and a mask. */
const probeCases = 16;

export interface Expectation {
	backend: BackendKind;
	measure: MeasureConfig;
	/** Runs of a pair: 2, or 1 without a base. */
	arms: number;
}

export function estimateStep(step: Step, expected: Expectation): number {
	const costs = costsMs[expected.backend];
	switch (step.kind) {
		case "prepare":
			return prepareMs;
		case "preflight":
			return preflightMs;
		case "build":
			return costs.build;
		case "verify":
			return costs.verify + step.cases.length * costs.goldenCase;
		case "probe":
			return costs.verify + probeCases * costs.goldenCase;
		case "measure":
			return estimatePairs(step.pairs, expected);
	}
}

export function estimatePairs(pairs: number, { backend, measure, arms }: Expectation): number {
	const isAdaptive = measure.adaptsLength && backend === "tensorrt";
	const runMs = isAdaptive ? leastRunLength.warmUpMs + leastRunLength.durationMs : measure.warmUpMs + measure.durationMs;
	return pairs * arms * (runMs + runOverheadMs) + (isAdaptive ? arms * (pilotMs + runOverheadMs) : 0);
}
