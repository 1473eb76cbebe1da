// Reads the models and goldens of both sides and makes the plan. A fault of one model or golden is a value; it stops nothing else.

import type { BackendFacts, ErrorRecord, RecipeChange } from "../../generated/result.ts";
import type { Config } from "../core/config/config.ts";
import { type Counterparts, underRulesOf } from "../core/config/rules.ts";
import { placeOfInherited } from "../core/config/source.ts";
import { ConfigError, faultOf } from "../core/errors.ts";
import { unfinishedNote } from "../core/golden/record/defects/describe.ts";
import { isSameGraph } from "../core/onnx/same-graph.ts";
import { findCounterparts, underNameOf } from "../core/plan/counterparts.ts";
import { makePlan } from "../core/plan/make-plan.ts";
import { type EngineSpec, engineSpecs } from "../core/plan/plan.ts";
import { recipeRows } from "../core/plan/recipe.ts";
import type { Ports } from "../ports/ports.ts";
import { loadGoldens } from "../stages/load-goldens.ts";
import { prepare } from "../stages/prepare.ts";
import { compareInterfaces, type PreparedModel, recipeOf } from "../stages/prepared.ts";
import { shapeWorkloads } from "../stages/workloads.ts";
import type { Facts, GateInput, Prepared } from "./run-context.ts";

/** Prepares the models of both sides, each by its own config, and makes the plan: all that a dry run does. */
export async function prepareGate(input: GateInput, ports: Ports): Promise<Prepared> {
	const { arms } = input;
	const { kind: backend } = await ports.backend.facts();
	const found = await prepareSides(input, backend, ports);
	const counterparts = findCounterparts(found.base.map(specOf), found.head.map(specOf), sameContent(found));
	const config =
		input.rules === undefined ? input.config : underRulesOf(input.rules, input.headConfig, counterparts);
	const specs = new Map(engineSpecs(config).map((spec) => [spec.id, spec]));
	const heads = found.head.map((model) => ({ ...model, spec: specs.get(model.spec.id) ?? model.spec }));
	const hasBase = arms.some(({ arm }) => arm === "base");
	const bases = hasBase ? heads.map((head) => baseOf(head, found.base, counterparts)) : [];
	const models = [...bases, ...heads];
	const folderOf = (arm: string): string | undefined => arms.find((folder) => folder.arm === arm)?.path;
	const [headFolder, baseFolder] = [folderOf("head") ?? "", folderOf("base")];
	const interfaces = compareInterfaces(models);
	const { sets, faults } = await loadGoldens(
		{ models, changed: interfaces.engines, headFolder, baseFolder, limitsOfBase: input.rules !== undefined },
		ports,
	);
	const known = {
		models,
		goldens: sets,
		goldenFaults: faults,
		interfaces,
		counterparts,
		config,
		recipes: changedRecipes(models),
	};
	stopIfNothingIsLeft(known);
	const cases = new Map([...sets].map(([id, set]) => [id, set.manifest.cases.map((golden) => golden.id)]));
	const plan = makePlan({
		config,
		arms: arms.map((folder) => folder.arm),
		cases,
		seed: input.seed,
		isScheduled: input.isScheduled ?? false,
		backend,
	});
	return { ...known, plan: { ...plan, baseEngines: bases.map(specOf) } };
}

interface PreparedSides {
	base: readonly PreparedModel[];
	head: readonly PreparedModel[];
}

const specOf = ({ spec }: PreparedModel): EngineSpec => spec;

async function prepareSides(
	input: GateInput,
	backend: BackendFacts["kind"],
	ports: Ports,
): Promise<PreparedSides> {
	const { config, arms, outFolder } = input;
	const specs = engineSpecs(config);
	const sharesFiles = new Set(arms.map(({ path }) => path)).size < arms.length;
	const sides = arms
		.filter(({ arm }) => arm === "head" || !sharesFiles)
		.map((folder) => ({ folder, specs: folder.arm === "head" ? specs : baseSpecs(specs, input) }));
	const timeoutMs = config.measure.buildTimeoutMs;
	// One that cannot be read may have every engine.
	const hasBaseConfig = input.baseConfig !== undefined || input.baseConfigFault !== undefined;
	const preparing = { sides, hasBaseConfig, backend, logFolder: `${outFolder}/logs`, timeoutMs };
	const models: PreparedModel[] = [];
	for await (const model of prepare(preparing, ports)) models.push(withPlace(model, config));
	const head = models.filter(({ arm }) => arm === "head");
	if (!sharesFiles) return { base: models.filter(({ arm }) => arm === "base"), head };
	return {
		base: head.flatMap((model) => (model.state === "ready" ? [{ ...model, arm: "base" as const }] : [])),
		head,
	};
}

