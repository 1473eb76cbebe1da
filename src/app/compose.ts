// Creates the real adapters for the ports.
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { entryStore, verdictStore } from "../adapters/cache/entries.ts";
import { systemClock } from "../adapters/clock.ts";
import { findCalibrationData } from "../adapters/files/calibration-data.ts";
import { fileModelReader, readPatterns } from "../adapters/files/model-reader.ts";
import { fileStore } from "../adapters/files/store.ts";
import { fileTensorReader } from "../adapters/files/tensor-reader.ts";
import { onnxRuntimeBackend } from "../adapters/onnxruntime/backend.ts";
import { onnxRuntimeReference } from "../adapters/onnxruntime/reference.ts";
import { customCommands, userShell } from "../adapters/process/custom-command.ts";
import { createProcesses, type Processes } from "../adapters/process/processes.ts";
import type { Config } from "../core/config/config.ts";
import { usageError } from "../core/errors.ts";
import {
	childEnvironment,
	type Environment,
	lentVariables,
	userSearchPaths,
} from "../host/adapters/github/env.ts";
import type { Ports } from "../ports/ports.ts";
import type { Progress } from "../ports/world.ts";
import { chosenMachine, workerPathOf } from "./choose-backend.ts";
import { gpuLease, gpuWatch, lockFolderOf, narrowDevices } from "./gpu.ts";

const maxVerdictBytes = 256 * 1024 ** 2;

export type Composition = ReturnType<typeof compose>;

interface World {
	environment: Environment;
	progress: Progress;
	cwd: string;
	trtexec?: string;
	onnxruntimeFolder?: string;
}

export function compose(
	config: Pick<Config, "backend" | "device" | "onnxruntime" | "measure" | "cache" | "base">,
	world: World,
) {
	const visibleDevices = narrowDevices(world.environment.visibleDevices, config.device);
	const environment = { ...world.environment, visibleDevices };
	// Makes CUDA number GPUs as nvidia-smi does.
	const processes = createProcesses({
		env: {
			...childEnvironment(),
			CUDA_DEVICE_ORDER: "PCI_BUS_ID",
			CUDA_VISIBLE_DEVICES: visibleDevices,
		},
	});
	const interrupted = new AbortController();
	const clock = systemClock();
	let reason: string | null = null;
	const onnxRuntime = onnxRuntimeOptions(config, world, processes);
	const { backend, gpu } = chosenMachine({
		config,
		cwd: world.cwd,
		environment,
		processes,
		cacheFolder: cacheFolder(world.environment),
		workerPath: workerPathOf(distFolder()),
		onnxRuntime: () => onnxRuntimeBackend(onnxRuntime),
		trtexec: world.trtexec,
	});
	const stop = (why: string) => {
		reason = why;
		interrupted.abort();
		void processes.killAll();
	};
	const ports: Ports = {
		files: fileStore(world.progress),
		models: { ...fileModelReader(world.progress), patterns: readPatterns },
		tensors: fileTensorReader(),
		calibrationData: findCalibrationData,
		backend,
		reference: onnxRuntimeReference({ ...onnxRuntime, flavour: "wasm" }),
		...keptByRuns(config, world.environment),
		clock,
		shell: userShell(forUsers(processes), lentVariables),
		custom: customCommands(forUsers(processes)),
		telemetry: gpuWatch({ gpu, processes, clock, device: visibleDevices }),
		gpuLease: gpuLease({
			gpu,
			folder: lockFolderOf(world.environment),
			progress: world.progress,
			signal: interrupted.signal,
		}),
		progress: world.progress,
		interrupt: { reason: () => reason },
		childMs: processes.childMs,
	};
	return {
		ports,
		processes,
		gpuUuid: () => gpu().then((gpu) => (typeof gpu === "string" ? null : gpu.choice.gpu.uuid)),
		stop,
	};
}

export function onnxRuntimeOptions(
	config: { onnxruntime: Config["onnxruntime"]; measure: Pick<Config["measure"], "threads"> },
	world: Omit<World, "progress" | "trtexec">,
	processes: Processes,
) {
	const { environment, cwd, onnxruntimeFolder } = world;
	return {
		flavour: config.onnxruntime,
		nativeFolder: onnxruntimeFolder === undefined ? undefined : resolve(cwd, onnxruntimeFolder),
		// A pull request writes the files of a workflow's workspace.
		untrustedFolder: environment.isActions ? environment.workspace : undefined,
		workerPath: join(distFolder(), "ort", "worker.js"),
		nodePath: process.execPath,
		wasmFolder: join(distFolder(), "ort"),
		cacheFolder: cacheFolder(environment),
		processes,
		threads: config.measure.threads,
		registry: environment.registry,
	};
}

export function forUsers(processes: Processes): Processes {
	return { ...processes, run: (job) => processes.run({ ...job, env: { ...userSearchPaths(), ...job.env } }) };
}

function keptByRuns({ cache }: Pick<Config, "cache">, environment: Environment) {
	const folder = cacheFolder(environment);
	return {
		...(cache.verdicts && {
			keptVerdicts: verdictStore(entryStore({ folder: join(folder, "verdicts"), maxBytes: maxVerdictBytes })),
		}),
	};
}

/** This module is bundled into its folder chunks/. */
export function distFolder(): string {
	return join(dirname(fileURLToPath(import.meta.url)), "..");
}

export async function examplesAt(name: "recorded" | "quickstart" | "tuned"): Promise<string> {
	const examples = join(distFolder(), "..", "examples", name);
	await access(examples).catch(() => {
		throw usageError(
			`The example models are not at ${examples}.`,
			"Use a complete clone or package of trtgate.",
		);
	});
	return examples;
}

export function cacheFolder(environment: Environment): string {
	if (environment.toolCache !== undefined) return join(environment.toolCache, "trtgate");
	if (environment.cacheHome !== undefined) return join(environment.cacheHome, "trtgate");
	return environment.home === undefined
		? join(tmpdir(), "trtgate")
		: join(environment.home, ".cache", "trtgate");
}
