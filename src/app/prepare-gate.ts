// Reads the models and goldens of both sides and makes the plan. A fault of one model or golden is a value; it stops nothing else.
import type { Config } from "../core/config/config.ts";
import { placeOfInherited } from "../core/config/source.ts";
import { ConfigError, faultOf } from "../core/errors.ts";
import { unfinishedNote } from "../core/golden/record/defects/describe.ts";
import { makePlan } from "../core/plan/make-plan.ts";
import { type EngineSpec, engineSpecs } from "../core/plan/plan.ts";
import type { ErrorRecord } from "../core/schema/result.ts";
import type { Ports } from "../ports/ports.ts";
import { loadGoldens } from "../stages/load-goldens.ts";
import { prepare } from "../stages/prepare.ts";
import { compareInterfaces, type PreparedModel } from "../stages/prepared.ts";
import { shapeWorkloads } from "../stages/workloads.ts";
import type { Facts, GateInput, Prepared } from "./run-context.ts";

/** Prepares the models and makes the plan: all that a dry run does. */
export async function prepareGate(input: GateInput, ports: Ports): Promise<Prepared> {
	const { config, arms } = input;
	const specs = engineSpecs(config);
	const models: PreparedModel[] = [];
	const sharesFiles = new Set(arms.map(({ path }) => path)).size < arms.length;
	const { kind: backend } = await ports.backend.facts();
	const preparing = {
		specs,
		arms: sharesFiles ? arms.filter(({ arm }) => arm === "head") : arms,
		backend,
		logFolder: `${input.outFolder}/logs`,
		timeoutMs: config.measure.buildTimeoutMs,
		isKnownToBase: (spec: EngineSpec) => isKnownToBase(spec, input),
	};
	for await (const model of prepare(preparing, ports)) models.push(withPlace(model, config));
	if (sharesFiles) models.unshift(...models.flatMap((model) => (model.state === "ready" ? [{ ...model, arm: "base" as const }] : [])));
	const headFolder = arms.find((folder) => folder.arm === "head")?.path ?? "";
	const interfaces = compareInterfaces(models);
	const { sets, faults } = await loadGoldens({ models, changed: interfaces.engines, headFolder }, ports);
	const known = { models, goldens: sets, goldenFaults: faults, interfaces };
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
	return { ...known, plan };
}

/** A model's file that is missing or unreadable, with the key that names it. */
function withPlace(prepared: PreparedModel, config: Config): PreparedModel {
	if (prepared.state !== "broken" || prepared.arm === "base" || !/^(?:model|path)-/.test(prepared.fault.code)) return prepared;
	const { spec, fault } = prepared;
	const place = placeOfInherited(config, { holders: [spec.engine.pointer, spec.model.pointer], key: "/onnx" });
	return { ...prepared, fault: new ConfigError({ ...faultOf(fault), ...(fault.location?.line === undefined ? place : {}) }) };
}

/** Faults of the head's models and goldens, each once: several engines may share one file. */
function faultsOf({ models, goldenFaults }: Pick<Prepared, "models" | "goldenFaults">): ConfigError[] {
	const ofModels = models.flatMap((model) => (model.state === "broken" && model.arm === "head" ? [model.fault] : []));
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
	throw others.length === 0 ? first : new AggregateError([first, ...others], "Several models cannot be checked.");
}

/** One model's fault fails its own gate; where every engine has one, the configuration is at fault. @throws as refuseFaults. */
export function stopIfNothingIsLeft(known: Omit<Prepared, "plan">): void {
	const { models, goldenFaults, interfaces } = known;
	const isUsable = ({ arm, state, spec }: PreparedModel): boolean => arm === "head" && state === "ready" && !goldenFaults.has(spec.id);
	// A changed interface is a verdict already.
	if (interfaces.changes.length === 0 && !models.some(isUsable)) throwFaults(known);
}

/** Where the base's config cannot be read, no engine counts as new. */
function isKnownToBase({ id, engine }: EngineSpec, { baseConfig, baseConfigFault }: GateInput): boolean {
	if (baseConfigFault !== undefined) return true;
	return engineSpecs(baseConfig ?? { models: [] }).some((base) => base.id === id || base.engine.onnx === engine.onnx);
}

/** Each error once, however many engines a model has. */
export function errorsOfBase(models: readonly PreparedModel[]): ErrorRecord[] {
	const errors = models.flatMap((model) =>
		model.state === "broken" && model.arm === "base" ? [[JSON.stringify(model.error), model.error] as const] : [],
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