/** Namesakes of the head's engines; where one has none, also those that only the base has: it may have been renamed. */
function baseSpecs(head: readonly EngineSpec[], { baseConfig, headIds }: GateInput): readonly EngineSpec[] {
	if (baseConfig === undefined) return head;
	const [mine, base] = [new Set(head.map(({ id }) => id)), engineSpecs(baseConfig)];
	const hasNew = head.some(({ id }) => !base.some((other) => other.id === id));
	return base.filter(({ id }) => mine.has(id) || (hasNew && !headIds.has(id)));
}

function sameContent({ base, head }: PreparedSides): (base: EngineSpec, head: EngineSpec) => boolean {
	const read = (models: readonly PreparedModel[]) =>
		new Map(
			models.flatMap((model) => (model.state === "ready" ? [[model.spec.id, model.model] as const] : [])),
		);
	const [bases, heads] = [read(base), read(head)];
	return (one, other) => {
		const [was, is] = [bases.get(one.id), heads.get(other.id)];
		return (
			was !== undefined && is !== undefined && (was.sha256 === is.sha256 || isSameGraph(was.onnx, is.onnx))
		);
	};
}

/** The base's engine under the head's name. A base without a config has the head's engines, as far as it has their files. */
function baseOf(
	head: PreparedModel,
	bases: readonly PreparedModel[],
	counterparts: Counterparts,
): PreparedModel {
	const id = counterparts.get(head.spec.id);
	const base = bases.find(({ spec }) => spec.id === id);
	if (base !== undefined) return { ...base, spec: underNameOf(head.spec, base.spec) };
	return {
		state: "missing",
		spec: head.spec,
		arm: "base",
		isNew: true,
		reason: "the base's config has no such engine",
	};
}

/** What base and head build differently: not a fault, but the first thing to look at where figures differ. */
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

/** A model's file that is missing or unreadable, with the key that names it. */
function withPlace(prepared: PreparedModel, config: Config): PreparedModel {
	if (prepared.state !== "broken" || prepared.arm === "base" || !/^(?:model|path)-/.test(prepared.fault.code))
		return prepared;
	const { spec, fault } = prepared;
	const place = placeOfInherited(config, {
		holders: [spec.engine.pointer, spec.model.pointer],
		key: "/onnx",
	});
	return {
		...prepared,
		fault: new ConfigError({ ...faultOf(fault), ...(fault.location?.line === undefined ? place : {}) }),
	};
}

/** Faults of the head's models and goldens, each once: several engines may share one file. */
function faultsOf({ models, goldenFaults }: Pick<Prepared, "models" | "goldenFaults">): ConfigError[] {
	const ofModels = models.flatMap((model) =>
		model.state === "broken" && model.arm === "head" ? [model.fault] : [],
	);
	const all = [...ofModels, ...goldenFaults.values()];
	return [...new Map(all.map((fault) => [fault.message, fault])).values()];
}

/** A dry run has no gates that a fault could fail. @throws ConfigError, or an AggregateError of several. */
export function refuseFaults(prepared: Prepared, config: Config): void {
	throwFaults({ ...prepared, models: shapeWorkloads(prepared.plan, prepared.models, config).models });
}

function throwFaults(known: Pick<Prepared, "models" | "goldenFaults">): void {
	const [first, ...others] = faultsOf(known);
	if (first === undefined) return;
	throw others.length === 0
		? first
		: new AggregateError([first, ...others], "Several models cannot be checked.");
}

/** One model's fault fails its own gate; where every engine has one, the configuration is at fault. @throws as refuseFaults. */
export function stopIfNothingIsLeft(known: Pick<Prepared, "models" | "goldenFaults" | "interfaces">): void {
	const { models, goldenFaults, interfaces } = known;
	const isUsable = ({ arm, state, spec }: PreparedModel): boolean =>
		arm === "head" && state === "ready" && !goldenFaults.has(spec.id);
	// A changed interface is a verdict already.
	if (interfaces.changes.length === 0 && !models.some(isUsable)) throwFaults(known);
}

export function errorsOfBase(models: readonly PreparedModel[]): ErrorRecord[] {
	const errors = models.flatMap((model) =>
		model.state === "broken" && model.arm === "base"
			? [[JSON.stringify(model.error), model.error] as const]
			: [],
	);
	return [...new Map(errors).values()];
}

/** Goldens whose sensitivity was not tested to the end, once for each model. */
export function untestedGoldens({ config }: GateInput, { goldens }: Prepared): Facts["untested"] {
	const found = new Map(
		engineSpecs(config).flatMap(({ id, model }): [string, string][] => {
			const manifest = goldens.get(id)?.manifest;
			const message = manifest === undefined ? null : unfinishedNote(manifest);
			return message === null ? [] : [[model.name, message]];
		}),
	);
	return [...found].map(([model, message]) => ({ model, message }));
}
