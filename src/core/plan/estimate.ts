// How long each step should take: from what it took in earlier runs where that is known, else roughly.
import { leastRunLength, pilotMs } from "../compare/run-length.ts";
import type { EngineConfig, MeasureConfig } from "../config/config.ts";
import type { Arm, BackendFacts } from "../schema/result.ts";
import { type BuildWork, coldBuildMs, secondBuildMs } from "./build-time.ts";
import type { PlannedStep, Step } from "./plan.ts";

export type BackendKind = BackendFacts["kind"];

/** Start of a process, load of the engine and end of the process, beside warm-up and duration: recorded runs took 0.35 to 0.45 s. */
const runOverheadMs = 400;

/** 0.34 s a golden case where trtexec does it, one process each. */
const costsMs: Readonly<Record<BackendKind, { verify: number; goldenCase: number }>> = {
	tensorrt: { verify: 1000, goldenCase: 340 },
	onnxruntime: { verify: 500, goldenCase: 50 },
};

const sessionMs = 2000;
/** Four inferences of base and head at once, each in a process that compiles ONNX Runtime. */
const countMs = 3000;
/** Where the model is not read yet. */
const usualWork: BuildWork = { convolutions: 20, groupedConvolutions: 0 };
/** An export script loads its framework and traces a model. */
const prepareMs = 30_000;
/** The structure is read, the weights are not. */
const preflightMs = 50;

/** Inferences of all probes of an engine with a batch and a mask. */
const probeCases = 16;

/** Spread of builds that were never timed. */
const buildSpreads = { first: 0.6, second: 0.3 };

export interface EngineFacts {
	/** Of the sides' models. */
	sha256: Partial<Readonly<Record<Arm, string>>>;
	/** One engine serves both sides, and is not timed. */
	isShared: boolean;
	/** Of the sides' models. */
	work?: Partial<Readonly<Record<Arm, BuildWork>>>;
	/** The head is built after the base, on the same kernel timings. */
	sharesTimings: boolean;
}

/** What is known before anything is built. */
export interface Known {
	/** What steps took in earlier runs, by `stepKey` and `modelKey`. */
	times: Readonly<Record<string, number>>;
	engines: ReadonlyMap<string, EngineFacts>;
}

export interface Expectation {
	backend: BackendKind;
	measure: MeasureConfig;
	/** Runs of a pair: 2, or 1 without a base. */
	arms: number;
	/** By id. */
	engines: ReadonlyMap<string, EngineConfig>;
	known?: Known;
}

/** Of a measurement, the time is that of one pair. */
export function stepKey(kind: Step["kind"], id: string): string {
	return `${kind} ${id}`;
}

/** Of a build from exactly these bytes: an engine that the cache has takes a moment. */
export function modelKey(engineId: string, sha256: string): string {
	return `build ${engineId} ${sha256}`;
}

export function estimateStep(step: Step, expected: Expectation): PlannedStep {
	const known = knownMs(step, expected);
	if (step.kind !== "measure") {
		const estimateMs = known ?? usualMs(step, expected);
		const spread = step.kind !== "build" || known !== null ? 0 : buildSpreads[isSecondBuild(step, expected) ? "second" : "first"];
		return { ...step, estimateMs, likelyMs: estimateMs, isKnown: known !== null, spread };
	}
	if (expected.backend === "onnxruntime") {
		const estimateMs = known ?? countMs;
		return { ...step, estimateMs, likelyMs: estimateMs, isKnown: known !== null, spread: 0 };
	}
	const pairs = { most: step.pairs, likely: expected.arms > 1 ? (expected.measure.looks[0] ?? step.pairs) : step.pairs };
	const ofPairs = (count: number): number => (known === null ? estimatePairs(count, expected) : known * count);
	return { ...step, estimateMs: ofPairs(pairs.most), likelyMs: ofPairs(pairs.likely), isKnown: known !== null, spread: 0 };
}

function knownMs(step: Step, { known }: Expectation): number | null {
	if (known === undefined || step.kind === "prepare" || step.kind === "preflight") return null;
	const { engineId } = step;
	const facts = known.engines.get(engineId);
	const isSpared =
		step.kind === "measure" || (step.kind === "build" && step.arm === "head") || (step.kind === "verify" && step.arm === "base");
	if (facts?.isShared === true && isSpared) return 0;
	if (facts !== undefined && step.kind === "build" && facts.sha256[step.arm] === undefined) return 0;
	const recall = (key: string): number | null => (Object.hasOwn(known.times, key) ? (known.times[key] ?? null) : null);
	if (step.kind === "measure") return recall(stepKey("measure", step.workloadId));
	const bytes = step.kind === "build" ? facts?.sha256[step.arm] : undefined;
	const exact = bytes === undefined ? null : recall(modelKey(engineId, bytes));
	const usual = recall(stepKey(step.kind, engineId));
	// What was kept of a verification is for both sides.
	return step.kind === "verify" && step.arm === "base" && usual !== null ? 0 : (exact ?? usual);
}

function isSecondBuild(step: Extract<Step, { kind: "build" }>, { arms, measure, known }: Expectation): boolean {
	const sharesTimings = known?.engines.get(step.engineId)?.sharesTimings ?? arms > 1;
	return step.arm === "head" && sharesTimings && measure.rebuilds === 1;
}

function usualMs(step: Exclude<Step, { kind: "measure" }>, expected: Expectation): number {
	const { backend } = expected;
	const costs = costsMs[backend];
	switch (step.kind) {
		case "prepare":
			return prepareMs;
		case "preflight":
			return preflightMs;
		case "build":
			return backend === "onnxruntime" ? sessionMs : usualBuildMs(step, expected);
		case "verify":
			return costs.verify + step.cases.length * costs.goldenCase;
		case "probe":
			return costs.verify + probeCases * costs.goldenCase;
	}
}

function usualBuildMs(step: Extract<Step, { kind: "build" }>, expected: Expectation): number {
	const { measure, engines, known } = expected;
	const engine = engines.get(step.engineId);
	if (engine === undefined) return 0;
	const { isShared = false, work = {} } = known?.engines.get(step.engineId) ?? {};
	const own = work[step.arm] ?? usualWork;
	return isSecondBuild(step, expected) ? secondBuildMs(own, engine) : (isShared ? 1 : measure.rebuilds) * coldBuildMs(own, engine);
}

function estimatePairs(pairs: number, { measure, arms }: Expectation): number {
	const isAdaptive = measure.adaptsLength;
	const runMs = isAdaptive ? leastRunLength.warmUpMs + leastRunLength.durationMs : measure.warmUpMs + measure.durationMs;
	return pairs * arms * (runMs + runOverheadMs) + (isAdaptive ? arms * (pilotMs + runOverheadMs) : 0);
}
