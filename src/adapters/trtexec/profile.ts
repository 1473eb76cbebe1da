// Times each layer of an engine in a run of its own, and keeps trtexec's two files.
import { copyFile, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolError } from "../../core/errors.ts";
import { formatBytes } from "../../core/text/units.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import { parseTimedLayers } from "../../formats/trtexec/layers.ts";
import type { ProfileJob, ProfileResult } from "../../ports/backend.ts";
import { makeFolders } from "../process/folder.ts";
import { classifyWriteError } from "../process/write-error.ts";
import type { TrtexecContext } from "./context.ts";
import { loadSettings } from "./engine-args.ts";
import { asFailure, failureOf, unaskable } from "./failure.ts";
import { runTrtexec } from "./run.ts";
import { shapeSettings } from "./shapes.ts";
import { inWorkFolder, writeFilled } from "./work-folder.ts";

/** Enough for steady medians of layers that take microseconds. */
const [warmUpMs, iterations] = [200, 200];

export async function profileEngine(job: ProfileJob, context: TrtexecContext): Promise<ProfileResult> {
	try {
		return await inWorkFolder((folder) => profileIn(folder, job, context));
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	}
}

async function profileIn(folder: string, job: ProfileJob, context: TrtexecContext): Promise<ProfileResult> {
	const files = { profilePath: "profile.json", layerInfoPath: "layers.json" };
	const inputs = await writeFilled(folder, job.inputs, job.seed);
	const { transfers } = context.timing;
	const spec = {
		task: "profile",
		enginePath: job.engine.path,
		...shapeSettings(job.inputs, job.engine),
		inputs,
		transfers,
		warmUpMs,
		iterations,
		...loadSettings(job.engine, context),
	} as const;
	const asked = buildArgs({ ...spec, ...files }, context.trtexec.version);
	if (asked.kind !== "argv") return { state: "failed", failure: unaskable(asked) };
	const writes = Object.values(files);
	const { logPath, timeoutMs } = job;
	const run = await runTrtexec({ argv: asked.argv, cwd: folder, logPath, timeoutMs, writes, inputs }, context);
	if (run.diagnosis.kind !== "none") return { state: "failed", failure: failureOf(run) };
	await keepFile(join(folder, files.profilePath), job.profilePath);
	await keepFile(join(folder, files.layerInfoPath), job.layersPath);
	return readLayers(job);
}

/** An engine of ten thousand layers, with every detail, is some tens of megabytes. */
const mostFileBytes = 128 * 1024 * 1024;

/** The files are kept whatever they hold. */
async function readLayers({ profilePath, layersPath }: ProfileJob): Promise<ProfileResult> {
	try {
		return { state: "done", layers: parseTimedLayers(await readBounded(profilePath), await readBounded(layersPath)) };
	} catch (error) {
		return { state: "done", layers: null, sentence: asFailure(error).message };
	}
}

async function readBounded(path: string): Promise<string> {
	const { size } = await stat(path);
	if (size <= mostFileBytes) return readFile(path, "utf8");
	const got = formatBytes(size);
	throw new ToolError({ code: "tool-output", message: `trtexec wrote ${got} about the layers; the report shows none of it.` });
}

async function keepFile(source: string, target: string): Promise<void> {
	await makeFolders(dirname(target));
	await copyFile(source, target).catch((error: unknown) => {
		throw classifyWriteError(error, target);
	});
}
