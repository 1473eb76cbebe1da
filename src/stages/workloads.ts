// The workloads to time: the concrete shapes of their inputs, and the engines of base and head.
import type { Config } from "../core/config/config.ts";
import { ConfigError } from "../core/errors.ts";
import { toDType } from "../core/onnx/element-type.ts";
import { type ShapeCheck, shapeCheck } from "../core/onnx/input-shapes/bind.ts";
import { refuseImpossible, resolveShapes } from "../core/onnx/input-shapes/resolve.ts";
import { feeds, type OnnxValue } from "../core/onnx/model.ts";
import type { Plan, Workload } from "../core/plan/plan.ts";
import type { Arm } from "../core/schema/result.ts";
import { type ShapesToInputs, timedInputsOf } from "../core/timed-inputs.ts";
import type { BuiltEngine, TimedInput } from "../ports/backend.ts";
import type { PreparedModel } from "./prepared.ts";

type ReadyModel = Extract<PreparedModel, { state: "ready" }>;

export interface WorkloadShapes {
	inputs: readonly TimedInput[];
	/** Why the base cannot take the head's inputs, where it cannot. */
	baseDiffers?: string;
}

export interface ShapedWorkloads {
	/** By workload. */
	shapes: ReadonlyMap<string, WorkloadShapes>;
	/** The models as they were, those of the head `broken` whose dimensions the config does not give. */
	models: readonly PreparedModel[];
}

export function shapeWorkloads(plan: Plan, models: readonly PreparedModel[]): ShapedWorkloads {
	const ready = models.filter((prepared) => prepared.state === "ready");
	const shapes = new Map<string, WorkloadShapes>();
	const faults = new Map<string, ConfigError>();
	const known = new Map<string, Known>();
	for (const workload of plan.workloads) {
		const [head, base] = (["head", "base"] as const).map((arm) =>
			ready.find((model) => model.arm === arm && model.spec.id === workload.engineId),
		);
		try {
			const inputs = head ? timedInputs(workload, head, known) : [];
			const difference = base ? differenceOf(base, inputs) : null;
			shapes.set(workload.id, { inputs, ...(difference === null ? {} : { baseDiffers: difference }) });
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
			faults.set(workload.engineId, error);
		}
	}
	return { shapes, models: models.map((prepared) => withFault(prepared, faults.get(prepared.spec.id))) };
}

function withFault(prepared: PreparedModel, fault: ConfigError | undefined): PreparedModel {
	if (fault === undefined || prepared.arm === "base") return prepared;
	return { state: "broken", spec: prepared.spec, arm: "head", fault };
}

/** What is known of a model whatever its sizes. */
interface Known {
	check: ShapeCheck;
	inputsAt: ShapesToInputs;
}

function timedInputs(workload: Workload, head: ReadyModel, known: Map<string, Known>): TimedInput[] {
	const { inputs, name } = head.spec.model;
	const { onnx, sha256 } = head.model;
	const source = { dims: workload.config.dims, inputs, pointer: workload.config.pointer };
	const shapes = resolveShapes(onnx, source);
	const key = JSON.stringify([name, sha256]);
	const { check, inputsAt } = known.get(key) ?? { check: shapeCheck(onnx), inputsAt: timedInputsOf(onnx, inputs) };
	known.set(key, { check, inputsAt });
	refuseImpossible(onnx, { check, shapes }, source);
	return inputsAt(shapes);
}

function differenceOf(base: ReadyModel, inputs: readonly TimedInput[]): string | null {
	const theirs = new Map(feeds(base.model.onnx.graph).map((feed) => [feed.name, feed]));
	for (const input of inputs) {
		const feed = theirs.get(input.name);
		if (feed === undefined) return `the base has no input ${input.name}`;
		if (toDType(feed.dtype) !== input.dtype) return `input ${input.name} is ${feed.dtype} in the base`;
		if (!accepts(feed, input.shape)) return `input ${input.name} has another shape in the base`;
		theirs.delete(input.name);
	}
	const [extra] = theirs.keys();
	return extra === undefined ? null : `the base has one more input, ${extra}`;
}

function accepts(feed: OnnxValue, shape: readonly number[]): boolean {
	if (feed.dims === null) return true;
	return feed.dims.length === shape.length && feed.dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis]);
}

/** A workload with the engines that it times; base is absent where there is nothing to compare with. */
export interface TimedWorkload {
	workload: Workload;
	head: BuiltEngine;
	base?: BuiltEngine;
	inputs: readonly TimedInput[];
	/** By the plan: which side runs first in each pair. */
	firstArms: readonly Arm[];
}

/** The workloads whose head was built; the build gate reports the others. */
export function timedWorkloads(plan: Plan, engines: readonly BuiltEngine[], shapes: ReadonlyMap<string, WorkloadShapes>): TimedWorkload[] {
	return plan.workloads.flatMap((workload) => {
		const [head, base] = (["head", "base"] as const).map((arm) =>
			engines.find((engine) => engine.arm === arm && engine.spec.id === workload.engineId),
		);
		const shaped = shapes.get(workload.id);
		if (!head || !shaped) return [];
		const step = plan.steps.find((candidate) => candidate.kind === "measure" && candidate.workloadId === workload.id);
		if (step?.kind !== "measure") return [];
		const comparable = base && shaped.baseDiffers === undefined ? { base } : {};
		return [{ workload, head, ...comparable, inputs: shaped.inputs, firstArms: step.firstArms }];
	});
}

/** Two engines with the same bytes are not timed, and take no share of the error budget. */
export function isIdentical(
	{ head, base }: { head: BuiltEngine; base?: BuiltEngine },
	settings: Pick<Config["measure"], "identicalEngines">,
): boolean {
	const hash = head.record.engineSha256;
	const isSamePlan = hash !== undefined && hash === base?.record.engineSha256;
	return settings.identicalEngines === "skip" && isSamePlan && pluginsOf(head) === pluginsOf(base);
}

/** An engine file only names its plugins; their code is in their libraries. */
function pluginsOf(engine: BuiltEngine | undefined): string {
	return (engine?.assets?.plugins ?? []).map(({ sha256 }) => sha256).join();
}
