// Builds engines from models and runs them: TensorRT or ONNX Runtime. Types only.

import type { DType } from "../../generated/golden.ts";
import type { Arm, ArmKernels, ArmLayers, BackendFacts, BuildRecord } from "../../generated/result.ts";
import type { EngineLayers, LayerProfile } from "../core/engine/layer.ts";
import type { Fill } from "../core/fill.ts";
import type { Tensor } from "../core/golden/tensor/tensor.ts";
import type { EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import type { ModelOnDisk, ToolFailure } from "./world.ts";

export interface BuiltEngine {
	spec: EngineSpec;
	arm: Arm;
	record: BuildRecord;
	path: string;
	model: ModelOnDisk;
	assets?: EngineAssets | undefined;
	rebuilds?: readonly BuiltEngine[] | undefined;
}

export interface BuildJob {
	spec: EngineSpec;
	arm: Arm;
	model: ModelOnDisk;
	assets?: EngineAssets | undefined;
	engineFolder: string;
	cacheFolder?: string | undefined;
	logPath: string;
	timeoutMs: number;
	onPhase?(phase: string): void;
}

export interface InferCase {
	id: string;
	inputs: Readonly<Record<string, Tensor>>;
}

export interface InferJob {
	engine: BuiltEngine;
	cases: readonly InferCase[];
	scratchFolder: string;
	logPath: string;
	threads: number;
	timeoutMs: number;
	onCase?(done: number): void;
}

export type InferredCase =
	| { id: string; state: "done"; outputs: Readonly<Record<string, Tensor>> }
	| { id: string; state: "failed"; message: string };

export type InferResult =
	| { state: "done"; cases: readonly InferredCase[]; wallMs: number }
	| { state: "failed"; failure: ToolFailure; wallMs: number };

export interface TimedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	fill: Fill;
}

/** One run: one process that loads the engine, warms up, measures and ends. */
export interface MeasureJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	streams: number;
	/** Same for all runs of a workload, so that both sides read the same values. */
	seed: number;
	warmUpMs: number;
	durationMs: number;
	threads: number;
	timeoutMs: number;
	/** Absolute path; the raw samples are there before this resolves. */
	samplesPath: string;
	logPath: string;
}

export type MeasureResult =
	| {
			state: "ok";
			samplesMs: Float64Array;
			peakMemoryBytes: number | null;
			wallMs: number;
			/** Wall time of the timed inferences alone, from the first one's start to the last one's end, over all streams. */
			timedMs: number;
			/** Inferences per second as the tool reports it, where it does. */
			reportedThroughputPerSecond?: number;
			enqueueShare?: number;
	  }
	| { state: "unusable"; reason: string; failure: ToolFailure; wallMs: number };

export interface CountJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	/** Same for both sides, so that they read the same values. */
	seed: number;
	timeoutMs: number;
	logPath: string;
}

/** absent: this backend counts nothing; `reason` is a sentence. `otherInput`: on values of the next seed. */
export type CountResult =
	| { state: "counted"; instructions: number; otherInput: number }
	| { state: "absent"; reason: string }
	| { state: "failed"; failure: ToolFailure };

/** A separate run that times each layer, or counts its instructions: never compared with a timed run. */
export interface ProfileJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	seed: number;
	timeoutMs: number;
	profilePath: string;
	layersPath: string;
	nodesPath: string;
	logPath: string;
}

/** absent: this backend cannot profile layers, or not again. `layers` is null where the files could not be parsed. */
export type ProfileResult =
	| {
			state: "done";
			layers: ArmLayers | null;
			info?: EngineLayers | null;
			times?: LayerProfile;
			sentence?: string;
	  }
	| { state: "absent" }
	| { state: "failed"; failure: ToolFailure };

/** A short run under a profiler, for people to read: slower than a timed run, and never compared with one. */
export interface TraceJob {
	/** nsys: every kernel of the run. ncu: one kernel, by the GPU's own counters. */
	tool: "nsys" | "ncu";
	/** For ncu: the kernel's name as nsys reports it; absent: the first kernels of the run. */
	kernel?: string | undefined;
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	streams: number;
	seed: number;
	timeoutMs: number;
	folder: string;
	name: string;
}

/** `sentence` explains what is missing and why. absent: this backend has no profiler. */
export type TraceResult =
	| { state: "ran"; files: readonly string[]; kernels?: ArmKernels; sentence?: string }
	| { state: "absent" };

/** TensorRT or ONNX Runtime. Failures are values; only a bug throws. */
export interface Backend {
	/** Of what runs the head, unless the base is named: another TensorRT may run that. */
	facts(arm?: Arm): Promise<BackendFacts>;
	/** What must match before numbers may be compared. */
	fingerprint(): Promise<Readonly<Record<string, string>>>;
	build(job: BuildJob): Promise<BuildRecord>;
	/** What the builder reports of an engine that it built; null where nothing can be read. */
	layersOf?(engine: Pick<BuiltEngine, "arm" | "path">): Promise<EngineLayers | null>;
	infer(job: InferJob): Promise<InferResult>;
	measure(job: MeasureJob): Promise<MeasureResult>;
	count?(job: CountJob): Promise<CountResult>;
	profile?(job: ProfileJob): Promise<ProfileResult>;
	trace?(job: TraceJob): Promise<TraceResult>;
	/** Sentences so far about what was degraded or chosen; each once. */
	notes?(): readonly string[];
}
