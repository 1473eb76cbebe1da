// Times each layer of an engine in a run of its own, and keeps trtexec's two files.
import { copyFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildArgs } from "../../formats/trtexec/args.ts";
import type { ProfileJob, ProfileResult } from "../../ports.ts";
import { makeFolders } from "../process/folder.ts";
import { classifyWriteError } from "../process/write-error.ts";
import type { Bench } from "./bench.ts";
import { loadSettings } from "./engine-args.ts";
import { asFailure, failureOf, unaskable } from "./failure.ts";
import { runTrtexec } from "./run.ts";
import { shapeSettings } from "./shapes.ts";
import { inWorkFolder, writeFilled } from "./work-folder.ts";

/** Enough for steady medians of layers that take microseconds. */
const [warmUpMs, iterations] = [200, 200];

export async function profileEngine(job: ProfileJob, bench: Bench): Promise<ProfileResult> {
	try {
		return await inWorkFolder((folder) => profileIn(folder, job, bench));
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	}
}

async function profileIn(folder: string, job: ProfileJob, bench: Bench): Promise<ProfileResult> {
	const files = { profilePath: "profile.json", layerInfoPath: "layers.json" };
	const inputs = await writeFilled(folder, job.inputs, job.seed);
	const { transfers } = bench.timing;
	const spec = {
		task: "profile",
		enginePath: job.engine.path,
		...shapeSettings(job.inputs, job.engine),
		inputs,
		transfers,
		warmUpMs,
		iterations,
		...loadSettings(job.engine, bench),
	} as const;
	const asked = buildArgs({ ...spec, ...files }, bench.trtexec.version);
	if (asked.kind !== "argv") return { state: "failed", failure: unaskable(asked) };
	const writes = Object.values(files);
	const { logPath, timeoutMs } = job;
	const run = await runTrtexec({ argv: asked.argv, cwd: folder, logPath, timeoutMs, writes, inputs }, bench);
	if (run.diagnosis.kind !== "none") return { state: "failed", failure: failureOf(run) };
	await keepFile(join(folder, files.profilePath), job.profilePath);
	await keepFile(join(folder, files.layerInfoPath), job.layersPath);
	return { state: "done" };
}

async function keepFile(source: string, target: string): Promise<void> {
	await makeFolders(dirname(target));
	await copyFile(source, target).catch((error: unknown) => {
		throw classifyWriteError(error, target);
	});
}
