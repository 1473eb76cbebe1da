// The backend of machines with TensorRT; golden cases run in Python or in trtexec.
import { arch, platform } from "node:os";
import type { BackendFacts } from "../../../generated/result.ts";
import { gpuFingerprint, memoryOf } from "../../formats/nvidia-smi/gpus.ts";
import { boardFingerprint, type Device } from "../../formats/tegra/tegrastats.ts";
import type { TimingSettings } from "../../formats/trtexec/args.ts";
import type { Backend, GoldenWorker } from "../../ports/backend.ts";
import type { Processes } from "../process/processes.ts";
import { buildEngine, layersOf } from "./build.ts";
import { calibrationOf } from "./calibrate.ts";
import type { BuildCaches, Tracer, TrtexecContext } from "./context.ts";
import { newestKnownMajor, type Trtexec } from "./find.ts";
import { inferCases } from "./infer.ts";
import { describeMode, measureRun } from "./measure.ts";
import { profileEngine, traceRun } from "./profile.ts";

interface TrtexecOptions {
	trtexec: Trtexec;
	gpu: Device | null;
	processes: Processes;
	timing: TimingSettings;
	device?: number;
	worker?: GoldenWorker;
	tracer?: Tracer;
	/** Absent: every engine is built. */
	caches?: BuildCaches;
}

export function trtexecBackend(options: TrtexecOptions): Backend {
	const { trtexec, gpu } = options;
	const notes = new Set<string>();
	const context: TrtexecContext = {
		trtexec,
		processes: options.processes,
		device: options.device ?? 0,
		timing: options.timing,
		worker: options.worker ?? null,
		tracer: options.tracer ?? null,
		caches: options.caches ?? { engines: null, timing: null },
		machine: machineOf(trtexec, gpu),
		built: new Map(),
		ownPlans: new Set(),
		cacheEntries: new Map(),
		note: (sentence) => notes.add(sentence),
	};
	if (trtexec.version.major > newestKnownMajor) {
		context.note(
			`TensorRT ${trtexec.version.text} is newer than the newest supported version (${newestKnownMajor}); its flags may have changed.`,
		);
	}
	return {
		facts: async () => factsOf(options),
		fingerprint: async () => fingerprintOf(options),
		build: (job) => buildEngine(job, context),
		layersOf: ({ path }) => layersOf(path),
		calibrationOf,
		infer: (job) => inferCases(job, context),
		measure: (job) => measureRun(job, context),
		profile: (job) => profileEngine(job, context),
		trace: (job) => traceRun(job, context),
		notes: () => [...notes],
	};
}

/** The whole driver version, because a plan is tied to it. */
function machineOf(trtexec: Trtexec, gpu: Device | null) {
	if (gpu === null) return null;
	const { name, driver, computeCapability } = gpu.choice.gpu;
	const part = gpu.choice.slice?.profile ?? gpu.board?.powerMode ?? null;
	return JSON.stringify([trtexec.version.text, name, driver, computeCapability, part]);
}

function factsOf({ trtexec, gpu }: TrtexecOptions): BackendFacts {
	const { computeCapability } = gpu?.choice.gpu ?? { computeCapability: null };
	const memoryBytes = gpu === null ? null : memoryOf(gpu.choice);
	return {
		kind: "tensorrt",
		name: "TensorRT",
		version: trtexec.version.text,
		device: gpu?.choice.gpu.name ?? "unknown GPU",
		memoryBytes: memoryBytes ?? undefined,
		computeCapability: computeCapability ?? undefined,
	};
}

function fingerprintOf({ trtexec, gpu, timing }: TrtexecOptions): Record<string, string> {
	return {
		os: platform(),
		arch: arch(),
		tensorrt: trtexec.version.text,
		...(gpu === null ? {} : gpuFingerprint(gpu.choice)),
		...(gpu?.cuda == null ? {} : { cuda: gpu.cuda }),
		...(gpu?.board === undefined ? {} : boardFingerprint(gpu.board)),
		timing: describeMode(timing),
	};
}
