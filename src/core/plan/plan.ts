// The engines and steps of a run.
import type { TensorFile } from "../../../generated/golden.ts";
import type { Arm, ProbeName } from "../../../generated/result.ts";
import { firstArms } from "../compare/pairs.ts";
import type { Config, EngineConfig, ModelConfig, ProbesConfig, WorkloadConfig } from "../config/config.ts";
import type { Counterparts } from "../config/rules.ts";
import { ConfigError } from "../errors.ts";

export interface EngineSpec {
	id: string;
	was?: string;
	model: ModelConfig;
	engine: EngineConfig;
}

export interface Asset {
	path: string;
	sha256: string;
}

export interface CalibrationCase {
	id: string;
	inputs: Readonly<Record<string, TensorFile>>;
}

export interface EngineAssets {
	plan?: Asset;
	plugins: readonly (Asset & { dynamic: boolean })[];
	/** A cache; with `cases` the folder of the inputs to calibrate on, and the hash of these. */
	calibration?: Asset & { cases?: readonly CalibrationCase[] };
}

export interface Workload {
	id: string;
	engineId: string;
	config: WorkloadConfig;
}

export type Step =
	| { kind: "prepare"; arm: Arm; model: string; command: string; env: readonly string[] }
	| { kind: "preflight"; arm: Arm; engineId: string }
	| { kind: "build"; arm: Arm; engineId: string }
	| { kind: "verify"; arm: Arm; engineId: string; cases: readonly string[] }
	| { kind: "probe"; arm: Arm; engineId: string; only: readonly ProbeName[] }
	| { kind: "measure"; engineId: string; workloadId: string; pairs: number; firstArms: readonly Arm[] };

export interface Plan {
	arms: readonly Arm[];
	engines: readonly EngineSpec[];
	baseEngines?: readonly EngineSpec[];
	workloads: readonly Workload[];
	cases: readonly { engineId: string; caseId: string }[];
	steps: readonly Step[];
}

export function describeBuild({
	spec,
	arm,
	model,
}: {
	spec: EngineSpec;
	arm: Arm;
	model: { sha256: string; onnx: { bytes: number } };
}) {
	const { name, precision } = spec.engine;
	return {
		model: spec.model.name,
		engine: name,
		arm,
		precision,
		modelSha256: model.sha256,
		modelBytes: model.onnx.bytes,
	};
}

export function engineSpecs(config: Pick<Config, "models">): EngineSpec[] {
	return config.models.flatMap((model) =>
		model.engines.map((engine) => ({ id: `${model.name}/${engine.name}`, model, engine })),
	);
}

export function findCounterparts(
	base: readonly EngineSpec[],
	head: readonly EngineSpec[],
	isSameContent: (base: EngineSpec, head: EngineSpec) => boolean,
): Counterparts {
	const ids = new Set(base.map(({ id }) => id));
	const found = new Map(head.flatMap(({ id }) => (ids.has(id) ? [[id, id] as const] : [])));
	const left = new Set(base.filter(({ id }) => !found.has(id)));
	const pairs = head
		.filter(({ id }) => !found.has(id))
		.flatMap((spec) =>
			[...left].flatMap((other) => {
				// A copy of the old file must not take the base of the one that changed in its place.
				const same =
					(other.engine.onnx === spec.engine.onnx ? 32 : 0) + (isSameContent(other, spec) ? 16 : 0);
				return same > 0 ? [{ spec, other, score: same + likeness(other, spec) }] : [];
			}),
		);
	for (const { spec, other } of pairs.sort((one, two) => two.score - one.score)) {
		if (found.has(spec.id) || !left.has(other)) continue;
		found.set(spec.id, other.id);
		left.delete(other);
	}
	return found;
}

function likeness(base: EngineSpec, head: EngineSpec) {
	const points = [
		[8, base.engine.name === head.engine.name],
		[4, base.engine.precision === head.engine.precision],
		[2, base.model.name === head.model.name],
	] as const;
	return points.reduce((sum, [score, holds]) => sum + (holds ? score : 0), 0);
}

export function underNameOf(head: EngineSpec, base: EngineSpec): EngineSpec {
	if (base.id === head.id) return base;
	return {
		...base,
		id: head.id,
		was: base.id,
		model: { ...base.model, name: head.model.name },
		engine: { ...base.engine, name: head.engine.name },
	};
}

export const runsWithoutBase = 3;

export interface PlanInput {
	config: Config;
	arms: readonly Arm[];
	cases: ReadonlyMap<string, readonly string[]>;
	seed: string;
	isScheduled?: boolean;
	isTensorRt?: boolean;
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
function stepsOf(engines: readonly EngineSpec[], { config, arms, cases }: PlanInput) {
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

/** The base is probed only if the head disagrees with itself; an engine that the base shares may be left out. */
function probeSteps(
	{ id, model }: EngineSpec,
	{ isScheduled = false, isTensorRt = false }: PlanInput,
): Step[] {
	return probesEnabled(model.probes, { isScheduled, isTensorRt, isNew: true })
		? [{ kind: "probe", arm: "head", engineId: id, only: model.probes.only }]
		: [];
}

function measureStep({ id, engineId }: Workload, { arms: [only, other], config, seed }: PlanInput): Step {
	const isAlone = only !== undefined && other === undefined;
	const pairs = isAlone ? runsWithoutBase : (config.measure.looks.at(-1) ?? 0);
	const order = isAlone ? Array.from({ length: pairs }, () => only) : firstArms(`${seed}:${id}`, pairs);
	return { kind: "measure", engineId, workloadId: id, pairs, firstArms: order };
}

/** `isNew`: built just now, or of another recipe than the base's. Nothing is built on ONNX Runtime, so it probes at night. */
export function probesEnabled(
	{ when }: Pick<ProbesConfig, "when">,
	run: { isScheduled: boolean; isTensorRt: boolean; isNew: boolean },
): boolean {
	if (when === "new") return run.isScheduled || (run.isTensorRt && run.isNew);
	return when === "on" || (when === "nightly" && run.isScheduled);
}

function nothingToCheck(config: Config) {
	return new ConfigError({
		code: "nothing-to-check",
		message: `${config.path} requests nothing: no engine has a workload or a golden case.`,
		location: { path: config.path },
		fix: "Remove `workloads: []`, record a golden and name it under golden, or set `probes: on`.",
	});
}
