// The engines and steps of a run.

import type { Arm, ProbeName } from "../../../generated/result.ts";
import type { Config, DimRange, EngineConfig, ModelConfig, WorkloadConfig } from "../config/config.ts";

export interface EngineSpec {
	id: string;
	was?: string;
	model: ModelConfig;
	engine: EngineConfig;
	dims: Readonly<Record<string, DimRange>>;
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
}

export interface PlannedCase {
	engineId: string;
	caseId: string;
}

export type Step =
	| { kind: "prepare"; arm: Arm; model: string; command: string; env: readonly string[] }
	| { kind: "preflight"; arm: Arm; engineId: string }
	| { kind: "build"; arm: Arm; engineId: string }
	| { kind: "verify"; arm: Arm; engineId: string; cases: readonly string[] }
	/** Empty `only`: all probes that apply. */
	| { kind: "probe"; arm: Arm; engineId: string; only: readonly ProbeName[] }
	/** `pairs` at the last look; without a base, single runs of the head. */
	| { kind: "measure"; engineId: string; workloadId: string; pairs: number; firstArms: readonly Arm[] };

export interface Plan {
	arms: readonly Arm[];
	engines: readonly EngineSpec[];
	baseEngines?: readonly EngineSpec[];
	workloads: readonly Workload[];
	cases: readonly PlannedCase[];
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
		model.engines.map((engine) => ({ id: `${model.name}/${engine.name}`, model, engine, dims: engine.dims })),
	);
}
