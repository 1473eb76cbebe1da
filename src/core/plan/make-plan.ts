// Plans what is prepared, built, verified and measured, in which order.

import type { Arm } from "../../../generated/result.ts";
import { probesEnabled } from "../../golden/core/probes/subject.ts";
import { firstArms } from "../compare/schedule.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import { type EngineSpec, engineSpecs, type Plan, type Step, type Workload } from "./plan.ts";

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
	const workloads = engines.flatMap(({ id, engine }) =>
		engine.workloads.map((workload) => ({ id: `${id}/${workload.name}`, engineId: id, config: workload })),
	);
	const cases = engines.flatMap(({ id }) =>
		(input.cases.get(id) ?? []).map((caseId) => ({ engineId: id, caseId })),
	);
	const probes = engines.flatMap((spec) => probeSteps(spec, input));
	if (workloads.length === 0 && cases.length === 0 && probes.length === 0) throw nothingToCheck(config);
	const measured = workloads.map((workload) => measureStep(workload, input));
	return { arms, engines, workloads, cases, steps: [...stepsOf(engines, input), ...probes, ...measured] };
}

/** Cheap steps that often fail come first. */
function stepsOf(engines: readonly EngineSpec[], { config, arms, cases }: PlanInput): Step[] {
	const prepared = config.models.flatMap(({ name, prepare }) =>
		prepare === undefined ? [] : [{ model: name, ...prepare }],
	);
	const withCases = engines.flatMap(({ id }) => {
		const own = cases.get(id) ?? [];
		return own.length === 0 ? [] : [{ engineId: id, cases: own }];
	});
	const each = (kind: "preflight" | "build"): Step[] =>
		arms.flatMap((arm) => engines.map(({ id }) => ({ kind, arm, engineId: id })));
	return [
		...arms.flatMap((arm) => prepared.map((model): Step => ({ kind: "prepare", arm, ...model }))),
		...each("preflight"),
		...each("build"),
		...withCases.flatMap((spec) => arms.map((arm): Step => ({ kind: "verify", arm, ...spec }))),
	];
}

/** The base is probed only if the head disagrees with itself. */
function probeSteps({ id, model }: EngineSpec, { isScheduled = false }: PlanInput): Step[] {
	return probesEnabled(model.probes, { isScheduled })
		? [{ kind: "probe", arm: "head", engineId: id, only: model.probes.only }]
		: [];
}

function measureStep({ id, engineId }: Workload, { arms: [only, other], config, seed }: PlanInput): Step {
	const isAlone = only !== undefined && other === undefined;
	const pairs = isAlone ? runsWithoutBase : (config.measure.looks.at(-1) ?? 0);
	const order = isAlone ? Array.from({ length: pairs }, () => only) : firstArms(`${seed}:${id}`, pairs);
	return { kind: "measure", engineId, workloadId: id, pairs, firstArms: order };
}

function nothingToCheck(config: Config): ConfigError {
	return new ConfigError({
		code: "nothing-to-check",
		message: `${config.path} requests nothing: no engine has a workload or a golden case.`,
		location: { path: config.path },
		fix: "Remove `workloads: []`, record a golden and name it under golden, or set `probes: on`.",
	});
}
