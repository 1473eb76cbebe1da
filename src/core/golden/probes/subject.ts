// What probes have to know of an engine: its inputs and outputs by axis, its profiles, and how inputs are made up.
import type { DimRange, InputConfig } from "../../config/config.ts";
import { toDType } from "../../onnx/dtype.ts";
import { feeds, type OnnxDim, type OnnxModel } from "../../onnx/model.ts";
import type { EngineSpec } from "../../plan/plan.ts";
import type { DType } from "../../schema/golden.ts";
import { canEncode } from "../record/generators/encode.ts";
import { defaultGenerator } from "../record/generators/generate.ts";
import type { GeneratorSpec } from "../record/generators/spec.ts";
import { vocabularyOf } from "../record/generators/vocabulary.ts";

export interface ProbeInput {
	name: string;
	dtype: DType;
	/** Sizes, names of dimensions, or null where nobody says. */
	axes: readonly OnnxDim[];
	generator: readonly GeneratorSpec[];
}

export interface ProbeOutput {
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

/** A sentence where no inputs can be made. */
export function probeSubject(model: OnnxModel, { engine, model: config }: EngineSpec): ProbeSubject | string {
	const inputs: ProbeInput[] = [];
	for (const feed of feeds(model.graph)) {
		const given = Object.hasOwn(config.inputs, feed.name) ? config.inputs[feed.name] : undefined;
		const dtype = feed.kind === "tensor" ? toDType(feed.dtype) : null;
		const axes = given?.shape ?? feed.dims;
		if (dtype === null || axes === null || !canEncode(dtype)) return `No values can be made up for input ${JSON.stringify(feed.name)}.`;
		const shape = axes.map((axis) => (typeof axis === "number" ? axis : (sizeOf(axis, engine.profiles[0] ?? {}) ?? 1)));
		const generator = generatorOf(given?.fill, { name: feed.name, dtype, shape }, vocabularyOf(model, feed.name));
		inputs.push({ name: feed.name, dtype, axes, generator });
	}
	const { mask, length } = config.probes;
	return {
		inputs,
		outputs: model.graph.outputs.map(({ name, dims }) => ({ name, axes: dims })),
		profiles: engine.profiles,
		...(mask === undefined ? {} : { mask }),
		...(length === undefined ? {} : { length }),
	};
}

function sizeOf(axis: string | null, profile: Profile): number | undefined {
	return axis === null || !Object.hasOwn(profile, axis) ? undefined : profile[axis]?.opt;
}

/** `normal` is the default that nobody chose: what the recorder of goldens would make suits better. */
function generatorOf(
	fill: InputConfig["fill"] | undefined,
	input: { name: string; dtype: DType; shape: readonly number[] },
	vocabulary: number | undefined,
): GeneratorSpec[] {
	return fill === undefined || fill === "normal" ? defaultGenerator(input, vocabulary) : [{ kind: fill }];
}

/** Sizes by dimension; the shape of an input, or null where a size is missing. */
export function shapeOf(axes: readonly OnnxDim[], sizes: ReadonlyMap<string, number>): number[] | null {
	const shape = axes.map((axis) => (typeof axis === "number" ? axis : axis === null ? undefined : sizes.get(axis)));
	return shape.every((size) => size !== undefined) ? shape : null;
}

/** No engine runs on nothing, whatever a profile says. */
export function sizesAt(profile: Profile, end: keyof DimRange): Map<string, number> {
	return new Map(Object.entries(profile).map(([name, range]) => [name, Math.max(1, range[end])]));
}
