// Resolves models and their engines: inheritance of dims, workloads, goldens and gates.
import type { EngineFile, InputFile, ModelFile, PrepareFile, WorkloadFile } from "../schema/config.ts";
import { isRunnersOwn } from "../variables.ts";
import type { EngineConfig, InputConfig, ModelConfig, PrepareConfig, ProbesConfig } from "./config.ts";
import { defaultEngine } from "./defaults.ts";
import { didYouMean } from "./did-you-mean.ts";
import { type Dims, maxDims, resolveDims } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { childPointer, formatName } from "./pointer.ts";
import { mergeProbes, readProbes } from "./probes.ts";
import { hullOf, resolveProfiles } from "./profiles.ts";
import { complain, type Resolving } from "./resolving.ts";
import { resolveTensorRt } from "./tensorrt-settings.ts";
import { checkName, checkPath } from "./values.ts";
import { resolveWorkloads } from "./workloads.ts";

/** A night on one GPU times a few hundred; bounds what aliases and inheritance multiply. */
const maxWorkloads = 2000;

type Models = Readonly<Record<string, ModelFile>>;

export interface ModelContext {
	/** The file's own gates. */
	layer: Layer;
	/** Settings of inputs. */
	inputs: Layer;
	/** What the file says for all models. */
	probes: ReturnType<typeof readProbes>;
}

export function resolveModels(resolving: Resolving, models: Models, context: ModelContext): ModelConfig[] {
	if (!checkCounts(resolving, models)) return [];
	const resolved = Object.entries(models).map(([name, file]) => resolveModel(resolving, file, { ...context, name }));
	refuseTwins(resolving, resolved);
	return resolved;
}

