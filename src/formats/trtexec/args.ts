// Builds trtexec's arguments for one TensorRT version.
import type { Precision } from "../../../generated/config.ts";
import type { DimRange, MeasureConfig } from "../../core/config/config.ts";
import { flagName } from "../../core/config/tensorrt-settings.ts";
import { ToolError } from "../../core/errors.ts";
import { resolveShapes } from "../../core/onnx/input-shapes/search.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import type { EngineAssets, EngineSpec } from "../../core/plan/plan.ts";
import type { TensorRtVersion } from "./banner.ts";
import { lackedFlag } from "./flag-versions.ts";

/** A setting that this TensorRT lacks: the code of the refused build, and the engine's key in the config. */
export class SettingError extends ToolError {
	readonly setting: readonly [code: string, key: string];

	constructor(setting: SettingError["setting"], message: string, fix: string) {
		super({ code: "tool-output", message, fix });
		this.setting = setting;
	}
}

export type TimingSettings = Pick<MeasureConfig, "cudaGraph" | "spinWait" | "transfers">;

interface Runner {
	trtexec: { version: TensorRtVersion };
	timing: TimingSettings;
}

interface Configured {
	spec: EngineSpec;
	assets?: EngineAssets;
}

type Modelled = Configured & { model: { path: string; onnx: OnnxModel } };

const mebibyte = 1024 * 1024;

const numberOf = ({ trtexec: { version } }: Runner) => version.major * 100 + version.minor;

const flag = (name: string, value: string | number | undefined) =>
	value === undefined ? [] : [`${name}=${value}`];

function unsupported(what: string, key: string, { trtexec }: Runner) {
	const message = `TensorRT ${trtexec.version.text} has no ${what}.`;
	const fix = `Use a TensorRT version that has ${what.split(",")[0]}, or remove the setting.`;
	return new SettingError(["setting-unsupported", key], message, fix);
}

