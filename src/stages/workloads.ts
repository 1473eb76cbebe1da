// Prepares the workloads to time: the shapes of their inputs, and their engines.
import type { Arm, InterfaceChange } from "../../generated/result.ts";
import type { SizeRange } from "../core/compare/sweep.ts";
import type { Config, SweepConfig } from "../core/config/config.ts";
import { placeOfInherited } from "../core/config/source.ts";
import { ConfigError, faultOf } from "../core/errors.ts";
import { refuseImpossible, type ShapeCheck, shapeCheck } from "../core/onnx/input-shapes/bind.ts";
import { resolveShapes } from "../core/onnx/input-shapes/search.ts";
import { feeds, type OnnxValue } from "../core/onnx/model.ts";
import type { EngineSpec, Plan, Workload } from "../core/plan/plan.ts";
import { formatDims } from "../core/text/escape.ts";
import { type ShapesToInputs, timedInputsOf } from "../core/timed-inputs.ts";
import type { BuiltEngine, TimedInput } from "../ports/backend.ts";
import { type PreparedModel, type ReadyModel, sidesOf } from "./prepared.ts";

export interface WorkloadShapes {
	inputs: readonly TimedInput[];
	baseDiffers?: string;
	baseHoldsOtherSizes?: boolean;
	headDiffers?: string;
	sweep?: Sweep;
}

export interface Sweep extends SizeRange {
	dim: string;
	inputsAt(size: number): readonly TimedInput[];
}

/** Each workload has the sizes of the side that lists it; the other's engine may not take them. */
export function shapeWorkloads(
	plan: Plan,
	models: readonly PreparedModel[],
	config: Pick<Config, "sources">,
): {
	shapes: ReadonlyMap<string, WorkloadShapes>;
	lost: readonly InterfaceChange[];
	/** Heads without sizes for their dimensions become `broken`. */
	models: readonly PreparedModel[];
} {
	const ready = models.filter((prepared) => prepared.state === "ready");
	const shapes = new Map<string, WorkloadShapes>();
	const faults = new Map<string, ConfigError>();
	const lost: InterfaceChange[] = [];
	const known = new Map<string, Known>();
	for (const workload of plan.workloads) {
		const { head, base } = sidesOf(ready, ({ spec }) => spec.id === workload.engineId);
		if (!head) continue;
		try {
			const shaped = shapeWorkload(workload, { head, base }, known);
			shapes.set(workload.id, shaped);
			if (shaped.headDiffers === undefined) continue;
			const { model, engine } = head.spec;
			const was = { name: workload.config.name, dtype: "workload", shape: shaped.headDiffers };
			const row = { side: "workload", base: was, head: null } as const;
			lost.push({ model: model.name, engine: engine.name, rows: [row] });
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
			faults.set(workload.engineId, located(error, workload, head.spec, config));
		}
	}
	const withFault = (prepared: PreparedModel): PreparedModel => {
		const fault = faults.get(prepared.spec.id);
		if (fault === undefined || prepared.arm === "base") return prepared;
		return { state: "broken", spec: prepared.spec, arm: "head", fault };
	};
	return { shapes, lost, models: models.map(withFault) };
}

interface ReadySides {
	head: ReadyModel;
	base: ReadyModel | undefined;
}

function shapeWorkload(workload: Workload, sides: ReadySides, known: Map<string, Known>) {
	const { sweep } = workload.config;
	if (sweep === undefined) return shapesAtSizes(workload, sides, known);
	const { dim, from, to } = sweep;
	const at = (size: number) => {
		const config = { ...workload.config, dims: { ...workload.config.dims, [dim]: size } };
		return { ...workload, config };
	};
	const source = workload.config.ofBase === true ? (sides.base ?? sides.head) : sides.head;
	const inputsAt = (size: number) => timedInputs(at(size), source, known);
	const [least, most] = [from, to].map((size) => shapesAtSizes(at(size), sides, known));
	const step = stepOf(inputsAt, sweep);
	return { ...least, ...most, inputs: inputsAt(to), sweep: { dim, from, to, step, inputsAt } };
}

