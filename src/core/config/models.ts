// Resolves models and their engines, which inherit dims, workloads, goldens and gates.
import type { EngineFile, InputFile, ModelFile, PrepareFile, ProbesFile } from "../../../generated/config.ts";
import { childPointer, formatName, suggest } from "../found.ts";
import { isRunnerVariable } from "../variables.ts";
import { checkAgainst } from "./against.ts";
import {
	defaultProbes,
	type EngineConfig,
	type InputConfig,
	type ModelConfig,
	type OwnBuildConfig,
	type PrepareConfig,
	type ProbesConfig,
} from "./config.ts";
import { type Dims, hullOf, maxDims, resolveDims, resolveProfiles } from "./dims.ts";
import { type Layer, readLayer, resolveGates } from "./gates.ts";
import { type Resolution, resolveEach } from "./source.ts";
import { checkOnnx, resolveTensorRt, resolveVersions } from "./tensorrt-settings.ts";
import { checkName, checkPath, folderName } from "./values.ts";
import { resolveWorkloads } from "./workloads.ts";

/** Bounds the effect of aliases and inheritance. */
const maxWorkloads = 2000;

type Models = Readonly<Record<string, ModelFile>>;

interface ModelContext {
	layers: readonly Layer[];
	inputs: Layer;
	probes: ProbesLayer;
}

export function* resolveModels(models: Models, context: ModelContext): Resolution<ModelConfig[]> {
	if (!(yield* checkCounts(models))) return [];
	const resolved = yield* resolveEach(Object.entries(models), ([name, file]) =>
		resolveModel(file, { ...context, name }),
	);
	yield* refuseTwins(resolved);
	return resolved;
}

function* checkCounts(models: Models): Resolution<boolean> {
	const groups = Object.values(models).map(
		(model) => [model, ...Object.values(model.engines ?? {})] as const,
	);
	const workloads = groups
		.flatMap(([model, ...engines]) =>
			(model.engines === undefined ? [model] : engines).map((of) => of.workloads ?? model.workloads),
		)
		.reduce((sum, list) => sum + (list?.length ?? 1), 0);
	const mappings = groups.flat().flatMap(({ dims, profiles = [] }) => [dims, ...profiles]);
	const most = Math.max(0, ...mappings.map((mapping) => Object.keys(mapping ?? {}).length));
	const problem = { pointer: "/models", at: "key" } as const;
	if (workloads > maxWorkloads) {
		const says = `come to ${workloads} workloads`;
		const fix = "Split the file into several configs, one job each.";
		yield { ...problem, says, expected: `at most ${maxWorkloads}`, fix };
	}
	if (most > maxDims) {
		const says = `name ${most} dimensions in one place`;
		const fix = "Name only dimensions that the ONNX file has.";
		yield { ...problem, code: "config-dims", says, expected: `at most ${maxDims}`, fix };
	}
	return workloads <= maxWorkloads && most <= maxDims;
}

function* resolveModel(file: ModelFile, context: ModelContext & { name: string }): Resolution<ModelConfig> {
	const { name } = context;
	const pointer = childPointer("/models", name);
	yield* checkName(pointer, { name, what: "a model" });
	const dims = yield* resolveDims(file.dims, { pointer: `${pointer}/dims` });
	const layers = [...context.layers, yield* readLayer(file.gates, `${pointer}/gates`)];
	const around: EngineContext = { model: file, modelPointer: pointer, dims, layers, inputs: context.inputs };
	const files = file.engines ?? { fp32: { precision: "fp32" } };
	const engines = yield* resolveEach(Object.entries(files), ([engine, of]) =>
		resolveEngine(of, { ...around, name: engine }),
	);
	yield* checkAgainst(engines);
	const probesPointer = `${pointer}/probes`;
	const probes = yield* readProbes(file.probes, probesPointer);
	return {
		name,
		onnx: file.onnx ?? engines[0]?.onnx ?? "",
		prepare:
			file.prepare === undefined ? undefined : yield* resolvePrepare(file.prepare, `${pointer}/prepare`),
		decoder: file.decoder,
		inputs: yield* resolveInputs(file.inputs ?? {}, { pointer: `${pointer}/inputs`, engines }),
		notice: file["golden-notice"] ?? {},
		engines,
		probes: mergeProbes(context.probes, probes, file.probes === undefined ? "/probes" : probesPointer),
		pointer,
	};
}

