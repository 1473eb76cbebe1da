// Reads models and goldens of both sides, and makes the plan.
import type { Arm, BackendFacts, ErrorRecord, RecipeChange } from "../../generated/result.ts";
import type { Config } from "../core/config/config.ts";
import { type Counterparts, underRulesOf } from "../core/config/rules.ts";
import { placeOf, placeOfInherited } from "../core/config/source.ts";
import { onTensorRt } from "../core/config/tensorrt-settings.ts";
import { ConfigError, faultOf } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import { type Arrivals, parseArrivals } from "../core/load/queues.ts";
import { isSameGraph } from "../core/onnx/describe.ts";
import { type EngineSpec, engineSpecs, findCounterparts, makePlan, underNameOf } from "../core/plan/plan.ts";
import { recipeRows } from "../core/plan/recipe.ts";
import { isUnfinished } from "../golden/core/record/defects/record.ts";
import { loadGoldens } from "../golden/stages/load-goldens.ts";
import type { Ports } from "../ports/ports.ts";
import type { Files } from "../ports/world.ts";
import { prepare } from "../stages/prepare.ts";
import { compareInterfaces, type PreparedModel, recipeOf } from "../stages/prepared.ts";
import { confine } from "../stages/resolve-in-workspace.ts";
import { shapeWorkloads } from "../stages/workloads.ts";
import type { Facts, GateInput, Prepared } from "./run-context.ts";

export async function prepareGate(asked: GateInput, ports: Ports): Promise<Prepared> {
	const { kind: backend, version } = await ports.backend.facts();
	const ofBase = asked.config.base === undefined ? version : (await ports.backend.facts("base")).version;
	const head = backend === "tensorrt" ? version : asked.config.preflight.tensorrt;
	const input = withOnnxFiles(asked, { head, base: backend === "tensorrt" ? ofBase : head });
	const { arms, rules } = input;
	const found = await prepareSides(input, backend, ports);
	const counterparts = findCounterparts(found.base.map(specOf), found.head.map(specOf), sameContent(found));
	const config = rules === undefined ? input.config : underRulesOf(rules, input.headConfig, counterparts);
	const specs = new Map(engineSpecs(config).map((spec) => [spec.id, spec]));
	const heads = found.head.map((model) => ({ ...model, spec: specs.get(model.spec.id) ?? model.spec }));
	const baseFolder = arms.find(({ arm }) => arm === "base")?.path;
	const bases = baseFolder === undefined ? [] : heads.map((head) => baseOf(head, found.base, counterparts));
	const models = [...bases, ...heads];
	const interfaces = compareInterfaces(models);
	const { sets: goldens, faults: goldenFaults } = await loadGoldens(
		{
			models,
			changed: interfaces.engines,
			headFolder: arms.find(({ arm }) => arm === "head")?.path ?? "",
			baseFolder,
			limitsOfBase: rules !== undefined,
		},
		ports,
	);
	stopIfNothingIsLeft({ models, goldenFaults, interfaces });
	const arrivals = await readArrivals(asked, config, ports.files);
	const plan = makePlan({
		config,
		arms: arms.map(({ arm }) => arm),
		cases: new Map([...goldens].map(([id, { manifest }]) => [id, manifest.cases.map((golden) => golden.id)])),
		seed: input.seed,
		isScheduled: input.isScheduled ?? false,
		isTensorRt: backend === "tensorrt",
	});
	return {
		models,
		goldens,
		goldenFaults,
		interfaces,
		counterparts,
		config,
		arrivals,
		recipes: changedRecipes(models),
		plan: { ...plan, baseEngines: bases.map(specOf) },
	};
}

type Split = GateInput & { configOfBase: Config };

/** @param versions of TensorRT; undefined: the model's own file. */
function withOnnxFiles(input: GateInput, versions: Record<Arm, string | undefined>): Split {
	const chosen = (config: Config, arm: Arm): Config =>
		versions[arm] === undefined ? config : onTensorRt(config, versions[arm]);
	const { config, headConfig, baseConfig } = input;
	return {
		...input,
		config: chosen(config, "head"),
		headConfig: chosen(headConfig, "head"),
		configOfBase: chosen(baseConfig ?? config, "base"),
	};
}

