// Builds trtexec's arguments from the config: engine settings, shapes and optimization profiles.
import type { DimRange } from "../../core/config/config.ts";
import { flagName } from "../../core/config/tensorrt-settings.ts";
import { resolveShapes } from "../../core/onnx/input-shapes/resolve.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import type { EngineAssets, EngineSpec } from "../../core/plan/plan.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import type {
	ArgsResult,
	ArgsSpec,
	BuildArgs,
	NamedShape,
	ShapeProfile,
} from "../../formats/trtexec/args-spec.ts";
import { flagsOfRuns } from "../../formats/trtexec/flag-table.ts";
import type { BuiltEngine } from "../../ports/backend.ts";
import type { TimingSettings, TrtexecContext } from "./context.ts";

interface Configured {
	spec: EngineSpec;
	assets?: EngineAssets | undefined;
}

const mebibyte = 1024 * 1024;

export function buildSettings({ spec, assets }: Configured, context: TrtexecContext) {
	const { workspaceBytes, optimizationLevel, dla, flags } = spec.engine.tensorrt;
	return {
		...placeSettings({ spec, assets }, context),
		extraFlags: flags,
		workspaceMiB: workspaceBytes === undefined ? undefined : Math.floor(workspaceBytes / mebibyte),
		builderOptimizationLevel: optimizationLevel,
		allowGpuFallback: dla?.gpuFallback,
		calibrationPath: assets?.calibration?.path,
	};
}

export function timingOf({ spec }: Configured, { timing }: Pick<TrtexecContext, "timing">): TimingSettings {
	return spec.engine.tensorrt.dla === undefined ? timing : { ...timing, cudaGraph: false };
}

function placeSettings({ spec, assets }: Configured, { device }: TrtexecContext) {
	const plugins = assets?.plugins ?? [];
	const paths = (wanted: boolean): string[] =>
		plugins.filter(({ dynamic }) => dynamic === wanted).map(({ path }) => path);
	return {
		device,
		plugins: { static: paths(false), dynamic: paths(true) },
		dlaCore: spec.engine.tensorrt.dla?.core,
	};
}

function dynamicInputs(model: OnnxModel): string[] {
	const isOpen = (dims: readonly unknown[] | null): boolean =>
		dims === null || dims.some((dim) => typeof dim !== "number");
	return feeds(model.graph).flatMap((feed) => (isOpen(feed.dims) ? [feed.name] : []));
}

type Ranges = EngineSpec["engine"]["dims"];

/** The shapes of all inputs at one place of every range: of the first profile if none is named. @throws ConfigError config-dims */
export function shapesAt(
	which: keyof DimRange,
	spec: EngineSpec,
	{ model, profile }: { model: OnnxModel; profile?: Ranges },
): Record<string, number[]> {
	const sizes: Record<string, number> = Object.create(null);
	for (const [name, range] of Object.entries(profile ?? spec.engine.profiles[0] ?? spec.engine.dims))
		sizes[name] = range[which];
	return resolveShapes(model, { dims: sizes, inputs: spec.model.inputs, pointer: spec.engine.pointer });
}

/** Returns none for a model without open sizes. @throws ConfigError config-dims */
export function profilesOf(spec: EngineSpec, model: OnnxModel): ShapeProfile[] {
	const names = dynamicInputs(model);
	if (names.length === 0) return [];
	return spec.engine.profiles.map((profile) => {
		const at = { model, profile };
		const [min, opt, max] = [shapesAt("min", spec, at), shapesAt("opt", spec, at), shapesAt("max", spec, at)];
		return {
			inputs: names.map((name) => ({
				name,
				min: min[name] ?? [],
				opt: opt[name] ?? [],
				max: max[name] ?? [],
			})),
		};
	});
}

/** The first profile that holds the shapes, as the Python worker chooses too; the first of all if none does. */
function profileIndexOf(shapes: readonly NamedShape[], spec: EngineSpec, model: OnnxModel): number {
	if (spec.engine.profiles.length < 2) return 0;
	const byName = new Map(shapes.map(({ name, shape }) => [name, shape]));
	const found = profilesOf(spec, model).findIndex(({ inputs }) =>
		inputs.every(({ name, min, max }) =>
			byName.get(name)?.every((size, axis) => size >= (min[axis] ?? 0) && size <= (max[axis] ?? 0)),
		),
	);
	return Math.max(0, found);
}

type RunTask = {
	[Spec in Exclude<ArgsSpec, BuildArgs> as Spec["task"]]: Omit<Spec, "enginePath" | "shapes">;
};

export function runArgs(
	engine: Configured & Pick<BuiltEngine, "path" | "model">,
	inputs: readonly NamedShape[],
	task: RunTask[keyof RunTask],
	context: TrtexecContext,
): ArgsResult {
	const { spec, model, path } = engine;
	const names = new Set(dynamicInputs(model.onnx));
	const shapes = inputs.filter(({ name }) => names.has(name)).map(({ name, shape }) => ({ name, shape }));
	const profileIndex = profileIndexOf(inputs, spec, model.onnx);
	const extraFlags = spec.engine.tensorrt.flags.filter((flag) => flagsOfRuns.has(flagName(flag)));
	const settings = { ...placeSettings(engine, context), extraFlags };
	return buildArgs({ enginePath: path, shapes, profileIndex, ...settings, ...task }, context.trtexec.version);
}

const typedBy: Readonly<Record<string, readonly string[]>> = {
	fp16: ["float16"],
	bf16: ["bfloat16"],
	fp8: ["float8e4m3fn", "float8e5m2"],
	fp4: ["float4e2m1"],
	int4: ["int4", "uint4"],
	int8: [],
};

export function isTyped(precision: string, { graph }: OnnxModel): boolean {
	const types = typedBy[precision] ?? [];
	const stored = [...graph.initializers, ...graph.inputs, ...graph.valueInfo].some(({ dtype }) =>
		types.includes(dtype),
	);
	const quantised = graph.nodes.some(({ op }) => op === "QuantizeLinear" || op === "DequantizeLinear");
	return stored || (quantised && precision !== "fp16" && precision !== "bf16");
}