/** trtexec splits lists at commas; quotes and asterisks are special. */
function list(flagName: string, entries: readonly (readonly [name: string, value: string])[]) {
	for (const [name] of entries) {
		if (name !== "" && !/[,'*\u0000-\u001f]/.test(name)) continue;
		const message = `trtexec cannot take the input ${JSON.stringify(name)}: its lists do not allow this name.`;
		const fix = "Rename the input in the ONNX file, without commas, quotes and asterisks.";
		throw new SettingError(["tensor-name-unsupported", "dims"], message, fix);
	}
	return entries.length === 0 ? [] : [`${flagName}=${entries.map((entry) => entry.join(":")).join(",")}`];
}

interface NamedShape {
	name: string;
	shape: readonly number[];
}

function shapeList(flagName: string, shapes: readonly NamedShape[]) {
	return list(
		flagName,
		shapes.map(({ name, shape }) => [name, shape.join("x") || "scalar"]),
	);
}

interface PrecisionRow {
	since: number;
	flags: readonly string[];
	/** Element types of a model in this precision; null for any model. */
	types: readonly string[] | null;
}

const precisions: Readonly<Record<Precision, PrecisionRow>> = {
	fp32: { since: 0, flags: ["--noTF32"], types: null },
	tf32: { since: 0, flags: [], types: null },
	fp16: { since: 0, flags: ["--fp16"], types: ["float16"] },
	bf16: { since: 900, flags: ["--bf16"], types: ["bfloat16"] },
	// Layers that are not quantised run in fp16, which is expected when quantising for speed.
	fp8: { since: 806, flags: ["--fp8", "--fp16"], types: ["float8e4m3fn", "float8e5m2"] },
	int8: { since: 0, flags: ["--int8", "--fp16"], types: [] },
	int4: { since: 1001, flags: ["--int4", "--fp16"], types: ["int4", "uint4"] },
	fp4: { since: 0, flags: [], types: ["float4e2m1"] },
};

function isTyped(precision: Precision, { graph }: OnnxModel) {
	const { types } = precisions[precision];
	if (types === null) return true;
	const stored = [...graph.initializers, ...graph.inputs, ...graph.valueInfo];
	if (stored.some(({ dtype }) => types.includes(dtype))) return true;
	const quantised = graph.nodes.some(({ op }) => op === "QuantizeLinear" || op === "DequantizeLinear");
	return quantised && precision !== "fp16" && precision !== "bf16";
}

function precisionArgs({ spec, model }: Modelled, runner: Runner) {
	const { precision } = spec.engine;
	const { since, flags } = precisions[precision];
	const version = numberOf(runner);
	if (version < 1100 && precision !== "fp4") {
		if (version < since) throw unsupported(`precision ${precision}`, "precision", runner);
		return flags;
	}
	if (!isTyped(precision, model.onnx)) {
		const message = `TensorRT ${runner.trtexec.version.text} takes the precision from the ONNX file's types, but ${model.path} is not ${precision}.`;
		const fix = `Convert the model to ${precision} (ModelOpt AutoCast for fp16 and bf16, Q/DQ nodes for the others) and name that file in the engine's \`onnx\`.`;
		throw new SettingError(["precision-in-onnx", "onnx"], message, fix);
	}
	// Since 11, every network is strongly typed.
	if (version >= 1100) return precision === "fp32" ? ["--noTF32"] : [];
	if (version < 900) throw unsupported("strong typing", "precision", runner);
	return ["--stronglyTyped"];
}

function dynamicInputs({ graph }: OnnxModel) {
	const open = feeds(graph).filter(({ dims }) => dims?.every((dim) => typeof dim === "number") !== true);
	return open.map(({ name }) => name);
}

/** Shapes of all inputs at one place of the ranges. @throws ConfigError config-dims */
export function shapesAt(
	which: keyof DimRange,
	spec: EngineSpec,
	{ model, profile }: { model: OnnxModel; profile?: EngineSpec["engine"]["dims"] },
): Record<string, number[]> {
	const sizes: Record<string, number> = Object.create(null);
	for (const [name, range] of Object.entries(profile ?? spec.engine.profiles[0] ?? spec.engine.dims))
		sizes[name] = range[which];
	return resolveShapes(model, { dims: sizes, inputs: spec.model.inputs, pointer: spec.engine.pointer });
}

function profilesOf(spec: EngineSpec, model: OnnxModel) {
	const names = dynamicInputs(model);
	if (names.length === 0) return [];
	return spec.engine.profiles.map((profile) => {
		const at = (which: keyof DimRange) => {
			const shapes = shapesAt(which, spec, { model, profile });
			return names.map((name) => ({ name, shape: shapes[name] ?? [] }));
		};
		return { min: at("min"), opt: at("opt"), max: at("max") };
	});
}

function profileArgs({ spec, model }: Modelled, runner: Runner) {
	const profiles = profilesOf(spec, model.onnx);
	const several = profiles.length > 1;
	if (several && numberOf(runner) < 900)
		throw unsupported("several optimization profiles", "profiles", runner);
	// The index and its three shapes must be adjacent.
	return profiles.flatMap(({ min, opt, max }, index) => [
		...(several ? [`--profile=${index}`] : []),
		...shapeList("--minShapes", min),
		...shapeList("--optShapes", opt),
		...shapeList("--maxShapes", max),
	]);
}

/** The first profile that holds the shapes, as in the Python worker; else the first of all. */
function profileIndexOf(shapes: readonly NamedShape[], { spec, model }: Modelled) {
	if (spec.engine.profiles.length < 2) return 0;
	const given = new Map(shapes.map(({ name, shape }) => [name, shape]));
	const found = profilesOf(spec, model.onnx).findIndex(({ min, max }) =>
		min.every(({ name, shape }, index) =>
			given
				.get(name)
				?.every((size, axis) => size >= (shape[axis] ?? 0) && size <= (max[index]?.shape[axis] ?? 0)),
		),
	);
	return Math.max(0, found);
}

function placeArgs({ spec, assets }: Configured) {
	const plugins = (assets?.plugins ?? []).toSorted((a, b) => Number(a.dynamic) - Number(b.dynamic));
	return [
		...plugins.map(({ path, dynamic }) => `--${dynamic ? "dynamic" : "static"}Plugins=${path}`),
		...flag("--useDLACore", spec.engine.tensorrt.dla?.core),
		// Of those that CUDA_VISIBLE_DEVICES leaves.
		"--device=0",
	];
}

export interface BuildPlaces {
	engine: string;
	layers: string;
	/** Both sides share it, else two builds of one model differ by about 1 %. */
	cache: string | undefined;
}

/** @throws SettingError, ConfigError config-dims. */
export function buildArgs(job: Modelled, { engine, layers, cache }: BuildPlaces, runner: Runner): string[] {
	const { workspaceBytes, optimizationLevel, dla, flags } = job.spec.engine.tensorrt;
	const version = numberOf(runner);
	const lacks = lackedFlag(flags, version);
	if (lacks !== null) throw unsupported(lacks, "flags", runner);
	const calibration = job.assets?.calibration?.path;
	const precision = precisionArgs(job, runner);
	if (calibration !== undefined && version >= 1100) throw unsupported("calibration", "calibration", runner);
	// Up to 10.0 memory pools take a bare number of MiB.
	const unit = version < 1001 ? "" : "M";
	const workspace =
		workspaceBytes === undefined ? undefined : `workspace:${Math.floor(workspaceBytes / mebibyte)}${unit}`;
	return [
		...[`--onnx=${job.model.path}`, `--saveEngine=${engine}`, "--skipInference", ...precision],
		...profileArgs(job, runner),
		...flag("--memPoolSize", workspace),
		...flag("--timingCacheFile", cache),
		...flag("--builderOptimizationLevel", optimizationLevel),
		...flag("--calib", calibration),
		...(dla?.gpuFallback === true ? ["--allowGPUFallback"] : []),
		...["--profilingVerbosity=detailed", `--exportLayerInfo=${layers}`],
		...placeArgs(job),
		...flags,
	];
}

export function timingOf({ spec }: Configured, { timing }: Runner): TimingSettings {
	return spec.engine.tensorrt.dla === undefined ? timing : { ...timing, cudaGraph: false };
}

/** TensorRT 11.0 reversed the three defaults. */
function modeArgs({ cudaGraph, spinWait, transfers }: TimingSettings, runner: Runner) {
	const flags =
		numberOf(runner) < 1100
			? [cudaGraph && "--useCudaGraph", spinWait && "--useSpinWait", !transfers && "--noDataTransfers"]
			: [!cudaGraph && "--noCudaGraph", !spinWait && "--noSpinWait", transfers && "--includeDataTransfers"];
	return flags.filter((text) => text !== false);
}

type RunTask =
	| {
			task: "time";
			warmUpMs: number;
			durationMs: number;
			iterations?: number;
			streams: number;
			everyMs?: number;
			times: string;
	  }
	| { task: "profile"; warmUpMs: number; iterations: number; profile: string; layers: string }
	| { task: "infer" };

function taskArgs(task: RunTask, engine: Configured, runner: Runner) {
	if (task.task === "time")
		return [
			...[`--warmUp=${task.warmUpMs}`, `--duration=${task.durationMs / 1000}`],
			...flag("--iterations", task.iterations),
			...[`--infStreams=${task.streams}`, "--percentile=50,90,95,99"],
			...flag("--idleTime", task.everyMs),
			...modeArgs(timingOf(engine, runner), runner),
			`--exportTimes=${task.times}`,
		];
	if (task.task === "profile")
		return [
			...[`--warmUp=${task.warmUpMs}`, "--duration=0", `--iterations=${task.iterations}`],
			...modeArgs({ cudaGraph: false, spinWait: true, transfers: runner.timing.transfers }, runner),
			...(numberOf(runner) < 1100 ? ["--separateProfileRun"] : []),
			...["--profilingVerbosity=detailed", `--exportProfile=${task.profile}`],
			`--exportLayerInfo=${task.layers}`,
		];
	// Exactly one inference up to 11.0, two from 11.1 on; versions before 11.1 crash with 0 iterations.
	// Without transfers some versions dump uninitialised memory.
	return [
		...["--warmUp=0", "--duration=0", "--iterations=1", "--avgRuns=1"],
		...modeArgs({ cudaGraph: false, spinWait: false, transfers: true }, runner),
		"--dumpRawBindingsToFile",
	];
}

const flagsOfRuns = new Set([
	...["--versionCompatible", "--vc", "--allowWeightStreaming", "--weightStreamingBudget"],
	...["--allocationStrategy", "--persistentCacheRatio"],
]);

export function runArgs(
	engine: Modelled & { path: string },
	inputs: readonly (NamedShape & { path: string })[],
	task: RunTask,
	runner: Runner,
): string[] {
	const names = dynamicInputs(engine.model.onnx);
	const open = inputs.filter(({ name }) => names.includes(name));
	const files = inputs.map(({ name, path }) => [name, path] as const);
	return [
		`--loadEngine=${engine.path}`,
		...shapeList("--shapes", open),
		...flag("--useProfile", profileIndexOf(inputs, engine) || undefined),
		...list("--loadInputs", files),
		...taskArgs(task, engine, runner),
		...placeArgs(engine),
		...engine.spec.engine.tensorrt.flags.filter((text) => flagsOfRuns.has(flagName(text))),
	];
}
