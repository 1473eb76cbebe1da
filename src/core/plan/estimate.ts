// Estimates how long each step takes.

import type { BackendFacts } from "../../../generated/result.ts";
import { leastRunLength, pilotMs } from "../compare/run-length.ts";
import type { MeasureConfig } from "../config/config.ts";
import type { PlannedStep, Step } from "./plan.ts";

export type BackendKind = BackendFacts["kind"];

/** Start, load and end of a process: recorded runs took 0.35 to 0.45 s. */
const runOverheadMs = 400;

/** trtexec takes 0.34 s per golden case. First builds took 7 to 440 s. */
const costsMs: Readonly<Record<BackendKind, { build: number; verify: number; goldenCase: number }>> = {
	tensorrt: { build: 30_000, verify: 1000, goldenCase: 340 },
	onnxruntime: { build: 2000, verify: 500, goldenCase: 50 },
};

/** Four inferences on both sides, each in a process that compiles ONNX Runtime. */
const countMs = 3000;
const prepareMs = 30_000;
const preflightMs = 50;

const probeCases = 16;

export interface Expectation {
	backend: BackendKind;
	measure: MeasureConfig;
	arms: number;
}

export function estimateStep(step: Step, expected: Expectation): PlannedStep {
	const [likelyMs, estimateMs] = usualMs(step, expected);
	return { ...step, estimateMs, likelyMs };
}

function usualMs(step: Step, { backend, measure, arms }: Expectation): [likely: number, most: number] {
	const costs = costsMs[backend];
	const always = (ms: number): [number, number] => [ms, ms];
	switch (step.kind) {
		case "prepare":
			return always(prepareMs);
		case "preflight":
			return always(preflightMs);
		case "build":
			return always(costs.build * measure.rebuilds);
		case "verify":
			return always(costs.verify + step.cases.length * costs.goldenCase);
		case "probe":
			return always(costs.verify + probeCases * costs.goldenCase);
		case "measure": {
			if (backend === "onnxruntime") return always(countMs);
			const isAdaptive = measure.adaptsLength;
			const runMs = isAdaptive
				? leastRunLength.warmUpMs + leastRunLength.durationMs
				: measure.warmUpMs + measure.durationMs;
			const first = arms > 1 ? (measure.looks[0] ?? step.pairs) : step.pairs;
			const pairsMs = (pairs: number): number =>
				arms * (pairs * (runMs + runOverheadMs) + (isAdaptive ? pilotMs + runOverheadMs : 0));
			return [pairsMs(first), pairsMs(step.pairs)];
		}
	}
}
