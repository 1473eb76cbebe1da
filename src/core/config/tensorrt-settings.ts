// Resolves how TensorRT builds an engine, and its ONNX files by version: since 11 the file's types are the precision, so that 10 and 11 need different ones.
import type {
	CalibrationFile,
	EngineFile,
	ModelFile,
	OnnxByVersionFile,
	PluginFile,
} from "../../../generated/config.ts";
import { ConfigError } from "../errors.ts";
import { childPointer } from "../found.ts";
import { listNames } from "../text/labels.ts";
import type {
	CalibrationConfig,
	Config,
	EngineConfig,
	PluginConfig,
	TensorRtConfig,
	VersionedFile,
} from "./config.ts";
import { placeOf, type Resolution, resolveEach } from "./source.ts";
import { checkPath, describeGot, parseSize, prebuiltFix } from "./values.ts";

export function* resolveTensorRt(
	{ engine, model }: { engine: EngineFile; model: ModelFile },
	{ pointer, modelPointer }: { pointer: string; modelPointer: string },
): Resolution<TensorRtConfig> {
	const { dla, calibration, precision } = engine;
	const at = (key: keyof EngineFile & keyof ModelFile) =>
		`${engine[key] === undefined ? modelPointer : pointer}/${key}`;
	const {
		workspace,
		"optimization-level": level,
		plugins = [],
		flags = [],
		golden,
	} = { ...model, ...engine };
	const calibrationPointer = `${pointer}/calibration`;
	if (dla !== undefined && precision !== "fp16" && precision !== "int8") {
		const expected = "precision fp16 or int8";
		const fix = "Set the engine's precision to fp16 or int8, or remove dla.";
		const says = `is set for an engine in ${precision}`;
		yield { pointer: `${pointer}/dla`, says, expected, fix, at: "key" };
	}
	if (calibration !== undefined && precision !== "int8") {
		const says = `applies to int8 only, and precision is ${precision}`;
		const fix = "Write precision: int8, or remove calibration.";
		yield { pointer: calibrationPointer, says, expected: "precision: int8", fix, at: "key" };
	}
	return {
		workspaceBytes: workspace === undefined ? undefined : yield* parseSize(at("workspace"), workspace),
		optimizationLevel: level,
		plugins: yield* resolveEach(plugins, (plugin, index) =>
			resolvePlugin(`${at("plugins")}/${index}`, plugin),
		),
		dla: dla && { core: dla.core, gpuFallback: dla["gpu-fallback"] ?? false },
		calibration:
			calibration === undefined
				? undefined
				: yield* resolveCalibration(calibration, calibrationPointer, golden),
		flags: yield* checkFlags(at("flags"), flags),
	};
}

function* resolveCalibration(
	file: CalibrationFile,
	pointer: string,
	golden: string | undefined,
): Resolution<CalibrationConfig> {
	if (typeof file === "string") return { path: yield* checkPath(pointer, file), pointer };
	const { from, method = "entropy", cases } = file;
	const at = `${pointer}/from`;
	if (from === "golden" && golden === undefined) {
		const fix = "Name a folder of tensors instead, or give the engine a golden.";
		yield { pointer: at, says: "is golden, and the engine has none", fix };
	}
	const path = from === "golden" ? (golden ?? from) : yield* checkPath(at, from);
	return { path, pointer: at, data: { method, cases } };
}

function* resolvePlugin(pointer: string, plugin: PluginFile): Resolution<PluginConfig> {
	const { path, dynamic = false } = typeof plugin === "string" ? { path: plugin } : plugin;
	const at = typeof plugin === "string" ? pointer : `${pointer}/path`;
	return { path: yield* checkPath(at, path), dynamic, pointer: at };
}

function* checkFlags(pointer: string, flags: readonly string[]): Resolution<readonly string[]> {
	for (const index of flags.keys()) {
		const fault = flagFault(flags, index);
		if (fault === null) continue;
		const says = `is ${JSON.stringify(fault.what.slice(0, 100))}, which ${fault.says}`;
		yield { pointer: childPointer(pointer, index), says, fix: fault.fix };
	}
	return flags;
}

export const strippingFlags = ["--stripWeights", "--stripAllWeights"] as const;

/** Flags that collide with trtgate's or make timings incomparable, with the alternative to each. */
const owned: readonly (readonly [flags: string, fix: string])[] = [
	["--onnx", "Name the file under `onnx`."],
	[
		"--minShapes --optShapes --maxShapes --shapes --profile --useProfile",
		"Give sizes under `dims` or `profiles`.",
	],
	["--fp16 --bf16 --int8 --fp8 --int4 --best --noTF32 --stronglyTyped", "State the engine's `precision`."],
	["--device", "Name the GPU under `device`."],
	["--useDLACore --allowGPUFallback", "Use the engine's `dla: { core, gpu-fallback }`."],
	["--memPoolSize --workspace", "Use `workspace`; other memory pools keep TensorRT's own sizes."],
	["--plugins --staticPlugins --dynamicPlugins", "List the libraries under `plugins`."],
	["--calib", "Name the calibration cache under `calibration`."],
	["--builderOptimizationLevel", "Use `optimization-level`."],
	[
		"--timingCacheFile --errorOnTimingCacheMiss --noBuilderCache",
		"Use `cache: { timing, engines }`: base and head are built with one timing cache.",
	],
	[
		`--iterations --duration --warmUp --infStreams --streams --useCudaGraph --noCudaGraph --useSpinWait --noSpinWait
		--noDataTransfers --includeDataTransfers`,
		"Use `measure` (`warm-up`, `duration`, `cuda-graph`, `spin-wait`, `transfers`) or a workload's `streams`.",
	],
	["--idleTime", "Use a workload's `every`."],
	[
		`--loadEngine --saveEngine --saveAllEngines --skipInference --loadInputs --loadRefOutputs --refPair --dumpOutput
		--dumpRawBindingsToFile --dumpProfile --dumpLayerInfo --exportTimes --exportOutput --exportProfile --exportLayerInfo
		--profilingVerbosity --avgRuns --percentile --separateProfileRun --verbose`,
		"Remove it: trtgate writes and reads these files itself.",
	],
	[
		"--sleepTime --threads --exposeDMA --useManagedMemory --timeDeserialize --timeRefit",
		"Remove it: it would change what is timed, in a way that cannot be compared.",
	],
	["--help -h --getPlanVersionOnly", "Remove it: such a run builds nothing."],
];

