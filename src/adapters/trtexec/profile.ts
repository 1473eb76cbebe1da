// Times layers, or runs an engine under a profiler.
import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { asFailure, ToolError } from "../../core/errors.ts";
import { formatBytes } from "../../core/text/units.ts";
import { boundKernels } from "../../engine/core/explain/kernels.ts";
import { nodesFile } from "../../formats/onnx/write.ts";
import { runArgs } from "../../formats/trtexec/args.ts";
import { parseTimedLayers } from "../../formats/trtexec/layer-profile.ts";
import type { ProfileJob, ProfileResult, TraceJob, TraceResult } from "../../ports/backend.ts";
import { orFailure } from "../process/failure.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import type { TrtexecContext } from "./context.ts";
import { failureOf } from "./failure.ts";
import { inWorkFolder, runTrtexec, writeFilled } from "./run.ts";

/** Enough for stable means of layers that take microseconds. */
const layerRun = { warmUpMs: 200, iterations: 200 };

export function profileEngine(job: ProfileJob, context: TrtexecContext): Promise<ProfileResult> {
	return orFailure(() => inWorkFolder((folder) => profileIn(folder, job, context)));
}

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

export async function traceRun(job: TraceJob, context: TrtexecContext): Promise<TraceResult> {
	const { tracer } = context;
	if (tracer === null) return { state: "absent" };
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
