// Resolves models and their engines: inheritance of dims, workloads, goldens and gates.
import type { EngineFile, InputFile, ModelFile, PrepareFile, WorkloadFile } from "../schema/config.ts";
import { isRunnerVariable } from "../variables.ts";
import { prebuiltFix } from "./advice.ts";
import type { EngineConfig, InputConfig, ModelConfig, PrepareConfig, ProbesConfig } from "./config.ts";
import { defaultEngine } from "./defaults.ts";
import { suggest } from "./did-you-mean.ts";
import { type Dims, hullOf, maxDims, resolveDims, resolveProfiles } from "./dims.ts";
import { describeGot } from "./expected.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
import { mergeProbes, type ProbesLayer, readProbes } from "./probes.ts";
import { type Resolution, resolveEach } from "./problem.ts";
import { resolveTensorRt } from "./tensorrt-settings.ts";
import { checkName, checkPath } from "./values.ts";
import { resolveWorkloads } from "./workloads.ts";

/** A night on one GPU times a few hundred; bounds what aliases and inheritance multiply. */
const maxWorkloads = 2000;

type Models = Readonly<Record<string, ModelFile>>;

export interface ModelContext {
	/** Gates of the whole file, from the widest to the narrowest. */
	layers: readonly Layer[];
	/** Gates that inputs set. */
	inputs: Layer;
	/** For all models. */
	probes: ProbesLayer;
}

export function* resolveModels(models: Models, context: ModelContext): Resolution<ModelConfig[]> {
	if (!(yield* checkCounts(models))) return [];
	const resolved = yield* resolveEach(Object.entries(models), ([name, file]) => resolveModel(file, { ...context, name }));
	yield* refuseTwins(resolved);
	return resolved;
}

/** Before anything is multiplied out. */
function* checkCounts(models: Models): Resolution<boolean> {
	const workloads = countWorkloads(models);
	if (workloads > maxWorkloads) {
		const fix = "Split the file into several configs, one job each.";
		yield { pointer: "/models", says: `come to ${workloads} workloads`, expected: `at most ${maxWorkloads}`, fix, at: "key" };
	}
	const mappings = ({ dims, profiles }: Pick<ModelFile, "dims" | "profiles">) => [dims, ...(profiles ?? [])];
	const dims = Object.values(models).flatMap((model) => [model, ...Object.values(model.engines ?? {})].flatMap(mappings));
	const most = Math.max(0, ...dims.map((mapping) => Object.keys(mapping ?? {}).length));
	if (most > maxDims) {
		yield {
			code: "config-dims",
			pointer: "/models",
			says: `name ${most} dimensions in one place`,
			expected: `at most ${maxDims}`,
			fix: "Name only dimensions that the ONNX file has.",
			at: "key",
		};
	}
	return workloads <= maxWorkloads && most <= maxDims;
}

function countWorkloads(models: Models): number {
	const count = (list: readonly WorkloadFile[] | undefined) => list?.length ?? 1;
	const perModel = (model: ModelFile) =>
		model.engines === undefined
			? count(model.workloads)
			: Object.values(model.engines).reduce((sum, engine) => sum + count(engine.workloads ?? model.workloads), 0);
	return Object.values(models).reduce((sum, model) => sum + perModel(model), 0);
}

function* resolveModel(file: ModelFile, context: ModelContext & { name: string }): Resolution<ModelConfig> {
	const pointer = childPointer("/models", context.name);
	yield* checkName(pointer, { name: context.name, what: "a model" });
	const dims = yield* resolveDims(file.dims, { pointer: `${pointer}/dims` });
	const layers = [...context.layers, yield* readLayer(file.gates, `${pointer}/gates`)];
	const engines = file.engines ?? { [defaultEngine.name]: { precision: defaultEngine.precision } };
	const around: EngineContext = { model: file, modelPointer: pointer, dims, layers, inputs: context.inputs };
	const resolved = yield* resolveEach(Object.entries(engines), ([name, engine]) => resolveEngine(engine, { ...around, name }));
	return {
		name: context.name,
		onnx: file.onnx,
		...(file.prepare === undefined ? {} : { prepare: yield* resolvePrepare(file.prepare, `${pointer}/prepare`) }),
		inputs: yield* resolveInputs(file.inputs, { pointer: `${pointer}/inputs`, engines: resolved }),
		notice: file["golden-notice"] ?? {},
		engines: resolved,
		probes: yield* resolveProbes(file, { pointer, wide: context.probes }),
		pointer,
	};
}

function* resolvePrepare(prepare: PrepareFile, pointer: string): Resolution<PrepareConfig> {
	if (typeof prepare === "string") return { command: prepare, env: [] };
	const { command, env = [] } = prepare;
	for (const [index, name] of env.entries()) {
		if (!isRunnerVariable(name)) continue;
		yield {
			pointer: `${pointer}/env/${index}`,
			says: `names ${name}, which belongs to the runner`,
			expected: "a variable that the job sets",
			fix: "Hand the command a variable of your own under `env:` of the job or step.",
		};
	}
	return { command, env };
}

