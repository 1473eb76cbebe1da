// Calibrates an INT8 engine in TensorRT's Python API, once for the same model, data and version.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { asEntropyCache, parseCalibrationCache } from "../../formats/trtexec/calibration-cache.ts";
import type { BuildJob, BuiltEngine, Calibration } from "../../ports/backend.ts";
import { readInputText } from "../process/input-file.ts";
import { hashOf } from "./build-cache.ts";
import type { TrtexecContext } from "./run.ts";

const keptVersion = 1;
const cacheName = "calibration.cache";

/** The job with a calibration cache in place of data. @throws ToolError; ConfigError of the data. */
export async function calibrate(job: BuildJob, context: TrtexecContext): Promise<BuildJob> {
	const { spec, assets, model, engineFolder } = job;
	const { method } = spec.engine.tensorrt.calibration?.data ?? {};
	const { version } = context.trtexec;
	// Newer ones are refused like all settings that they lack.
	if (assets?.calibration?.cases === undefined || method === undefined || version.major >= 11) return job;
	const { sha256 } = assets.calibration;
	const path = join(engineFolder, cacheName);
	const files = { [cacheName]: path };
	const plugins = assets.plugins.map((plugin) => plugin.sha256);
	const known = [keptVersion, version.text, method, model.sha256, plugins, sha256];
	const key = `calibration-${hashOf(JSON.stringify(known))}`;
	const { timing } = context.caches;
	if (((await timing?.fetch(key, files)) ?? null) === null) {
		const { tensorrt } = await runWorker({ job, method, path }, context);
		// TensorRT skips another version's cache, and trtexec then makes up data.
		if (parseVersionText(tensorrt)?.text !== version.text)
			throw pythonNeeded(`${tensorrt} is installed`, context);
		await writeFile(path, asEntropyCache(await readFile(path, "utf8")));
		await timing?.keep(key, { files, facts: {} });
	}
	return { ...job, assets: { ...assets, calibration: { path, sha256 } } };
}

function runWorker(
	{ job, method, path }: { job: BuildJob; method: "entropy" | "minmax"; path: string },
	context: TrtexecContext,
) {
	const { worker, trtexec } = context;
	const { assets, model, logPath, timeoutMs, calibrationCases: cases } = job;
	if (worker?.calibrate === undefined || cases === undefined)
		throw pythonNeeded("no worker is set up", context);
	job.onPhase?.("calibrating");
	return worker.calibrate({
		...{ modelPath: model.path, cases, cachePath: path, method, device: 0, timeoutMs },
		narrowsIntegers: trtexec.version.major < 10,
		plugins: (assets?.plugins ?? []).map((plugin) => plugin.path),
		logPath: logPath.replace(/(\.log)?$/, "-calibration.log"),
	});
}

function pythonNeeded(why: string, { trtexec }: TrtexecContext) {
	const message = `INT8 calibration needs TensorRT ${trtexec.version.text} in Python: ${why}.`;
	const fix = "Install that version's Python package, or name a calibration cache.";
	return new ToolError({ code: "tool-missing", message, fix });
}

export async function calibrationOf({ path, assets }: BuiltEngine): Promise<Calibration | null> {
	const own = assets?.calibration;
	if (own === undefined) return null;
	const file = own.cases === undefined ? own.path : join(dirname(path), cacheName);
	const ranges = parseCalibrationCache(await readInputText(file, inputKinds.engineLayers).catch(() => ""));
	return ranges && { path: file, ranges };
}
