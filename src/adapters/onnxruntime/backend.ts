// The backend of machines without a GPU: ONNX Runtime on the CPU, one worker process for each job.
import { arch, availableParallelism, cpus, platform } from "node:os";
import type { BackendFacts } from "../../../generated/result.ts";
import { BugError } from "../../core/errors.ts";
import type { Backend } from "../../ports/backend.ts";
import type { Processes } from "../process/processes.ts";
import { buildEngine, type OnnxRuntimeContext } from "./build.ts";
import { countRun, profileRun } from "./count.ts";
import { inferCases } from "./infer.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";

export interface OnnxRuntimeOptions {
	flavour: "auto" | "wasm" | "native";
	workerPath: string;
	nodePath: string;
	wasmFolder: string;
	cacheFolder: string;
	processes: Processes;
	threads: number;
	nativeFolder?: string | undefined;
	untrustedFolder?: string | undefined;
	registry?: string | undefined;
	onNative?(note: string): void;
	/** Absent: the system's count. */
	cpuName?: string;
}

export function onnxRuntimeBackend(options: OnnxRuntimeOptions): Backend {
	const notes: string[] = [];
	let chosen: Promise<Runtime> | null = null;
	const runtime = (): Promise<Runtime> => {
		// Only WebAssembly counts its work.
		const flavour = options.flavour === "native" ? "native" : "wasm";
		chosen ??= chooseRuntime({ ...options, flavour, onNative: (note) => notes.push(note) });
		return chosen;
	};
	const context = async (): Promise<OnnxRuntimeContext> => ({
		runtime: await runtime(),
		place: options,
		threads: options.threads,
	});
	return {
		facts: async () => describeBackend(await runtime(), options),
		fingerprint: async () => fingerprintOf(await runtime(), options),
		build: async (job) => buildEngine(job, await context()),
		infer: async (job) => inferCases(job, await context()),
		measure: () =>
			Promise.reject(
				new BugError({ code: "internal", message: "ONNX Runtime's work is counted, not timed." }),
			),
		count: async (job) => countRun(job, await context()),
		notes: () => notes,
		profile: async (job) => profileRun(job, await context()),
	};
}

function describeBackend(runtime: Runtime, options: OnnxRuntimeOptions): BackendFacts {
	return {
		kind: "onnxruntime",
		name: runtime.flavour === "wasm" ? "ONNX Runtime (WebAssembly)" : "ONNX Runtime (native)",
		version: runtime.version,
		device: cpuName(options),
		caveat: "CPU, not TensorRT",
	};
}

function fingerprintOf(runtime: Runtime, options: OnnxRuntimeOptions): Record<string, string> {
	return {
		os: platform(),
		arch: arch(),
		cpu: cpuName(options),
		cores: String(availableParallelism()),
		onnxruntime: `${runtime.version} ${runtime.flavour}`,
		node: process.versions.node.split(".")[0] ?? "",
		threads: String(options.threads),
	};
}

export function cpuName(options: OnnxRuntimeOptions): string {
	return options.cpuName ?? (cpus()[0]?.model.trim() || "unknown CPU");
}