function* resolveProbes(file: ModelFile, around: { pointer: string; wide: ModelContext["probes"] }): Resolution<ProbesConfig> {
	const own = `${around.pointer}/probes`;
	return mergeProbes(around.wide, yield* readProbes(file.probes, own), file.probes === undefined ? "/probes" : own);
}

interface EngineContext {
	model: ModelFile;
	modelPointer: string;
	dims: Dims;
	layers: readonly Layer[];
	inputs: Layer;
}

function* resolveEngine(file: EngineFile, context: EngineContext & { name: string }): Resolution<EngineConfig> {
	const { name, model, modelPointer } = context;
	const pointer = childPointer(`${modelPointer}/engines`, name);
	yield* checkName(pointer, { name, what: "an engine" });
	const dims = yield* resolveDims(file.dims, { pointer: `${pointer}/dims`, inherited: context.dims });
	const layers = [...context.layers, yield* readLayer(file.gates, `${pointer}/gates`)];
	const profiles = yield* resolveProfiles(file.profiles ?? model.profiles, {
		pointer: `${file.profiles === undefined ? modelPointer : pointer}/profiles`,
		dims,
	});
	const workloads = file.workloads ?? model.workloads;
	const holder = file.workloads === undefined ? modelPointer : pointer;
	const onnx = (yield* pathOf({ engine: file.onnx, model: model.onnx }, { pointer, modelPointer, key: "onnx" })) ?? model.onnx;
	if (/\.(?:engine|plan|trt)$/i.test(onnx)) {
		const at = childPointer(file.onnx === undefined ? modelPointer : pointer, "onnx");
		yield { pointer: at, says: `is ${describeGot(onnx)}, an engine by its name`, expected: "an ONNX file", fix: prebuiltFix };
	}
	const golden = yield* pathOf({ engine: file.golden, model: model.golden }, { pointer, modelPointer, key: "golden" });
	return {
		name,
		onnx,
		precision: file.precision,
		dims: hullOf(profiles),
		profiles,
		tensorrt: yield* resolveTensorRt({ engine: file, model, pointer, modelPointer }),
		workloads: yield* resolveWorkloads(workloads, { profiles, layers, inputs: context.inputs, pointer: `${holder}/workloads` }),
		...(golden === undefined ? {} : { golden }),
		gates: yield* resolveGates([...layers, context.inputs]),
		pointer,
	};
}

interface Paths {
	engine: string | undefined;
	model: string | undefined;
}

function* pathOf(paths: Paths, at: { pointer: string; modelPointer: string; key: string }): Resolution<string | undefined> {
	if (paths.engine !== undefined) return yield* checkPath(childPointer(at.pointer, at.key), paths.engine);
	return paths.model === undefined ? undefined : yield* checkPath(childPointer(at.modelPointer, at.key), paths.model);
}

interface InputContext {
	pointer: string;
	engines: readonly EngineConfig[];
}

function* resolveInputs(
	file: Readonly<Record<string, InputFile>> | undefined,
	context: InputContext,
): Resolution<Record<string, InputConfig>> {
	const inputs: Record<string, InputConfig> = Object.create(null);
	const known = new Set(context.engines.flatMap((engine) => Object.keys(engine.dims)));
	for (const [name, input] of Object.entries(file ?? {})) {
		const pointer = childPointer(context.pointer, name);
		yield* checkName(pointer, { name, what: "an input" });
		for (const [axis, size] of (input.shape ?? []).entries()) {
			if (typeof size !== "string" || known.has(size)) continue;
			yield {
				code: "config-dims",
				pointer: `${pointer}/shape/${axis}`,
				says: `is ${formatName(size)}, which no dims declare`,
				expected: "a size, or the name of a dimension under dims",
				...suggest(size, [...known], `Declare ${formatName(size)} under the model's dims.`),
			};
		}
		inputs[name] = input;
	}
	return inputs;
}

/** Names may hold slashes: `a/b` with engine `c` would be `a` with engine `b/c`. */
function* refuseTwins(models: readonly ModelConfig[]): Resolution<void> {
	const seen = new Set<string>();
	for (const model of models) {
		for (const engine of model.engines) {
			const engineId = `${model.name}/${engine.name}`;
			// Duplicates within one engine are reported at the workload.
			for (const id of new Set([engineId, ...engine.workloads.map((workload) => `${engineId}/${workload.name}`)])) {
				const twin = seen.has(id);
				seen.add(id);
				if (!twin) continue;
				yield {
					pointer: engine.pointer,
					says: `comes out as ${formatName(id)} twice`,
					expected: "names that differ when they are joined by slashes",
					fix: "Rename the engine or its model.",
					at: "key",
				};
			}
		}
	}
}
