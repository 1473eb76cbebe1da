// Builds and runs engines.
import type { Arm, ArmKernels, ArmLayers, BackendFacts, BuildRecord } from "../../generated/result.ts";
import type { SoakRequest, WorkerFigures } from "../core/compare/lifetime.ts";
import type { Work, WorkByOperator } from "../core/compare/work.ts";
import type { LoadRequest } from "../core/load/measured.ts";
import type { EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import type { FilledInput } from "../core/timed-inputs.ts";
import type { KernelFact } from "../engine/core/explain/layers.ts";
import type { EngineLayers, LayerProfile } from "../engine/core/layer.ts";
import type { ProbeCase } from "../golden/core/probes/context.ts";
import type { Tensors } from "../golden/core/tensor/tensor.ts";
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

export interface BuildJob extends Pick<BuiltEngine, "spec" | "arm" | "model" | "assets"> {
	engineFolder: string;
	cacheFolder?: string | undefined;
	logPath: string;
	timeoutMs: number;
	/** The assets' calibration cases, read one by one. @throws ConfigError. */
	calibrationCases?: AsyncIterable<InferCase>;
	/**
	 * In place of a build: the path of a plan that something else builds, which reads these variables. @throws ConfigError,
	 * ToolError.
	 */
	ownPlan?: ((variables: Record<string, string>) => Promise<string>) | undefined;
	onPhase?(phase: string): void;
}

/** A probe's cases ask for more than a golden's. */
export type InferCase = Omit<ProbeCase, "batch">;

export interface Calibration {
	/** Of the cache. */
	path: string;
	ranges: ReadonlyMap<string, number>;
}

/**
 * `runs`: the case is timed, then this often again. `soak`: the cases before it are repeated. `load`: the case before it is
 * served on a schedule. `atOnceMs`: the cases before it run so long, alone and with each other. None has outputs.
 */
export type WorkerCase = InferCase & {
	runs?: number;
	soak?: SoakRequest;
	load?: LoadRequest;
	atOnceMs?: number;
	/** For the second engine of the process. */
	ofBeside?: true;
};

/** warm, cold: the plan is in the page cache, or is dropped from it. soak: allocations are counted. load: requests arrive. */
export type WorkerMode = "warm" | "cold" | "soak" | "load";

export interface InferJob {
	engine: BuiltEngine;
	cases: readonly WorkerCase[];
	/** Only a golden worker gives figures; without one the job fails as tool-missing. */
	mode?: WorkerMode;
	/** A second engine in the same process. */
	beside?: BuiltEngine | undefined;
	scratchFolder: string;
	logPath: string;
	threads: number;
	timeoutMs: number;
	onCase?(done: number): void;
}

export type InferredCase =
	| { id: string; state: "done"; outputs: Tensors; figures?: WorkerFigures }
	| { id: string; state: "failed"; message: string; code?: string };

export type InferResult =
	/** isSeparate: each case had a process of its own. */
	| { state: "done"; cases: readonly InferredCase[]; wallMs: number; isSeparate?: true }
	| { state: "failed"; failure: ToolFailure; wallMs: number };

export interface GoldenWorkerJob
	extends Pick<InferJob, "cases" | "mode" | "logPath" | "timeoutMs" | "onCase"> {
	enginePath: string;
	besidePath?: string | undefined;
	/** Whose weights a refit gives. */
	onnxPath: string;
	sequence?: ModelOnDisk["sequence"];
	/** The plan holds no weights: it gets the file's before the first case. */
	isStripped: boolean;
	device: number;
	plugins: readonly string[];
}

export interface CalibrationJob
	extends Pick<GoldenWorkerJob, "device" | "plugins" | "timeoutMs" | "logPath"> {
	modelPath: string;
	cases: AsyncIterable<InferCase>;
	method: "entropy" | "minmax";
	/** TensorRT before 10 takes int64 as int32. */
	narrowsIntegers: boolean;
	cachePath: string;
}

/** Runs golden cases, and calibrates, in TensorRT's Python API. */
export interface GoldenWorker {
	probe(): Promise<{ tensorrt: string } | { absent: string }>;
	/** @throws ConfigError output-unwritable if the log cannot be written. */
	infer(job: GoldenWorkerJob): Promise<InferResult>;
	/** Writes the cache; returns TensorRT's version. @throws ToolError; ConfigError output-unwritable, and of the inputs. */
	calibrate?(job: CalibrationJob): Promise<{ tensorrt: string }>;
}

export type TimedInput = FilledInput & { name: string };

interface EngineJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	/** The same for all runs of a workload. */
	seed: number;
	timeoutMs: number;
	logPath: string;
}

