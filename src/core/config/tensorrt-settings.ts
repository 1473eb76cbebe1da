// Resolves how TensorRT builds an engine: workspace, effort, plugins, DLA, calibration and the user's own flags.
import type { DlaFile, EngineFile, ModelFile, PluginFile, Precision } from "../schema/config.ts";
import type { PluginConfig, TensorRtConfig } from "./config.ts";
import { defaultGpuFallback } from "./defaults.ts";
import { didYouMean } from "./did-you-mean.ts";
import { childPointer } from "./pointer.ts";
import { complain, orDefault, type Resolving } from "./resolving.ts";
import { flagFault, ownedFlags } from "./trtexec-flags.ts";
import { checkPath, parseSize } from "./values.ts";

export interface EngineFiles {
	engine: EngineFile;
	model: ModelFile;
	/** JSON pointers of the two. */
	pointer: string;
	modelPointer: string;
}

/** The engine's own settings over its model's: each key as a whole. */
export function resolveTensorRt(resolving: Resolving, files: EngineFiles): TensorRtConfig {
	const { engine, pointer } = files;
	const pick = <Key extends "workspace" | "optimization-level" | "plugins" | "flags">(key: Key) => {
		const own = engine[key] !== undefined;
		return { value: own ? engine[key] : files.model[key], at: childPointer(own ? pointer : files.modelPointer, key) };
	};
	const [workspace, level, plugins, flags] = [pick("workspace"), pick("optimization-level"), pick("plugins"), pick("flags")];
	const dlaPointer = childPointer(pointer, "dla");
	if (engine.dla !== undefined) checkDla(resolving, dlaPointer, engine.precision);
	return {
		...(workspace.value === undefined ? {} : { workspaceBytes: parseSize(resolving, workspace.at, workspace.value) }),
		...(level.value === undefined ? {} : { optimizationLevel: level.value }),
		plugins: (plugins.value ?? []).map((plugin, index) => resolvePlugin(resolving, childPointer(plugins.at, index), plugin)),
		...(engine.dla === undefined ? {} : { dla: resolveDla(resolving, dlaPointer, engine.dla) }),
		...resolveCalibration(resolving, childPointer(pointer, "calibration"), engine),
		flags: checkFlags(resolving, flags.at, flags.value ?? []),
	};
}

function resolvePlugin(resolving: Resolving, pointer: string, plugin: PluginFile): PluginConfig {
	const isShort = typeof plugin === "string";
	const at = isShort ? pointer : childPointer(pointer, "path");
	const path = checkPath(resolving, at, isShort ? plugin : plugin.path);
	return { path, dynamic: !isShort && plugin.dynamic === true, pointer: at };
}

function resolveDla(resolving: Resolving, pointer: string, dla: DlaFile): NonNullable<TensorRtConfig["dla"]> {
	const given = dla["gpu-fallback"];
	return {
		core: dla.core,
		gpuFallback: orDefault(resolving, childPointer(pointer, "gpu-fallback"), { given, byDefault: defaultGpuFallback }),
	};
}

function checkDla(resolving: Resolving, pointer: string, precision: Precision): void {
	if (precision === "fp16" || precision === "int8") return;
	complain(resolving, {
		code: "config-value",
		pointer,
		says: `is asked of an engine in ${precision}`,
		expected: "precision fp16 or int8, all that a DLA computes in",
		got: precision,
		fix: "Set the engine's precision to fp16 or int8, or remove dla.",
		at: "key",
	});
}

function resolveCalibration(resolving: Resolving, pointer: string, engine: EngineFile): Pick<TensorRtConfig, "calibration"> {
	const { calibration, precision } = engine;
	if (calibration === undefined) return {};
	if (precision !== "int8") {
		complain(resolving, {
			code: "config-value",
			pointer,
			says: `is of use to int8 alone, and precision is ${precision}`,
			expected: "precision: int8 beside it",
			got: precision,
			fix: "Write precision: int8, or remove calibration.",
			at: "key",
		});
	}
	return { calibration: { path: checkPath(resolving, pointer, calibration), pointer } };
}

function checkFlags(resolving: Resolving, pointer: string, flags: readonly string[]): readonly string[] {
	for (const [index, flag] of flags.entries()) {
		const fault = flagFault(flags, index);
		if (fault === null) continue;
		const meant = ownedFlags.has(fault.what) ? undefined : didYouMean(fault.what, [...ownedFlags.keys()]);
		complain(resolving, {
			code: "config-value",
			pointer: childPointer(pointer, index),
			says: `is ${JSON.stringify(fault.what.slice(0, 100))}, which ${fault.says}`,
			got: flag.slice(0, 300),
			fix: fault.fix,
			...(meant === undefined ? {} : { meant }),
		});
	}
	return flags;
}