/** The least power of two by which the model lets a size grow; a net that halves a picture needs even sizes. */
function stepOf(inputsAt: Sweep["inputsAt"], { from, to }: SweepConfig) {
	for (let step = 1; step < to - from; step *= 2) {
		try {
			inputsAt(from + step);
			return step;
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
		}
	}
	return to - from;
}

function shapesAtSizes(workload: Workload, { head, base }: ReadySides, known: Map<string, Known>) {
	const { pointer } = workload.config;
	if (workload.config.ofBase === true && base !== undefined) {
		const inputs = timedInputs(workload, base, known);
		const headDiffers = differenceOf(head, base, inputs) ?? outsideProfiles(head, { inputs, pointer });
		return headDiffers === null ? { inputs } : { inputs, headDiffers };
	}
	const inputs = timedInputs(workload, head, known);
	const baseDiffers = base === undefined ? null : differenceOf(base, head, inputs);
	if (baseDiffers !== null) return { inputs, baseDiffers };
	const outside = base === undefined ? null : outsideProfiles(base, { inputs, pointer });
	return outside === null ? { inputs } : { inputs, baseDiffers: outside, baseHoldsOtherSizes: true };
}

function located(
	fault: ConfigError,
	{ config: { pointer } }: Workload,
	{ engine, model }: EngineSpec,
	config: Pick<Config, "sources">,
) {
	const key = (fault.pointer ?? pointer).slice(pointer.length);
	const place = placeOfInherited(config, { holders: [engine.pointer, model.pointer, pointer], key });
	return new ConfigError({ ...faultOf(fault), ...place });
}

interface Known {
	check: ShapeCheck;
	inputsAt: ShapesToInputs;
}

function timedInputs(workload: Workload, head: ReadyModel, known: Map<string, Known>) {
	const { inputs, name } = head.spec.model;
	const { onnx, sha256 } = head.model;
	const source = { dims: workload.config.dims, inputs, pointer: workload.config.pointer };
	const shapes = resolveShapes(onnx, source);
	const key = JSON.stringify([name, sha256]);
	const { check, inputsAt } = known.get(key) ?? {
		check: shapeCheck(onnx),
		inputsAt: timedInputsOf(onnx, inputs),
	};
	known.set(key, { check, inputsAt });
	refuseImpossible(check, shapes, source);
	return inputsAt(shapes);
}

/** @param inputs of `source`, without the types that cannot be fed. */
function differenceOf({ arm, model }: ReadyModel, source: ReadyModel, inputs: readonly TimedInput[]) {
	const theirs = new Map(feeds(model.onnx.graph).map((feed) => [feed.name, feed]));
	const types = new Map(feeds(source.model.onnx.graph).map(({ name, dtype }) => [name, dtype]));
	for (const input of inputs) {
		const feed = theirs.get(input.name);
		if (feed === undefined) return `the ${arm} has no input ${input.name}`;
		if (feed.dtype !== types.get(input.name)) return `input ${input.name} is ${feed.dtype} in the ${arm}`;
		if (!accepts(feed, input.shape)) return `input ${input.name} has another shape in the ${arm}`;
		theirs.delete(input.name);
	}
	const [extra] = theirs.keys();
	return extra === undefined ? null : `the ${arm} has one more input, ${extra}`;
}