function* resolvePrepare(prepare: PrepareFile, pointer: string): Resolution<PrepareConfig> {
	const { command, env = [] } = typeof prepare === "string" ? { command: prepare } : prepare;
	const expected = "a variable that the job sets";
	const fix = "Hand the command a variable of your own under `env:` of the job or step.";
	for (const [index, name] of env.entries()) {
		const says = `names ${name}, which belongs to the runner`;
		if (isRunnerVariable(name)) yield { pointer: `${pointer}/env/${index}`, says, expected, fix };
	}
	return { command, env };
}

/** With a plan of its own, an engine needs no ONNX file where a golden gives its inputs. */
const noOnnx = {
	code: "config-schema",
	says: "is missing",
	expected: "a path, such as models/net.onnx",
	fix: "Add onnx:. Only engines with `build` and a golden can do without.",
	at: "key",
} as const;

function* resolveBuild(engine: EngineFile, pointer: string): Resolution<OwnBuildConfig | undefined> {
	const { build } = engine;
	if (build === undefined) return;
	for (const key of ["workspace", "optimization-level", "calibration"] as const) {
		const says = "has no effect on an engine with `build`";
		const fix = "Remove it: whatever builds the plan decides this.";
		if (engine[key] !== undefined)
			yield { pointer: pointer.replace(/build$/, key), says, expected: "one or the other", fix, at: "key" };
	}
	const { plan, command, env } = build;
	const run = command === undefined ? {} : yield* resolvePrepare({ command, env }, pointer);
	return { ...run, plan: yield* checkPath(`${pointer}/plan`, plan), pointer };
}

interface EngineContext {
	model: ModelFile;
	modelPointer: string;
	dims: Dims;
	layers: readonly Layer[];
	inputs: Layer;
}

function* resolveEngine(
	file: EngineFile,
	context: EngineContext & { name: string },
): Resolution<EngineConfig> {
	const { name, model, modelPointer, inputs } = context;
	const pointer = childPointer(`${modelPointer}/engines`, name);
	yield* checkName(pointer, { name, what: "an engine" });
	const at = (key: "profiles" | "workloads") => `${file[key] === undefined ? modelPointer : pointer}/${key}`;
	const dims = yield* resolveDims(file.dims, { pointer: `${pointer}/dims`, inherited: context.dims });
	const layers = [...context.layers, yield* readLayer(file.gates, `${pointer}/gates`)];
	const profiles = yield* resolveProfiles(file.profiles ?? model.profiles, { pointer: at("profiles"), dims });
	return {
		name,
		...(yield* resolveFiles(file, { model, modelPointer, pointer })),
		precision: file.precision,
		dims: hullOf(profiles),
		profiles,
		tensorrt: yield* resolveTensorRt({ engine: file, model }, { pointer, modelPointer }),
		workloads: yield* resolveWorkloads(file.workloads ?? model.workloads, {
			profiles,
			decoder: model.decoder,
			layers,
			inputs,
			pointer: at("workloads"),
		}),
		against: file.against,
		gates: yield* resolveGates([...layers, inputs]),
		pointer,
	};
}

