// Calibrates an INT8 engine on the user's data in TensorRT's Python API, once for the same model, data and version.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { asEntropyCache, parseCalibrationCache } from "../../formats/trtexec/calibration-cache.ts";
import type { BuildJob, BuiltEngine, Calibration } from "../../ports/backend.ts";
import { readInputText } from "../process/input-file.ts";
import { hashOf } from "./build-cache.ts";
import type { TrtexecContext } from "./context.ts";

/** Of what is kept between runs. */
const version = 1;
const cacheName = "calibration.cache";

/** The job with a calibration cache in place of data. @throws ToolError; ConfigError of the data. */
export async function calibrate(job: BuildJob, context: TrtexecContext): Promise<BuildJob> {
	const { spec, assets, model, engineFolder } = job;
	const { data } = spec.engine.tensorrt.calibration ?? {};
	const own = context.trtexec.version;
	// Newer ones are refused like all settings that they lack.
	if (assets?.calibration?.cases === undefined || data === undefined || own.major >= 11) return job;
	const { sha256 } = assets.calibration;
	const path = join(engineFolder, cacheName);
	const plugins = assets.plugins.map((plugin) => plugin.sha256);
	const known = [version, own.text, data.method, model.sha256, plugins, sha256];
	const key = `calibration-${hashOf(JSON.stringify(known))}`;
	const { timing } = context.caches;
	const files = { [cacheName]: path };
	if (timing === null || (await timing.fetch(key, files)) === null) {
		await calibrateAnew(job, path, context);
		await timing?.keep(key, { files, facts: {} });
	}
	return { ...job, assets: { ...assets, calibration: { path, sha256 } } };
}

async function calibrateAnew(job: BuildJob, cachePath: string, context: TrtexecContext): Promise<void> {
	const { worker, device, trtexec } = context;
	const { spec, assets, model, logPath, timeoutMs, calibrationInputs: inputs } = job;
	const fix = "Install TensorRT's Python package of this version, or name a cache under `calibration`.";
	const missing = (why: string) => {
		const message = `INT8 calibration needs TensorRT ${trtexec.version.text} in Python: ${why}.`;
		return new ToolError({ code: "tool-missing", message, fix });
	};
	if (worker?.calibrate === undefined || inputs === undefined) throw missing("no Python worker is set up");
	job.onPhase?.("calibrating");
	const { tensorrt } = await worker.calibrate({
		...{ modelPath: model.path, inputs, cachePath, device, timeoutMs },
		method: spec.engine.tensorrt.calibration?.data?.method ?? "entropy",
		narrowsIntegers: trtexec.version.major < 10,
		plugins: (assets?.plugins ?? []).map(({ path }) => path),
		logPath: logPath.replace(/(\.log)?$/, "-calibration.log"),
	});
	// TensorRT skips another version's cache too.
	if (parseVersionText(tensorrt)?.text !== trtexec.version.text) throw missing(`it has ${tensorrt}`);
	await writeFile(cachePath, asEntropyCache(await readFile(cachePath, "utf8")));
}

export async function calibrationOf({ path, assets }: BuiltEngine): Promise<Calibration | null> {
	const own = assets?.calibration;
	if (own === undefined) return null;
	const file = own.cases === undefined ? own.path : join(dirname(path), cacheName);
	const ranges = parseCalibrationCache(await readInputText(file, inputKinds.engineLayers).catch(() => ""));
	return ranges && { path: file, ranges };
}
