// The context of every job on TensorRT: the program, the GPU, how it is timed, and results that later jobs reuse.

import type { MeasureConfig } from "../../core/config/config.ts";
import type { KernelFact } from "../../engine/core/explain/kernels.ts";
import type { InferCase, InferResult, TraceJob } from "../../ports/backend.ts";
import type { FileCache } from "../../ports/world.ts";
import type { Processes } from "../process/processes.ts";
import type { Trtexec } from "./find.ts";

/** Runs golden cases in TensorRT's Python API; if that is absent, trtexec runs them. */
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

export type Tracer = (job: {
	tool: TraceJob["tool"];
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
	device: number;
	timing: TimingSettings;
	worker: GoldenWorker | null;
	tracer: Tracer | null;
	caches: BuildCaches;
	/** Engines and kernel timings hold for this GPU, driver and TensorRT; null if unknown. */
	machine: string | null;
	workerChoice?: Promise<GoldenWorker | null>;
	built: Map<string, BuiltPlan>;
	cacheEntries: Map<string, number>;
	note(sentence: string): void;
}

export interface BuiltPlan {
	sha256: string;
	bytes: number;
	modifiedMs: number;
	weightsBytes: number;
}