export const ownedFlags: ReadonlyMap<string, string> = new Map(
	owned.flatMap(([flags, fix]) => flags.split(/\s+/).map((flag) => [flag, fix] as const)),
);

export function hintForFlagKey(key: string): string | undefined {
	return [...ownedFlags].find(([flag]) => flag.replace(/^-+/, "").toLowerCase() === key.toLowerCase())?.[1];
}

export function flagFault(
	flags: readonly string[],
	index: number,
): { what: string; says: string; fix: string } | null {
	const argument = flags[index] ?? "";
	const name = flagName(argument);
	if (!/^--?[A-Za-z][\w-]*$/.test(name) || /[\p{Cc}]/u.test(argument)) {
		const fix = "Write each flag as one word, with its value joined by `=`.";
		return { what: argument, says: "is not a flag of trtexec", fix };
	}
	const owned = ownedFlags.get(name);
	if (owned !== undefined) return { what: name, says: "is set by trtgate itself", fix: owned };
	const isSecond = flags.slice(0, index).some((earlier) => flagName(earlier) === name);
	return isSecond && name !== "--setPluginsToSerialize"
		? { what: name, says: "is given twice", fix: "Give it once: trtexec accepts it only once." }
		: null;
}

export function flagName(argument: string): string {
	return argument.split("=", 1)[0] ?? "";
}

export function* checkOnnx(pointer: string, path: string): Resolution<string> {
	const onnx = yield* checkPath(pointer, path);
	const says = `is ${describeGot(onnx)}, an engine by its name`;
	if (/\.(?:engine|plan|trt)$/i.test(onnx))
		yield { pointer, says, expected: "an ONNX file", fix: prebuiltFix };
	return onnx;
}

/** Ranges may not overlap: a mapping has no order that could decide. */
export function* resolveVersions(files: OnnxByVersionFile, pointer: string): Resolution<VersionedFile[]> {
	const found: VersionedFile[] = [];
	for (const [range, path] of Object.entries(files)) {
		const at = childPointer(pointer, range);
		const [, sign = "", digits] = /^(<|>=)?([1-9][0-9]?)$/.exec(range) ?? [];
		const major = Number(digits);
		const from = sign === "<" ? 0 : major;
		const to = sign === "<" ? major - 1 : sign === ">=" ? Number.POSITIVE_INFINITY : major;
		const twin = found.find((other) => from <= other.to && other.from <= to);
		const problem = { pointer: at, at: "key" } as const;
		if (digits === undefined) {
			const expected = 'major versions of TensorRT, such as "11", "<11" or ">=11"';
			yield { ...problem, says: "is no such range", expected, fix: `Write ${expected}.` };
		} else if (twin !== undefined) {
			const says = `overlaps with ${JSON.stringify(twin.range)}`;
			yield { ...problem, says, expected: "one file per version", fix: "Narrow one of the two ranges." };
		}
		found.push({ range, from, to, path: yield* checkOnnx(at, path) });
	}
	return found;
}

export function onnxFilesOf({ onnx, onnxByVersion = [] }: EngineConfig): string[] {
	return [onnx, ...onnxByVersion.map(({ path }) => path)];
}

export function onTensorRt<Some extends Pick<Config, "models" | "sources">>(
	config: Some,
	version: string,
): Some {
	const major = Number.parseInt(version, 10);
	const withFile = (engine: EngineConfig, model: string) => {
		const { onnxByVersion: files, pointer } = engine;
		if (files === undefined) return engine;
		const file = files.find(({ from, to }) => from <= major && major <= to);
		if (file !== undefined) return { ...engine, onnx: file.path };
		const ranges = listNames(files.map(({ range }) => JSON.stringify(range)));
		throw new ConfigError({
			code: "config-value",
			message: `${model}/${engine.name} has no ONNX file for TensorRT ${version}; its \`onnx\` names files for ${ranges}.`,
			...placeOf(config, `${pointer}/onnx`),
			pointer: `${pointer}/onnx`,
			fix: `Add one, such as "${major}": models/net.onnx.`,
		});
	};
	const models = config.models.map((model) => {
		return { ...model, engines: model.engines.map((engine) => withFile(engine, model.name)) };
	});
	return { ...config, models };
}
