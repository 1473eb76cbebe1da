// The backend of machines with TensorRT; golden cases run in Python or in trtexec.

import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import type { BackendFacts } from "../../../generated/result.ts";
import { asFailure, ToolError } from "../../core/errors.ts";
import { formatBytes } from "../../core/text/units.ts";
import { boundKernels } from "../../engine/core/explain/layers.ts";
import { gpuFingerprint, memoryOf } from "../../formats/nvidia-smi/gpus.ts";
import { nodesFile } from "../../formats/onnx/write.ts";
import { boardFingerprint, type Device } from "../../formats/tegra/tegrastats.ts";
import { runArgs } from "../../formats/trtexec/args.ts";
import { parseTimedLayers } from "../../formats/trtexec/layer-profile.ts";
import type { Backend, ProfileJob, ProfileResult, TraceJob, TraceResult } from "../../ports/backend.ts";
import { orFailure } from "../process/failure.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { buildEngine, layersOf } from "./build.ts";
import { calibrationOf } from "./calibrate.ts";
import { failureOf } from "./failure.ts";
import { newestKnownMajor, type Trtexec } from "./find.ts";
import { inferCases } from "./infer.ts";
import { describeMode, measureRun } from "./measure.ts";
import { inWorkFolder, runTrtexec, type TrtexecContext, type TrtexecOptions, writeFilled } from "./run.ts";

type GpuOptions = TrtexecOptions & { gpu: Device | null };

export function trtexecBackend(options: GpuOptions): Backend {
	const { trtexec, gpu } = options;
	const notes = new Set<string>();
	const context: TrtexecContext = {
		caches: { engines: null, timing: null },
		...options,
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
		profile: (job) => orFailure(() => inWorkFolder((folder) => profileIn(folder, job, context))),
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

function factsOf({ trtexec, gpu }: GpuOptions): BackendFacts {
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

function fingerprintOf({ trtexec, gpu, timing }: GpuOptions): Record<string, string> {
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

const layerRun = { warmUpMs: 200, iterations: 200 };

async function profileIn(folder: string, job: ProfileJob, context: TrtexecContext): Promise<ProfileResult> {
	const files = { profile: "profile.json", layers: "layers.json" };
	const inputs = await writeFilled(folder, job, context);
	const argv = runArgs(job.engine, inputs, { task: "profile", ...layerRun, ...files }, context);
	const writes = Object.values(files);
	const { logPath, timeoutMs } = job;
	const run = await runTrtexec({ argv, cwd: folder, logPath, timeoutMs, writes, inputs }, context);
	if (run.diagnosis.kind !== "none") return { state: "failed", failure: failureOf(run) };
	await keepFile(join(folder, files.profile), job.profilePath);
	await keepFile(join(folder, files.layers), job.layersPath);
	await keepNodes(job);
	return readLayers(job);
}

const mostNodes = 20_000;
const mostNodesBytes = 8 * 1024 * 1024;

async function keepNodes({ nodesPath, engine }: ProfileJob) {
	const { nodes } = engine.model.onnx.graph;
	const bytes = nodes.length > mostNodes ? null : nodesFile(nodes);
	if (bytes !== null && bytes.length <= mostNodesBytes)
		await orWriteError(writeFile(nodesPath, bytes), nodesPath);
}

const maxFileBytes = 128 * 1024 * 1024;

async function readLayers({ profilePath, layersPath }: ProfileJob): Promise<ProfileResult> {
	try {
		const timed = parseTimedLayers(await readBounded(profilePath), await readBounded(layersPath));
		return { state: "done", ...timed };
	} catch (error) {
		return { state: "done", layers: null, sentence: asFailure(error).message };
	}
}

async function readBounded(path: string) {
	const { size } = await stat(path);
	if (size <= maxFileBytes) return readFile(path, "utf8");
	const message = `trtexec wrote ${formatBytes(size)} about the layers; the report shows no layers.`;
	throw new ToolError({ code: "tool-output", message });
}

async function keepFile(source: string, target: string) {
	await makeFolders(dirname(target));
	await orWriteError(copyFile(source, target), target);
}

const tracedRun = { warmUpMs: 200, durationMs: 0, iterations: 50, times: "times.json" };

async function traceRun(job: TraceJob, context: TrtexecContext): Promise<TraceResult> {
	const { tracer } = context;
	if (tracer === undefined) return { state: "absent" };
	try {
		return await inWorkFolder(async (cwd) => {
			const inputs = await writeFilled(cwd, job, context);
			const task = { task: "time", ...tracedRun, streams: job.streams } as const;
			const { tool, kernel, folder, name, timeoutMs } = job;
			const command = [context.trtexec.program, ...runArgs(job.engine, inputs, task, context)];
			const traced = await tracer({ tool, kernel, command, cwd, folder, name, timeoutMs });
			const { files, kernels = [], sentence } = traced;
			return {
				state: "ran",
				files,
				kernels: kernels.length === 0 ? undefined : boundKernels(kernels),
				sentence,
			};
		});
	} catch (error) {
		return { state: "ran", files: [], sentence: asFailure(error).message };
	}
}