function* resolveFiles(
	file: EngineFile,
	{ model, modelPointer, pointer }: Pick<EngineContext, "model" | "modelPointer"> & { pointer: string },
): Resolution<Pick<EngineConfig, "onnx" | "onnxByVersion" | "build" | "golden">> {
	const golden = file.golden ?? model.golden;
	const goldenPointer = `${file.golden === undefined ? modelPointer : pointer}/golden`;
	const build = yield* resolveBuild(file, `${pointer}/build`);
	const own = typeof file.onnx === "string" ? file.onnx : undefined;
	const byVersion = typeof file.onnx === "object" ? file.onnx : undefined;
	const named = own ?? model.onnx ?? (build && golden);
	const place = `${own === undefined ? modelPointer : pointer}/onnx`;
	if (named === undefined) yield { pointer: place, ...noOnnx };
	return {
		onnx: yield* checkOnnx(named === golden ? goldenPointer : place, named ?? "none"),
		onnxByVersion: byVersion && (yield* resolveVersions(byVersion, `${pointer}/onnx`)),
		build,
		golden: golden === undefined ? undefined : yield* checkPath(goldenPointer, golden),
	};
}

function* resolveInputs(
	file: Readonly<Record<string, InputFile>>,
	context: { pointer: string; engines: readonly EngineConfig[] },
): Resolution<Record<string, InputConfig>> {
	const inputs: Record<string, InputConfig> = Object.create(null);
	const known = [...new Set(context.engines.flatMap((engine) => Object.keys(engine.dims)))];
	for (const [name, input] of Object.entries(file)) {
		const pointer = childPointer(context.pointer, name);
		yield* checkName(pointer, { name, what: "an input" });
		for (const [axis, size] of (input.shape ?? []).entries()) {
			if (typeof size !== "string" || known.includes(size)) continue;
			yield {
				code: "config-dims",
				pointer: `${pointer}/shape/${axis}`,
				says: `is ${formatName(size)}, which no dims declare`,
				expected: "a size, or the name of a dimension under dims",
				...suggest(size, known, `Declare ${formatName(size)} under the model's dims.`),
			};
		}
		inputs[name] = input;
	}
	return inputs;
}

/**
 * Names may hold slashes: model `a/b` with engine `c` would be `a` with engine `b/c`. Names made to have one hash would share
 * a folder, and the last engine built would answer for the others.
 */
function* refuseTwins(models: readonly ModelConfig[]): Resolution<void> {
	const seen = new Map<string, string>();
	for (const model of models)
		for (const engine of model.engines) {
			const engineId = `${model.name}/${engine.name}`;
			const names = engine.workloads.map((workload) => `${engineId}/${workload.name}`);
			for (const id of new Set([engineId, ...names])) {
				const folder = folderName(id);
				const other = seen.get(folder);
				seen.set(folder, id);
				if (other === undefined) continue;
				const [says, expected] =
					other === id
						? [`comes out as ${formatName(id)} twice`, "names that differ when they are joined by slashes"]
						: [`has the folder ${folder} of ${formatName(other)}`, "names with folders of their own"];
				yield { pointer: engine.pointer, says, expected, fix: "Rename the engine or its model.", at: "key" };
			}
		}
}

type ProbesLayer = Partial<Omit<ProbesConfig, "pointer">>;

export function* readProbes(file: ProbesFile | undefined, pointer: string): Resolution<ProbesLayer> {
	if (file === undefined) return {};
	if (typeof file === "string") return { when: file };
	if (Array.isArray(file)) return { when: "on", only: file };
	for (const key of ["mask", "length"] as const) {
		const name = file[key];
		if (name !== undefined) yield* checkName(`${pointer}/${key}`, { name, what: "an input", at: "value" });
	}
	if (file.mask !== undefined && file.length !== undefined) {
		const says = "is given together with mask; either one alone marks the padding";
		const fix = "Remove length where the model reads the mask.";
		yield { pointer: `${pointer}/length`, says, expected: "mask or length", fix, at: "key" };
	}
	return file;
}

/** Inherits key by key; a model that names a mask replaces the file's length, and vice versa. */
function mergeProbes(wide: ProbesLayer, narrow: ProbesLayer, pointer: string) {
	const padding = narrow.mask !== undefined || narrow.length !== undefined ? narrow : wide;
	return {
		when: narrow.when ?? wide.when ?? defaultProbes.when,
		only: narrow.only ?? wide.only ?? defaultProbes.only,
		mask: padding.mask,
		length: padding.length,
		pointer,
	};
}