/** Before anything is multiplied out. */
function checkCounts(resolving: Resolving, models: Models): boolean {
	const workloads = countWorkloads(models);
	if (workloads > maxWorkloads) {
		const fix = "Split the file into several configs, one job each.";
		const expected = `at most ${maxWorkloads}`;
		complain(resolving, { code: "config-value", pointer: "/models", says: `come to ${workloads} workloads`, expected, fix, at: "key" });
	}
	const mappings = ({ dims, profiles }: Pick<ModelFile, "dims" | "profiles">) => [dims, ...(profiles ?? [])];
	const dims = Object.values(models).flatMap((model) => [model, ...Object.values(model.engines ?? {})].flatMap(mappings));
	const most = Math.max(0, ...dims.map((mapping) => Object.keys(mapping ?? {}).length));
	if (most > maxDims) {
		const fix = "Name only dimensions that the ONNX file has.";
		const expected = `at most ${maxDims}`;
		complain(resolving, {
			code: "config-dims",
			pointer: "/models",
			says: `name ${most} dimensions in one place`,
			expected,
			fix,
			at: "key",
		});
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

function resolveModel(resolving: Resolving, file: ModelFile, context: ModelContext & { name: string }): ModelConfig {
	const pointer = childPointer("/models", context.name);
	checkName(resolving, pointer, { name: context.name, what: "a model" });
	const dims = resolveDims(resolving, file.dims, { pointer: `${pointer}/dims` });
	const layers = [context.layer, readLayer(resolving, file.gates, `${pointer}/gates`)];
	const engines = file.engines ?? { [defaultEngine.name]: { precision: defaultEngine.precision } };
	if (file.engines === undefined) resolving.sources[`${pointer}/engines/${defaultEngine.name}`] = { kind: "default" };
	const around: EngineContext = { model: file, modelPointer: pointer, dims, layers, inputs: context.inputs };
	const resolved = Object.entries(engines).map(([name, engine]) => resolveEngine(resolving, engine, { ...around, name }));
	return {
		name: context.name,
		onnx: file.onnx,
		...(file.prepare === undefined ? {} : { prepare: resolvePrepare(resolving, file.prepare, `${pointer}/prepare`) }),
		inputs: resolveInputs(resolving, file.inputs, { pointer: `${pointer}/inputs`, engines: resolved }),
		engines: resolved,
		probes: resolveProbes(resolving, file, { pointer, wide: context.probes }),
		pointer,
	};
}

function resolvePrepare(resolving: Resolving, prepare: PrepareFile, pointer: string): PrepareConfig {
	if (typeof prepare === "string") return { command: prepare, env: [] };
	const { command, env = [] } = prepare;
	for (const [index, name] of env.entries()) {
		if (!isRunnersOwn(name)) continue;
		const [says, fix] = [
			`names ${name}, which is the runner's own`,
			"Hand the command a variable of your own under `env:` of the job or step.",
		];
		complain(resolving, {
			code: "config-value",
			pointer: `${pointer}/env/${index}`,
			says,
			expected: "a variable that the job sets",
			got: name,
			fix,
		});
	}
	return { command, env };
}

function resolveProbes(resolving: Resolving, file: ModelFile, around: { pointer: string; wide: ModelContext["probes"] }): ProbesConfig {
	const own = `${around.pointer}/probes`;
	return mergeProbes(around.wide, readProbes(resolving, file.probes, own), file.probes === undefined ? "/probes" : own);
}

interface EngineContext {
	model: ModelFile;
	modelPointer: string;
	dims: Dims;
	layers: readonly Layer[];
	inputs: Layer;
}

function resolveEngine(resolving: Resolving, file: EngineFile, context: EngineContext & { name: string }): EngineConfig {
	const { name, model, modelPointer } = context;
	const pointer = childPointer(`${modelPointer}/engines`, name);
	checkName(resolving, pointer, { name, what: "an engine" });
	const dims = resolveDims(resolving, file.dims, { pointer: `${pointer}/dims`, inherited: context.dims });
	const layers = [...context.layers, readLayer(resolving, file.gates, `${pointer}/gates`)];
	const profiles = resolveProfiles(resolving, file.profiles ?? model.profiles, {
		pointer: `${file.profiles === undefined ? modelPointer : pointer}/profiles`,
		dims,
	});
	const workloads = file.workloads ?? model.workloads;
	const holder = file.workloads === undefined ? modelPointer : pointer;
	const golden = pathOf(resolving, { engine: file.golden, model: model.golden }, { pointer, modelPointer, key: "golden" });
	return {
		name,
		onnx: pathOf(resolving, { engine: file.onnx, model: model.onnx }, { pointer, modelPointer, key: "onnx" }) ?? model.onnx,
		precision: file.precision,
		dims: hullOf(profiles),
		profiles,
		tensorrt: resolveTensorRt(resolving, { engine: file, model, pointer, modelPointer }),
		workloads: resolveWorkloads(resolving, workloads, { profiles, layers, inputs: context.inputs, pointer: `${holder}/workloads` }),
		...(golden === undefined ? {} : { golden }),
		gates: resolveGates(resolving, [...layers, context.inputs]),
		pointer,
	};
}

interface Paths {
	engine: string | undefined;
	model: string | undefined;
}

function pathOf(resolving: Resolving, paths: Paths, at: { pointer: string; modelPointer: string; key: string }): string | undefined {
	if (paths.engine !== undefined) return checkPath(resolving, childPointer(at.pointer, at.key), paths.engine);
	return paths.model === undefined ? undefined : checkPath(resolving, childPointer(at.modelPointer, at.key), paths.model);
}

interface InputContext {
	pointer: string;
	engines: readonly EngineConfig[];
}

function resolveInputs(
	resolving: Resolving,
	file: Readonly<Record<string, InputFile>> | undefined,
	context: InputContext,
): Record<string, InputConfig> {
	const inputs: Record<string, InputConfig> = Object.create(null);
	const known = new Set(context.engines.flatMap((engine) => Object.keys(engine.dims)));
	for (const [name, input] of Object.entries(file ?? {})) {
		const pointer = childPointer(context.pointer, name);
		checkName(resolving, pointer, { name, what: "an input" });
		for (const [axis, size] of (input.shape ?? []).entries()) {
			if (typeof size === "string" && !known.has(size))
				complainDim(resolving, { pointer: `${pointer}/shape/${axis}`, size, known: [...known] });
		}
		inputs[name] = { ...(input.shape === undefined ? {} : { shape: input.shape }), fill: input.fill ?? "normal" };
	}
	return inputs;
}

function complainDim(resolving: Resolving, said: { pointer: string; size: string; known: readonly string[] }): void {
	const meant = didYouMean(said.size, said.known);
	complain(resolving, {
		code: "config-dims",
		pointer: said.pointer,
		says: `is ${formatName(said.size)}, which no dims declare`,
		expected: "a size, or the name of a dimension under dims",
		got: formatName(said.size),
		fix: meant === undefined ? `Declare ${formatName(said.size)} under the model's dims.` : `Write ${meant}.`,
		...(meant === undefined ? {} : { meant }),
	});
}

/** Names may hold slashes: `a/b` with engine `c` would be `a` with engine `b/c`. */
function refuseTwins(resolving: Resolving, models: readonly ModelConfig[]): void {
	const seen = new Set<string>();
	for (const model of models) {
		for (const engine of model.engines) {
			const engineId = `${model.name}/${engine.name}`;
			// Twins inside one engine are complained of where they stand.
			for (const id of new Set([engineId, ...engine.workloads.map((workload) => `${engineId}/${workload.name}`)])) {
				const twin = seen.has(id);
				seen.add(id);
				if (!twin) continue;
				const expected = "names that differ when they are joined by slashes";
				complain(resolving, {
					code: "config-value",
					pointer: engine.pointer,
					says: `comes out as ${formatName(id)} twice`,
					expected,
					got: formatName(id),
					fix: "Rename the engine or its model.",
					at: "key",
				});
			}
		}
	}
}
