// Plans what is prepared, built, verified and measured, in which order.

import type { Arm } from "../../../generated/result.ts";
import { firstArms } from "../compare/schedule.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import { probesEnabled } from "../golden/probes/subject.ts";
import {
	type EngineSpec,
	engineSpecs,
	type Plan,
	type PlannedCase,
	type Step,
	type Workload,
} from "./plan.ts";

/** Runs of a workload without a base, to show its noise. */
export const runsWithoutBase = 3;

export interface PlanInput {
	config: Config;
	arms: readonly Arm[];
	cases: ReadonlyMap<string, readonly string[]>;
	seed: string;
	isScheduled?: boolean;
}

export function makePlan(input: PlanInput): Plan {
	const { config, arms } = input;
	const engines = engineSpecs(config);
	const workloads = engines.flatMap(workloadsOf);
	const cases = engines.flatMap((spec) => casesOf(spec, input));
	const probes = engines.flatMap((spec) => probeSteps(spec, input));
	if (workloads.length === 0 && cases.length === 0 && probes.length === 0) throw nothingToCheck(config);
	const steps = [
		...stepsOf(engines, input),
		...probes,
		...workloads.map((workload) => measureStep(workload, input)),
	];
	return { arms, engines, workloads, cases, steps };
}

function workloadsOf(spec: EngineSpec): Workload[] {
	return spec.engine.workloads.map((config) => ({
		id: `${spec.id}/${config.name}`,
		engineId: spec.id,
		config,
	}));
}

function casesOf(spec: EngineSpec, { cases }: PlanInput): PlannedCase[] {
	return (cases.get(spec.id) ?? []).map((caseId) => ({ engineId: spec.id, caseId }));
}

/** Cheap steps that are likely to fail come first. */
function stepsOf(engines: readonly EngineSpec[], { config, arms, cases }: PlanInput): Step[] {
	const prepared = config.models.flatMap(({ name, prepare }) =>
		prepare === undefined ? [] : [{ model: name, ...prepare }],
	);
	const withCases = engines
		.map(({ id }) => ({ engineId: id, cases: cases.get(id) ?? [] }))
		.filter((spec) => spec.cases.length > 0);
	return [
		...arms.flatMap((arm) => prepared.map((model): Step => ({ kind: "prepare", arm, ...model }))),
		...arms.flatMap((arm) => engines.map(({ id }): Step => ({ kind: "preflight", arm, engineId: id }))),
		...arms.flatMap((arm) => engines.map(({ id }): Step => ({ kind: "build", arm, engineId: id }))),
		...withCases.flatMap((spec) => arms.map((arm): Step => ({ kind: "verify", arm, ...spec }))),
	];
}

/** The base is probed only if the head disagrees with itself. */
function probeSteps({ id, model }: EngineSpec, { isScheduled = false }: PlanInput): Step[] {
	return probesEnabled(model.probes, { isScheduled })
		? [{ kind: "probe", arm: "head", engineId: id, only: model.probes.only }]
		: [];
}

function measureStep(workload: Workload, input: PlanInput): Step {
	const pairs = lastLook(input);
	const [only] = input.arms;
	const order =
		hasBase(input) || only === undefined
			? firstArms(`${input.seed}:${workload.id}`, pairs)
			: Array.from({ length: pairs }, () => only);
	return { kind: "measure", engineId: workload.engineId, workloadId: workload.id, pairs, firstArms: order };
}

function hasBase({ arms }: PlanInput): boolean {
	return arms.length > 1;
}

function lastLook(input: PlanInput): number {
	return hasBase(input) ? (input.config.measure.looks.at(-1) ?? 0) : runsWithoutBase;
}

function nothingToCheck(config: Config): ConfigError {
	return new ConfigError({
		code: "nothing-to-check",
		message: `${config.path} requests nothing: no engine has a workload or a golden case.`,
		location: { path: config.path },
		fix: "Remove `workloads: []`, record a golden and name it under golden, or set `probes: on`.",
	});
}