type PreparedSides = Readonly<Record<Arm, readonly PreparedModel[]>>;

const specOf = ({ spec }: PreparedModel) => spec;

async function prepareSides(
	input: Split,
	backend: BackendFacts["kind"],
	ports: Ports,
): Promise<PreparedSides> {
	const { config, arms, outFolder } = input;
	const specs = engineSpecs(config);
	const ofBase = baseSpecs(specs, input);
	const sharesFiles = new Set(arms.map(({ path }) => path)).size < arms.length;
	const headArm = arms.filter(({ arm }) => arm === "head");
	const others = ofBase.filter((one) =>
		specs.some(({ id, engine }) => id === one.id && engine.onnx !== one.engine.onnx),
	);
	const preparing = {
		sides: sharesFiles
			? [specs, others].flatMap((own) => headArm.map((folder) => ({ folder, specs: own })))
			: arms.map((folder) => ({ folder, specs: folder.arm === "head" ? specs : ofBase })),
		// A config that cannot be read may name every engine.
		hasBaseConfig: input.baseConfig !== undefined || input.baseConfigFault !== undefined,
		backend,
		logFolder: `${outFolder}/logs`,
		timeoutMs: config.measure.buildTimeoutMs,
	};
	const models: PreparedModel[] = [];
	for await (const model of prepare(preparing, ports)) models.push(withPlace(model, config));
	return sharesFiles
		? sharedSides(models.slice(0, specs.length), models.slice(specs.length))
		: { base: models.filter(({ arm }) => arm === "base"), head: models.filter(({ arm }) => arm === "head") };
}

/** @param others what the base builds from another file of the same folder; one without it is no engine at all. */
function sharedSides(models: readonly PreparedModel[], others: readonly PreparedModel[]): PreparedSides {
	const pairs = models.map((model) => {
		const base = others.find(({ spec }) => spec.id === model.spec.id) ?? model;
		const head: PreparedModel = base.state === "broken" ? { ...base, spec: model.spec } : model;
		return { base, head };
	});
	const base = pairs.flatMap(({ base, head }) =>
		base.state === "ready" && head.state === "ready" ? [{ ...base, arm: "base" as const }] : [],
	);
	return { base, head: pairs.map(({ head }) => head) };
}

/** Also engines that only the base has, if the head has new ones: they may be renamed. */
function baseSpecs(head: readonly EngineSpec[], input: Split): readonly EngineSpec[] {
	const { baseConfig, configOfBase, headIds } = input;
	const base = engineSpecs(configOfBase);
	if (baseConfig === undefined) return base;
	const hasNew = head.some(({ id }) => !base.some((other) => other.id === id));
	return base.filter(({ id }) => head.some((own) => own.id === id) || (hasNew && !headIds.has(id)));
}

function sameContent({ base, head }: PreparedSides): (base: EngineSpec, head: EngineSpec) => boolean {
	const fileOf = (models: readonly PreparedModel[], { id }: EngineSpec) => {
		const found = models.find(({ spec }) => spec.id === id);
		return found?.state === "ready" ? found.model : undefined;
	};
	return (one, other) => {
		const was = fileOf(base, one);
		const is = fileOf(head, other);
		if (was === undefined || is === undefined) return false;
		return was.sha256 === is.sha256 || isSameGraph(was.onnx, is.onnx);
	};
}

function baseOf(
	{ spec }: PreparedModel,
	bases: readonly PreparedModel[],
	counterparts: Counterparts,
): PreparedModel {
	const base = bases.find((one) => one.spec.id === counterparts.get(spec.id));
	if (base !== undefined) return { ...base, spec: underNameOf(spec, base.spec) };
	const reason = "the base's config has no such engine";
	return { state: "missing", spec, arm: "base", isNew: true, reason };
}

function changedRecipes(models: readonly PreparedModel[]): RecipeChange[] {
	const ready = models.filter((model) => model.state === "ready");
	return ready.flatMap((head) => {
		const base = ready.find(({ arm, spec }) => arm === "base" && spec.id === head.spec.id);
		if (head.arm === "base" || base === undefined) return [];
		const rows = recipeRows(recipeOf(base), recipeOf(head));
		const { was } = base.spec;
		if (rows.length === 0 && was === undefined) return [];
		return [{ model: head.spec.model.name, engine: head.spec.engine.name, was, rows }];
	});
}

