// The engines and workloads of a run, and the engines of both sides that are compared.
import type { Arm } from "../../../generated/result.ts";
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
	/** Absolute. */
	path: string;
	sha256: string;
}

export interface EngineAssets {
	plugins: readonly (Asset & { dynamic: boolean })[];
	calibration?: Asset;
}

/** Engine × input shapes × streams: one row of the performance table. */
export interface Workload {
	id: string;
	engineId: string;
	config: WorkloadConfig;
	/** Which side runs first in each pair. */
	firstArms: readonly Arm[];
}

export interface Plan {
	arms: readonly Arm[];
	engines: readonly EngineSpec[];
	baseEngines?: readonly EngineSpec[];
	workloads: readonly Workload[];
	/** Golden cases by engine. */
	cases: Readonly<Record<string, readonly string[]>>;
	/** Engines that are checked against themselves. */
	probed: readonly string[];
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
			[...left]
				.filter((other) => isSameContent(other, spec))
				.map((other) => ({ spec, other, score: likeness(other, spec) })),
		);
	for (const { spec, other } of pairs.sort((one, two) => two.score - one.score)) {
		if (found.has(spec.id) || !left.has(other)) continue;
		found.set(spec.id, other.id);
		left.delete(other);
	}
	return found;
}

function likeness(base: EngineSpec, head: EngineSpec): number {
	const points = [
		[8, base.engine.name === head.engine.name],
		[4, base.engine.precision === head.engine.precision],
		[2, base.model.name === head.model.name],
		[1, base.engine.onnx === head.engine.onnx],
	] as const;
	return points.reduce((sum, [score, holds]) => sum + (holds ? score : 0), 0);
}

/** The base's engine under the head's id. */
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

/** Runs of a workload without a base, to show its noise. */
export const runsWithoutBase = 3;

export interface PlanInput {
	config: Config;
	arms: readonly Arm[];
	cases: ReadonlyMap<string, readonly string[]>;
	seed: string;
	isScheduled?: boolean;
}

export function makePlan({ config, arms, cases, seed, isScheduled = false }: PlanInput): Plan {
	const engines = engineSpecs(config);
	const [only, other] = arms;
	const isAlone = only !== undefined && other === undefined;
	const orderOf = (id: string): Arm[] =>
		isAlone
			? Array<Arm>(runsWithoutBase).fill(only)
			: firstArms(`${seed}:${id}`, config.measure.looks.at(-1) ?? 0);
	const workloads = engines.flatMap(({ id: engineId, engine }) =>
		engine.workloads.map((workload) => {
			const id = `${engineId}/${workload.name}`;
			return { id, engineId, config: workload, firstArms: orderOf(id) };
		}),
	);
	const probed = engines.flatMap(({ id, model }) =>
		probesEnabled(model.probes, { isScheduled }) ? [id] : [],
	);
	const hasCases = engines.some(({ id }) => (cases.get(id) ?? []).length > 0);
	if (workloads.length === 0 && !hasCases && probed.length === 0) throw nothingToCheck(config);
	return { arms, engines, workloads, cases: Object.fromEntries(cases), probed };
}

export function probesEnabled({ when }: Pick<ProbesConfig, "when">, run: { isScheduled: boolean }): boolean {
	return when === "on" || (when === "nightly" && run.isScheduled);
}

function nothingToCheck(config: Config): ConfigError {
	return new ConfigError({
		code: "nothing-to-check",
		message: `${config.path} requests nothing: no engine has a workload or a golden case.`,
		location: { path: config.path },
		fix: "Remove `workloads: []`, record a golden and name it under golden, or set `probes: on`.",
	});
}
