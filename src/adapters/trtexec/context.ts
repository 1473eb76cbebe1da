// What every job on TensorRT shares.

import type { TimingSettings } from "../../formats/trtexec/args.ts";
import type { GoldenWorker, Trace, TracedCommand } from "../../ports/backend.ts";
import type { FileCache } from "../../ports/world.ts";
import type { Processes } from "../process/processes.ts";
import type { Trtexec } from "./find.ts";

export type Tracer = (job: TracedCommand) => Promise<Trace>;

export interface BuildCaches {
	engines: FileCache | null;
	timing: FileCache | null;
}

export interface TrtexecContext {
	trtexec: Trtexec;
	processes: Processes;
	device: number;
	timing: TimingSettings;
	worker: GoldenWorker | null;
	tracer: Tracer | null;
	caches: BuildCaches;
	machine: string | null;
	workerChoice?: Promise<GoldenWorker | null>;
	built: Map<string, BuiltPlan>;
	/** Models with a plan that trtexec did not build, so that how large its weights are is not known. */
	ownPlans: Set<string>;
	cacheEntries: Map<string, number>;
	note(sentence: string): void;
}

export interface BuiltPlan {
	sha256: string;
	bytes: number;
	modifiedMs: number;
	weightsBytes: number | null;
}
