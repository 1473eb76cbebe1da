// The recipe of a repro folder: made of a config, read from a stranger with suspicion, and made a config again.
import type { Repro, ReproRecipe } from "../../../generated/repro.ts";
import { validate } from "../../../generated/repro-validator.js";
import reproSchema from "../../../golden-schema/repro.schema.json" with { type: "json" };
import type { Config } from "../config/config.ts";
import { flagName } from "../config/tensorrt-settings.ts";
import { ConfigError } from "../errors.ts";
import { describeJsonFault } from "../found.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { toProblem } from "../schema-errors.ts";
import { cleanName } from "../text/escape.ts";

/** The only places of a repro folder that are read. */
export const reproFiles = {
	repro: "repro.json",
	golden: "golden.json",
	readme: "README.md",
	calibration: "calibration.cache",
} as const;

/** Settings that open no file, load no library and reach no network. */
const harmlessFlags: ReadonlySet<string> = new Set(
	`--sparsity --precisionConstraints --layerPrecisions --layerOutputTypes --layerDeviceTypes --inputIOFormats
	--outputIOFormats --directIO --avgTiming --refit --stripWeights --stripAllWeights --versionCompatible --vc
	--excludeLeanRuntime --pluginInstanceNorm --pi --tacticSources --heuristic --preview --maxTactics
	--hardwareCompatibilityLevel --maxAuxStreams --allowWeightStreaming --weightStreamingBudget --allocationStrategy
	--persistentCacheRatio --tilingOptimizationLevel --l2LimitForTiling --decomposableAttentions
	--distributiveIndependence`.split(/\s+/),
);

const mebibyte = 1024 * 1024;

interface Described {
	config: Config;
	modelSha256: string;
	onnx: string;
	onnxruntime: ReproRecipe["onnxruntime"];
}

/** @param onnx name of the model in the folder. */
export function recipeOf(
	{ model, engine }: EngineSpec,
	{ config, modelSha256, onnx, onnxruntime }: Described,
): ReproRecipe {
	const { workspaceBytes, optimizationLevel, dla, calibration, flags, plugins } = engine.tensorrt;
	const shapes = Object.entries(model.inputs).flatMap(([name, { shape }]): [string, (number | string)[]][] =>
		shape === undefined ? [] : [[name, [...shape]]],
	);
	const [first, ...others] = engine.profiles.filter((profile) => Object.keys(profile).length > 0);
	const [library, ...libraries] = plugins.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
	return {
		...{
			model: model.name,
			engine: engine.name,
			onnx,
			modelSha256,
			onnxruntime,
			precision: engine.precision,
		},
		inputs: shapes.length === 0 ? undefined : Object.fromEntries(shapes),
		profiles: first && [first, ...others],
		workspace: workspaceBytes === undefined ? undefined : `${Math.floor(workspaceBytes / mebibyte)}MiB`,
		"optimization-level": optimizationLevel,
		dla: dla && { core: dla.core, "gpu-fallback": dla.gpuFallback },
		calibration: calibration && reproFiles.calibration,
		flags: flags.length === 0 ? undefined : [...flags],
		plugins: library === undefined ? undefined : [library, ...libraries],
		"relative-l2": engine.gates.relativeL2[engine.precision],
		strict: config.preflight.strict || undefined,
		timeout: `${Math.ceil(config.measure.timeoutMs)}ms`,
		"build-timeout": `${Math.ceil(config.measure.buildTimeoutMs)}ms`,
	};
}

/** A config of one engine, as JSON, which is YAML. Nothing in it names a program or a path of the recipe's choice. */
export function configTextOf({ backend, recipe, recorded }: Repro): string {
	const { model, engine, onnx, onnxruntime, precision, inputs = {}, strict } = recipe;
	const shapes = Object.entries(inputs).map(([name, shape]) => [name, { shape }]);
	const { profiles, workspace, dla, calibration, flags, "optimization-level": level } = recipe;
	const settings = { profiles, workspace, "optimization-level": level, dla, calibration, flags };
	// A build is followed by nothing but a short run.
	const checked = recorded.kind === "build" ? {} : { golden: reproFiles.golden, workloads: [] };
	const { timeout, "build-timeout": buildTimeout, "relative-l2": limit } = recipe;
	return JSON.stringify({
		version: 1,
		backend: backend.kind,
		onnxruntime,
		models: {
			[model]: {
				onnx,
				inputs: Object.fromEntries(shapes),
				...checked,
				engines: { [engine]: { precision, ...settings } },
			},
		},
		gates: limit === undefined ? undefined : { golden: { "relative-l2": { [precision]: limit } } },
		measure: { timeout, "build-timeout": buildTimeout, "warm-up": "10ms", duration: "100ms" },
		preflight: strict && { strict },
		probes: "off",
	});
}

/** @throws ConfigError result-invalid if it is not a recipe, or asks for what the gate would not do for a stranger. */
export function parseRepro(text: string, path: string): Repro {
	const value = parseJson(text, path);
	if (!validate(value)) {
		const problem = toProblem(validate.errors ?? [], value, { schema: reproSchema, what: "a repro" });
		const where = problem.pointer === "" ? path : `${path} at ${cleanName(problem.pointer, 200)}`;
		throw invalid(path, `${where}: expected ${problem.expected}, got ${problem.got}.`);
	}
	const repro = value as Repro;
	const { plugins, flags = [] } = repro.recipe;
	if (plugins !== undefined)
		throw invalid(path, `The engine needs plugins (${cleanName(plugins.join(", "))}), which are programs.`);
	const unknown = flags.find((flag) => !harmlessFlags.has(flagName(flag)));
	if (unknown === undefined) return repro;
	throw invalid(path, `The build needs ${cleanName(unknown)}, which is not known to be harmless.`);
}

function parseJson(text: string, path: string): unknown {
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw invalid(path, `${path} is not JSON (${describeJsonFault(cause)}).`);
	}
}

function invalid(path: string, message: string): ConfigError {
	const fix = "Read README.md in the folder, and run its commands by hand only if you trust its author.";
	return new ConfigError({ code: "result-invalid", message, location: { path }, fix });
}
