// What every job on TensorRT needs: the program, the GPU, how it is timed, and what is remembered between jobs.

import type { MeasureConfig } from "../../core/config/config.ts";
import type { KernelFact } from "../../core/explain/kernels.ts";
import type { InferCase, InferResult, TraceJob } from "../../ports/backend.ts";
import type { FileCache } from "../../ports/world.ts";
import type { Processes } from "../process/processes.ts";
import type { Trtexec } from "./find.ts";

/** Runs golden cases in TensorRT's Python API; trtexec takes them over where it is absent. */
export interface GoldenWorker {
	probe(): Promise<{ tensorrt: string } | { absent: string }>;
	infer(job: {
		enginePath: string;
		cases: readonly InferCase[];
		device: number;
		plugins: readonly string[];
		timeoutMs: number;
		logPath: string;
		onCase?(done: number): void;
	}): Promise<InferResult>;
}

/** Runs a command under a profiler. `sentence` explains what is missing and why. */
export type Tracer = (job: {
	tool: TraceJob["tool"];
	/** Of ncu: the one kernel to look at. */
	kernel?: string;
	command: readonly string[];
	cwd: string;
	folder: string;
	name: string;
	timeoutMs: number;
}) => Promise<{ files: readonly string[]; kernels?: readonly KernelFact[]; sentence?: string }>;

export interface BuildCaches {
	engines: FileCache | null;
	timing: FileCache | null;
}

export type TimingSettings = Pick<MeasureConfig, "cudaGraph" | "spinWait" | "transfers">;

export interface TrtexecContext {
	trtexec: Trtexec;
	processes: Processes;
	/** CUDA device. */
	device: number;
	timing: TimingSettings;
	worker: GoldenWorker | null;
	tracer: Tracer | null;
	caches: BuildCaches;
	/** What engines and kernel timings hold for: GPU, driver, TensorRT. null where that is not known. */
	machine: string | null;
	/** Whether the worker can be used here, once that was checked. */
	workerChoice?: Promise<GoldenWorker | null>;
	/** What was built in this run, by the engine's path. */
	built: Map<string, BuiltPlan>;
	/** Kernel timings in each timing cache after its last build, by path. */
	cacheEntries: Map<string, number>;
	/** Notes a sentence once. */
	note(sentence: string): void;
}

/** What is remembered of a plan, to know it again. */
export interface BuiltPlan {
	sha256: string;
	bytes: number;
	/** Last change of the file when its digest was last taken. */
	modifiedMs: number;
	weightsBytes: number;
}