function withPlace(prepared: PreparedModel, config: Config): PreparedModel {
	if (prepared.state !== "broken" || prepared.arm === "base" || !/^(?:model|path)-/.test(prepared.fault.code))
		return prepared;
	const { spec, fault } = prepared;
	if (fault.location?.line !== undefined) return prepared;
	const holders = [spec.engine.pointer, spec.model.pointer];
	const place = placeOfInherited(config, { holders, key: "/onnx" });
	return { ...prepared, fault: new ConfigError({ ...faultOf(fault), ...place }) };
}

/**
 * The base's file, as of all rules, unless it has none that can be read.
 * @throws ConfigError of the head's file: arrivals-invalid, path-outside-workspace.
 */
async function readArrivals(
	{ arms, headConfig }: GateInput,
	config: Config,
	files: Files,
): Promise<Arrivals> {
	const asking = [headConfig, config].find(({ measure: { load } }) => load.when !== "off");
	if (asking === undefined) return "poisson";
	const read = async ({ measure, sources }: Config, arm: Arm): Promise<Arrivals> => {
		const { arrivals } = measure.load;
		if (arrivals === "poisson" || arrivals === "constant") return arrivals;
		const folder = arms.find((one) => one.arm === arm)?.path ?? "";
		try {
			const path = (await confine(files, folder, arrivals)) ?? `${folder}/${arrivals}`;
			return parseArrivals(await files.readText(path, inputKinds.arrivals), arrivals);
		} catch (error) {
			if (!(error instanceof ConfigError) || error.location?.line !== undefined) throw error;
			throw new ConfigError({ ...faultOf(error), ...placeOf({ sources }, "/measure/load/arrivals") });
		}
	};
	const ofHead = await read(asking, "head");
	const hasBase = arms.some(({ arm }) => arm === "base");
	return hasBase ? read(config, "base").catch(() => ofHead) : ofHead;
}

/** @throws ConfigError, or an AggregateError of several. */
export function refuseFaults(prepared: Prepared, config: Config): void {
	throwFaults({ ...prepared, models: shapeWorkloads(prepared.plan, prepared.models, config).models });
}

function throwFaults({ models, goldenFaults }: Pick<Prepared, "models" | "goldenFaults">): void {
	const ofModels = models.flatMap((model) =>
		model.state === "broken" && model.arm === "head" ? [model.fault] : [],
	);
	const all = [...ofModels, ...goldenFaults.values()];
	const [first, ...others] = new Map(all.map((fault) => [fault.message, fault])).values();
	if (first === undefined) return;
	if (others.length === 0) throw first;
	throw new AggregateError([first, ...others], "Several models cannot be checked.");
}

export function stopIfNothingIsLeft(known: Pick<Prepared, "models" | "goldenFaults" | "interfaces">): void {
	const { models, goldenFaults, interfaces } = known;
	const isUsable = ({ arm, state, spec }: PreparedModel) =>
		arm === "head" && state === "ready" && !goldenFaults.has(spec.id);
	// A changed interface is a verdict already.
	if (interfaces.changes.length === 0 && !models.some(isUsable)) throwFaults(known);
}

export function errorsOfBase(models: readonly PreparedModel[]): ErrorRecord[] {
	const errors = models.flatMap((model) =>
		model.state === "broken" && model.arm === "base" ? [model.error] : [],
	);
	return [...new Map(errors.map((error) => [JSON.stringify(error), error])).values()];
}

export function untestedGoldens({ config }: GateInput, { goldens }: Prepared): Facts["untested"] {
	/** The same words for all, so that a report says them once. */
	const message =
		"Its golden was not tested completely, so it is unknown which defects it notices. Run the command that recorded it again; golden.json has it as producer.command.";
	const found = engineSpecs(config).flatMap(({ id, model }) => {
		const manifest = goldens.get(id)?.manifest;
		return manifest !== undefined && isUnfinished(manifest) ? [{ model: model.name, message }] : [];
	});
	return [...new Map(found.map((one) => [one.model, one])).values()];
}