/** Sizes of dimensions that the config does not name are left to the builder. */
function outsideProfiles(
	{ arm, spec, model }: ReadyModel,
	{ inputs, pointer }: { inputs: readonly TimedInput[]; pointer: string },
) {
	const outside = spec.engine.profiles.map((profile) => {
		const shapesAt = (which: "min" | "max") =>
			resolveShapes(model.onnx, {
				dims: Object.fromEntries(Object.entries(profile).map(([name, range]) => [name, range[which]])),
				inputs: spec.model.inputs,
				pointer,
			});
		const [least, most] = [shapesAt("min"), shapesAt("max")];
		const fits = ({ name, shape }: TimedInput) =>
			shape.every(
				(size, axis) => size >= (least[name]?.[axis] ?? size) && size <= (most[name]?.[axis] ?? size),
			);
		const first = inputs.find((input) => !fits(input));
		return first === undefined
			? null
			: { first, least: least[first.name] ?? [], most: most[first.name] ?? [] };
	});
	const [nearest] = outside;
	if (nearest === undefined || nearest === null || outside.includes(null)) return null;
	const { first, least, most } = nearest;
	return `input ${first.name} ${formatDims(first.shape)} is outside what the ${arm}'s engine holds, ${formatDims(least)} to ${formatDims(most)}`;
}

function accepts(feed: OnnxValue, shape: readonly number[]) {
	if (feed.dims === null) return true;
	return (
		feed.dims.length === shape.length &&
		feed.dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis])
	);
}

export interface TimedWorkload {
	workload: Workload;
	head: BuiltEngine;
	base?: BuiltEngine;
	inputs: readonly TimedInput[];
	/** If the base takes others. */
	baseInputs?: readonly TimedInput[];
	sweep?: Sweep;
	firstArms: readonly Arm[];
}

export function timedWorkloads(
	plan: Plan,
	engines: readonly BuiltEngine[],
	shapes: ReadonlyMap<string, WorkloadShapes>,
): TimedWorkload[] {
	return plan.workloads.flatMap((workload) => {
		const { head, base } = sidesOf(engines, ({ spec }) => spec.id === workload.engineId);
		const shaped = shapes.get(workload.id);
		if (!head || !shaped || shaped.headDiffers !== undefined) return [];
		const step = plan.steps.find((one) => one.kind === "measure" && one.workloadId === workload.id);
		if (step?.kind !== "measure") return [];
		const { inputs, baseDiffers, sweep } = shaped;
		const comparable = baseDiffers === undefined ? base : undefined;
		return [{ workload, head, base: comparable, inputs, sweep, firstArms: step.firstArms }];
	});
}

/** These workloads are not timed, and take no share of the error. */
export function isIdentical(
	{ head, base }: { head: BuiltEngine; base?: BuiltEngine },
	settings: Pick<Config["measure"], "identicalEngines">,
): boolean {
	const hash = head.record.engineSha256;
	const versionOf = (engine: BuiltEngine | undefined) => engine?.record.recipe?.["tensorrt"];
	// A version-compatible plan may run on two versions.
	const isSamePlan =
		hash !== undefined && hash === base?.record.engineSha256 && versionOf(head) === versionOf(base);
	// An engine file only names its plugins.
	const pluginsOf = (engine: BuiltEngine | undefined) =>
		(engine?.assets?.plugins ?? []).map(({ sha256 }) => sha256).join();
	return settings.identicalEngines === "skip" && isSamePlan && pluginsOf(head) === pluginsOf(base);
}

export function subjectOf({ head, workload }: Pick<TimedWorkload, "head" | "workload">) {
	const { model, engine } = head.spec;
	return { model: model.name, engine: engine.name, workload: workload.config.name };
}

/** Identical bytes rule out any change, so no measurement is needed. */
export function identicalEngines({ head }: TimedWorkload, done: "timed" | "counted") {
	const same =
		head.record.sharedWithBase === true
			? "the same model and settings, and share one engine"
			: "the same engine, byte for byte";
	const reason = `Base and head have ${same}, so nothing was ${done}.`;
	const interval: [number, number] = [0, 0];
	return { verdict: "unchanged", reason, estimate: 0, interval, excluded: 0 } as const;
}

export function identityOf({ workload, head, inputs }: TimedWorkload) {
	return {
		id: workload.id,
		...subjectOf({ workload, head }),
		precision: head.spec.engine.precision,
		shapes: Object.fromEntries(inputs.map((tensor) => [tensor.name, [...tensor.shape]])),
		streams: workload.config.streams,
		everyMs: workload.config.everyMs,
	};
}