export interface MeasureJob extends EngineJob {
	streams: number;
	/** Between the starts of two inferences, the GPU idle after each. Absent: the next one is always queued. */
	everyMs?: number | undefined;
	warmUpMs: number;
	durationMs: number;
	threads: number;
	samplesPath: string;
}

export type MeasureResult =
	| {
			state: "ok";
			samplesMs: Float64Array;
			peakMemoryBytes: number | null;
			/** What states it, or the last line of the log on memory. */
			memoryLine?: string | undefined;
			wallMs: number;
			/** From the first inference's start to the last one's end, over all streams. */
			timedMs: number;
			reportedThroughputPerSecond?: number;
			enqueueShare?: number;
	  }
	| { state: "unusable"; reason: string; failure: ToolFailure; wallMs: number };

/** `level`: the graph is optimised so far, and the work of its nodes is counted by operator, on one input. */
export type CountJob = EngineJob & { level?: "basic" | "all" | undefined };

/** absent: this backend cannot count. split: as the job's `level` asks. */
export type CountResult =
	| ({ state: "counted" } & Work)
	| { state: "split"; operators: WorkByOperator }
	| { state: "absent"; reason: string }
	| { state: "failed"; failure: ToolFailure };

export interface ProfileJob extends EngineJob {
	profilePath: string;
	layersPath: string;
	nodesPath: string;
}

/** absent: the backend cannot profile layers. `layers` is null if the files could not be parsed. */
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

/** A short run under a profiler, never compared with a timed run. */
export interface TraceJob extends Omit<EngineJob, "logPath"> {
	/** nsys: every kernel. ncu: one kernel, by hardware counters. */
	tool: "nsys" | "ncu";
	/** Name as in nsys; absent: the first kernels of the run. */
	kernel?: string | undefined;
	streams: number;
	folder: string;
	name: string;
}

/** A command under a profiler; `kernel` as in `TraceJob`. */
export interface TracedCommand extends Pick<TraceJob, "tool" | "kernel" | "folder" | "name" | "timeoutMs"> {
	command: readonly string[];
	cwd: string;
}

export interface Trace {
	files: readonly string[];
	kernels?: readonly KernelFact[];
	sentence?: string;
}

/** `sentence`: what is missing and why. absent: the backend has no profiler. */
export type TraceResult =
	| { state: "ran"; files: readonly string[]; kernels?: ArmKernels; sentence?: string }
	| { state: "absent" };

/** Failures are values; only bugs throw. */
export interface Backend {
	/** Facts of the head unless `arm` is given. */
	facts(arm?: Arm): Promise<BackendFacts>;
	/** Facts that must match before numbers may be compared. */
	fingerprint(): Promise<Readonly<Record<string, string>>>;
	build(job: BuildJob): Promise<BuildRecord>;
	layersOf?(engine: Pick<BuiltEngine, "arm" | "path">): Promise<EngineLayers | null>;
	/** null without a readable calibration cache. */
	calibrationOf?(engine: BuiltEngine): Promise<Calibration | null>;
	infer(job: InferJob): Promise<InferResult>;
	measure(job: MeasureJob): Promise<MeasureResult>;
	count?(job: CountJob): Promise<CountResult>;
	profile?(job: ProfileJob): Promise<ProfileResult>;
	trace?(job: TraceJob): Promise<TraceResult>;
	/** Sentences on what was degraded or chosen, each once. */
	notes?(): readonly string[];
}
