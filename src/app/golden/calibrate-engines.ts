// Runs the golden cases of a config through its engines, and judges each limit by the engine's own error.
import { dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { Result } from "../../../generated/result.ts";
import type { Config } from "../../core/config/config.ts";
import { BugError } from "../../core/errors.ts";
import {
	applyCalibration,
	type CalibratedEngine,
	isSameCalibration,
} from "../../core/golden/calibrate/apply.ts";
import { errorsOf } from "../../core/golden/calibrate/errors.ts";
import {
	type CalibratedErrors,
	type CalibrationRule,
	proposeLimits,
} from "../../core/golden/calibrate/propose-limits.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import type { Files } from "../../ports/world.ts";
import { readConfigFile } from "../config-file.ts";
import { type GateOptions, gate } from "../gate.ts";
import { readManifestText } from "./read-old.ts";

export interface Calibration {
	/** Of the run that built and ran the engines: its golden gates mean nothing here. */
	result: Result;
	/** Folder of the config. */
	home: string;
	config: Config;
	goldens: readonly CalibratedGolden[];
}

export interface CalibratedGolden {
	/** Manifest, relative to the config's folder. */
	path: string;
	old: GoldenManifest;
	engines: readonly CalibratedErrors[];
}

type RunOptions = Omit<GateOptions, "adapt" | "head" | "base">;

/** One rule for all engines. @throws as gate. */
export async function calibrateEngines(
	options: RunOptions,
	given: Omit<CalibrationRule, "backend">,
): Promise<Calibration> {
	const completed = await gate({ ...options, adapt: onlyGoldens });
	if (completed.state !== "ran")
		throw new BugError({ code: "internal", message: "A calibration was only planned." });
	const rule = { ...given, backend: completed.result.backend.kind };
	const { cwd, inputs, workspace } = options;
	const request = { cwd, path: options.config ?? "trtgate.yml", inputs, workspace };
	const { config, home } = await readConfigFile(request);
	const byPath = new Map<string, EngineSpec[]>();
	for (const spec of engineSpecs(config)) {
		const { golden } = spec.engine;
		if (golden !== undefined && wasRun(spec, completed.result))
			byPath.set(golden, [...(byPath.get(golden) ?? []), spec]);
	}
	const goldens: CalibratedGolden[] = [];
	for (const [path, specs] of byPath) {
		const text = await readManifestText(join(home, path), path);
		if (text === null) continue;
		const old = parseManifest(text, path);
		goldens.push({
			path,
			old,
			engines: specs.map((spec) => calibrateOne(spec, { old, result: completed.result, rule })),
		});
	}
	return { result: completed.result, home, config, goldens };
}

/** Nothing is timed or probed, there is no base, and evidence is of now: no verdict of an earlier run counts. */
function onlyGoldens(config: Config): Config {
	const models = config.models.map((model) => ({
		...model,
		engines: model.engines.map((engine) => ({ ...engine, workloads: [] })),
		probes: { ...model.probes, when: "off" as const },
	}));
	return { ...config, models, baseline: { from: "base-ref" }, cache: { ...config.cache, verdicts: false } };
}

function wasRun({ model, engine }: EngineSpec, { golden }: Result): boolean {
	return golden.some((verdict) => verdict.model === model.name && verdict.engine === engine.name);
}

interface Calibrating {
	old: GoldenManifest;
	result: Result;
	rule: CalibrationRule;
}

function calibrateOne(
	{ id, model, engine }: EngineSpec,
	{ old, result, rule }: Calibrating,
): CalibratedErrors {
	const own = result.golden.filter(
		(verdict) => verdict.model === model.name && verdict.engine === engine.name,
	);
	const about = { engine: id, precision: engine.precision, golden: old.goldenId, ...errorsOf(old, own) };
	// An engine that fails one case is no evidence for any limit.
	return { ...about, limits: about.faults.length > 0 ? [] : proposeLimits(about, rule) };
}

/** Engines whose errors may set limits. */
function usableEngines({ engines }: CalibratedGolden, { backend, startedAt }: Result): CalibratedEngine[] {
	const { kind, version, device } = backend;
	return engines.flatMap(({ engine, precision, limits }) => {
		// An engine that is wrong in one output is no evidence for another.
		const isWrong = limits.some(({ state }) => state === "refused");
		const usable = isWrong ? limits.filter(({ state }) => state === "given") : limits;
		return usable.length === 0
			? []
			: [{ engine, precision, backend: kind, version, device, at: startedAt, limits: usable }];
	});
}

/** @returns the new manifest; null where no engine gave evidence, or none that is new. */
export async function writeCalibration(
	golden: CalibratedGolden,
	{ home, result }: Calibration,
	how: { change: { reason: string; author: string }; files: Files },
): Promise<GoldenManifest | null> {
	const engines = usableEngines(golden, result);
	if (engines.length === 0) return null;
	const manifest = applyCalibration(golden.old, engines, how.change);
	if (isSameCalibration(golden.old, manifest)) return null;
	const path = join(home, golden.path);
	await how.files.makeFolder(dirname(path));
	await how.files.writeText(path, `${JSON.stringify(manifest, null, "\t")}\n`);
	return manifest;
}
