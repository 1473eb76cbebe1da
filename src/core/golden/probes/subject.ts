// What probes know about an engine: inputs and outputs by axis, profiles, batch, and how inputs are generated.

import type { DType } from "../../../../generated/golden.ts";
import type { DimRange, InputConfig, ProbesConfig } from "../../config/config.ts";
import { toDType } from "../../onnx/element-type.ts";
import { valuesOfInputs } from "../../onnx/input-values.ts";
import { feeds, type OnnxDim, type OnnxModel } from "../../onnx/model.ts";
import type { EngineSpec } from "../../plan/plan.ts";
import { type DefaultGenerator, defaultGenerators, type InputToFill } from "../record/generators/defaults.ts";
import { canEncode } from "../record/generators/encode.ts";
import type { GeneratorSpec } from "../record/generators/spec.ts";

export interface ProbeInput {
	name: string;
	dtype: DType;
	/** Sizes, names of dimensions, or null where unknown. */
	axes: readonly OnnxDim[];
	generator: readonly GeneratorSpec[];
}

interface ProbeOutput {
	name: string;
	/** As the file declares them; null where it does not. */
	axes: readonly OnnxDim[] | null;
}

type Profile = Readonly<Record<string, DimRange>>;

export interface ProbeSubject {
	inputs: readonly ProbeInput[];
	outputs: readonly ProbeOutput[];
	/** At least one. */
	profiles: readonly Profile[];
	/** Inputs that the config names, for padding. */
	mask?: string;
	length?: string;
}

/** A string is the reason why no inputs can be made. */
export function probeSubject(model: OnnxModel, { engine, model: config }: EngineSpec): ProbeSubject | string {
	const found = feeds(model.graph).map((feed) => ({
		feed,
		given: Object.hasOwn(config.inputs, feed.name) ? config.inputs[feed.name] : undefined,
	}));
	const sized: InputToFill[] = [];
	for (const { feed, given } of found) {
		const dtype = feed.kind === "tensor" ? toDType(feed.dtype) : null;
		const axes = given?.pinned ?? given?.shape ?? feed.dims;
		if (dtype === null || axes === null || !canEncode(dtype)) return noValues(feed.name);
		const shape = axes.map((axis) =>
			typeof axis === "number" ? axis : (sizeOf(axis, engine.profiles[0] ?? {}) ?? 1),
		);
		sized.push({ name: feed.name, dtype, axes, shape });
	}
	const names = sized.map(({ name }) => name);
	const defaults = defaultGenerators(sized, valuesOfInputs(model, names));
	const inputs: ProbeInput[] = [];
	for (const [index, { name, dtype, axes }] of sized.entries()) {
		const generator = specsOf(found[index]?.given?.fill, defaults.get(name));
		if (generator === null) return noValues(name);
		inputs.push({ name, dtype, axes: axes ?? [], generator });
	}
	const { mask, length } = config.probes;
	return {
		inputs,
		outputs: model.graph.outputs.map(({ name, dims }) => ({ name, axes: dims })),
		profiles: engine.profiles,
		mask,
		length,
	};
}

function noValues(input: string): string {
	return `No values can be generated for input ${JSON.stringify(input)}.`;
}

function sizeOf(axis: string | null, profile: Profile): number | undefined {
	return axis === null || !Object.hasOwn(profile, axis) ? undefined : profile[axis]?.opt;
}

/** The generators of `golden record` fit the input better than `normal`. */
function specsOf(
	fill: InputConfig["fill"] | undefined,
	generator: DefaultGenerator | null | undefined,
): readonly GeneratorSpec[] | null {
	if (typeof fill === "number") return [{ kind: "const", range: [fill, fill] }];
	return fill === undefined || fill === "normal" ? (generator?.specs ?? null) : [{ kind: fill }];
}

/** Sizes by dimension; the shape of an input, or null where a size is missing. */
export function shapeOf(axes: readonly OnnxDim[], sizes: ReadonlyMap<string, number>): number[] | null {
	const shape = axes.map((axis) =>
		typeof axis === "number" ? axis : axis === null ? undefined : sizes.get(axis),
	);
	return shape.every((size) => size !== undefined) ? shape : null;
}

/** An engine needs at least one row, even where the profile's minimum is 0. */
export function sizesAt(profile: Profile, end: keyof DimRange): Map<string, number> {
	return new Map(Object.entries(profile).map(([name, range]) => [name, Math.max(1, range[end])]));
}

export interface Batch {
	/** Name of the dimension; null where the size is fixed. */
	dim: string | null;
	/** Of the profile that is probed. */
	range: DimRange;
	/** Axis by input; inputs that are not here serve all rows. */
	axes: ReadonlyMap<string, number>;
}

const batchLabels = /batch|^(n|b|bs)$/i;
/** Dimensions that stand first in some layouts and hold no independent rows. */
const otherLabels = /seq|len|time|frame|token|step|point|node|edge|width|height|channel|head/i;

/**
 * A dimension that is called so, or one that is the first axis of every input that has axes and is not called otherwise; else a
 * fixed first size above 1 of inputs that all are pictures or volumes (rank 4 or 5). A sentence where there is none.
 */
export function findBatch(subject: ProbeSubject, profile: ProbeSubject["profiles"][number]): Batch | string {
	const named = namedBatch(subject);
	if (named !== null) {
		const axes = subject.inputs.flatMap(({ name, axes: of }) =>
			of.includes(named) ? [[name, of.indexOf(named)] as const] : [],
		);
		const range = Object.hasOwn(profile, named) ? profile[named] : undefined;
		if (range === undefined)
			return `The config gives no size for the batch dimension ${JSON.stringify(named)}.`;
		const { min, opt, max } = range;
		return {
			dim: named,
			range: { min: Math.max(1, min), opt: Math.max(1, opt), max: Math.max(1, max) },
			axes: new Map(axes),
		};
	}
	const fixed = fixedBatch(subject);
	if (fixed === null) return "None of its inputs has an axis of rows.";
	return {
		dim: null,
		range: { min: fixed, opt: fixed, max: fixed },
		axes: new Map(subject.inputs.map(({ name }) => [name, 0])),
	};
}

function namedBatch({ inputs }: ProbeSubject): string | null {
	const names = [...new Set(inputs.flatMap(({ axes }) => axes.filter((axis) => typeof axis === "string")))];
	const called = names.find((name) => batchLabels.test(name));
	if (called !== undefined) return called;
	const ranked = inputs.filter(({ axes }) => axes.length > 0);
	const [first] = ranked[0]?.axes ?? [];
	const everywhere = typeof first === "string" && ranked.every(({ axes }) => axes[0] === first);
	return everywhere && !otherLabels.test(first) ? first : null;
}

function fixedBatch({ inputs }: ProbeSubject): number | null {
	const [first] = inputs[0]?.axes ?? [];
	if (typeof first !== "number" || first < 2) return null;
	return inputs.every(({ axes }) => axes[0] === first && (axes.length === 4 || axes.length === 5))
		? first
		: null;
}

export function probesEnabled({ when }: Pick<ProbesConfig, "when">, run: { isScheduled: boolean }): boolean {
	return when === "on" || (when === "nightly" && run.isScheduled);
}
