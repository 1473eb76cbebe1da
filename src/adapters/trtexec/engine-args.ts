// What an engine's own settings say to trtexec: to its build, and to every run that loads it.
import { flagName } from "../../core/config/tensorrt-settings.ts";
import type { EngineAssets, EngineSpec } from "../../core/plan/plan.ts";
import type { Plugins } from "../../formats/trtexec/args-spec.ts";
import { flagsOfRuns } from "../../formats/trtexec/flag-table.ts";
import type { TimingSettings, TrtexecContext } from "./context.ts";

interface Configured {
	spec: EngineSpec;
	assets?: EngineAssets;
}

const mebibyte = 1024 * 1024;

/** Beside model, precision, profiles and caches. */
export function buildSettings({ spec, assets }: Configured, context: TrtexecContext) {
	const { workspaceBytes, optimizationLevel, dla, flags } = spec.engine.tensorrt;
	return {
		...placeSettings({ spec, ...(assets === undefined ? {} : { assets }) }, context),
		extraFlags: flags,
		...(workspaceBytes === undefined ? {} : { workspaceMiB: Math.floor(workspaceBytes / mebibyte) }),
		...(optimizationLevel === undefined ? {} : { builderOptimizationLevel: optimizationLevel }),
		...(dla === undefined ? {} : { allowGpuFallback: dla.gpuFallback }),
		...(assets?.calibration === undefined ? {} : { calibrationPath: assets.calibration.path }),
	};
}

/** Of a run that loads the engine. */
export function loadSettings(engine: Configured, context: TrtexecContext) {
	const flags = engine.spec.engine.tensorrt.flags.filter((flag) => flagsOfRuns.has(flagName(flag)));
	return { ...placeSettings(engine, context), extraFlags: flags };
}

/** A DLA takes no CUDA graph. */
export function timingOf({ spec }: Configured, { timing }: Pick<TrtexecContext, "timing">): TimingSettings {
	return spec.engine.tensorrt.dla === undefined ? timing : { ...timing, cudaGraph: false };
}

function placeSettings({ spec, assets }: Configured, context: TrtexecContext) {
	const { dla } = spec.engine.tensorrt;
	const plugins = pluginsOf(assets);
	return { device: context.device, ...(plugins === null ? {} : { plugins }), ...(dla === undefined ? {} : { dlaCore: dla.core }) };
}

function pluginsOf(assets: EngineAssets | undefined): Plugins | null {
	const plugins = assets?.plugins ?? [];
	if (plugins.length === 0) return null;
	const paths = (wanted: boolean): string[] => plugins.filter(({ dynamic }) => dynamic === wanted).map(({ path }) => path);
	return { static: paths(false), dynamic: paths(true) };
}
