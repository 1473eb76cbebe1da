// Describes an engine to its probes: inputs and outputs by axis, profiles, batch, and how inputs are generated.
import type { DType } from "../../../../generated/golden.ts";
import type { DimRange, InputConfig } from "../../../core/config/config.ts";
import { strippingFlags } from "../../../core/config/tensorrt-settings.ts";
import { valuesOfInputs } from "../../../core/onnx/input-values.ts";
import { feeds, type OnnxDim, type OnnxModel, toDType } from "../../../core/onnx/model.ts";
import type { EngineSpec } from "../../../core/plan/plan.ts";
import { defaultGenerators, type InputToFill } from "../record/generators/defaults.ts";
import { canEncode } from "../record/generators/encode.ts";
import type { GeneratorSpec } from "../record/generators/generate.ts";
import { own } from "../tensor/tensor.ts";

export interface ProbeInput {
	name: string;
	dtype: DType;
	axes: readonly OnnxDim[];
	generator: readonly GeneratorSpec[];
}

export type Profile = Readonly<Record<string, DimRange>>;

export interface ProbeSubject {
	inputs: readonly ProbeInput[];
	outputs: readonly { name: string; axes: readonly OnnxDim[] | null }[];
	profiles: readonly Profile[];
	mask?: string;
	length?: string;
	/** Inferences at once: as where it is timed, 2 at least. 1: the backend runs them one by one. */
	streams: number;
	isRefittable: boolean;
}

export function probeSubject(
	model: OnnxModel,
	{ engine, model: config }: EngineSpec,
	isTensorRt: boolean,
): ProbeSubject | string {
	const noValues = (name: string) => `No values can be generated for input ${JSON.stringify(name)}.`;
	const first = engine.profiles[0] ?? {};
	const sized: (InputToFill & { axes: readonly OnnxDim[] })[] = [];
	for (const feed of feeds(model.graph)) {
		const given = own(config.inputs, feed.name);
		const dtype = feed.kind === "tensor" ? toDType(feed.dtype) : null;
		const axes = given?.pinned ?? given?.shape ?? feed.dims;
		if (dtype === null || axes === null || !canEncode(dtype)) return noValues(feed.name);
		const shape = axes.map((axis) => (typeof axis === "number" ? axis : (own(first, axis ?? "")?.opt ?? 1)));
		sized.push({ name: feed.name, dtype, axes, shape });
	}
	const names = sized.map(({ name }) => name);
	const defaults = defaultGenerators(sized, valuesOfInputs(model, names));
	const inputs: ProbeInput[] = [];
	for (const { name, dtype, axes } of sized) {
		const generator = generatorsOf(own(config.inputs, name)?.fill) ?? defaults.get(name)?.specs;
		if (generator === undefined) return noValues(name);
		inputs.push({ name, dtype, axes, generator });
	}
	const outputs = model.graph.outputs.map(({ name, dims }) => ({ name, axes: dims }));
	const { mask, length } = config.probes;
	const timed = Math.max(2, ...engine.workloads.map((workload) => workload.streams));
	const streams = isTensorRt ? Math.min(maxStreams, timed) : 1;
	const isRefittable = isTensorRt && engine.tensorrt.flags.some((flag) => refitFlags.has(flag));
	return { inputs, outputs, profiles: engine.profiles, mask, length, streams, isRefittable };
}

const maxStreams = 8;
const refitFlags: ReadonlySet<string> = new Set(["--refit", ...strippingFlags]);

/** The generators of `golden record` fit an input better than `normal`. */
function generatorsOf(fill: InputConfig["fill"] | undefined): readonly GeneratorSpec[] | undefined {
	if (typeof fill === "number") return [{ kind: "const", range: [fill, fill] }];
	return fill === undefined || fill === "normal" ? undefined : [{ kind: fill }];
}

export function shapeOf(axes: readonly OnnxDim[], sizes: ReadonlyMap<string, number>): number[] | null {
	const shape = axes.map((axis) => (typeof axis === "number" ? axis : sizes.get(axis ?? "")));
	return shape.every((size) => size !== undefined) ? shape : null;
}

/** The three sizes of a range that TensorRT is told, and one between each two of them. */
export type SizePoint = keyof DimRange | "low" | "high";

/** An engine needs at least one row, even if the profile's minimum is 0. */
function withRows({ min, opt, max }: DimRange): DimRange {
	return { min: Math.max(1, min), opt: Math.max(1, opt), max: Math.max(1, max) };
}

/** Networks with strides take multiples of a power of two, so sizes between keep the one that all three share. */
export function sizePoints(range: DimRange): Record<SizePoint, number> {
	const { min, opt, max } = withRows(range);
	const bits = min | opt | max;
	const step = bits & -bits;
	const between = (a: number, b: number) => Math.round((a + b) / 2 / step) * step;
	return { min, low: between(min, opt), opt, high: between(opt, max), max };
}

export function sizesAt(profile: Profile, point: SizePoint): Map<string, number> {
	return new Map(Object.entries(profile).map(([name, range]) => [name, sizePoints(range)[point]]));
}

export function rangeIn(profile: Profile, dim: string): DimRange | undefined {
	const range = own(profile, dim);
	return range && withRows(range);
}

export interface Batch {
	dim: string | null;
	range: DimRange;
	axes: ReadonlyMap<string, number>;
}

export type InputAxes = Pick<ProbeInput, "name" | "axes">;

const batchLabels = /batch|^(n|b|bs)$/i;
/** Dimensions that stand first in some layouts and hold no independent rows. */
export const otherLabels = /seq|len|time|frame|token|step|point|node|edge|width|height|channel|head/i;

/**
 * A dimension named like a batch; else one that is the first axis of every input that has axes and is not named like something else;
 * else a fixed first size above 1 if all inputs are pictures or volumes (rank 4 or 5). A string says why there is none.
 */
export function findBatch({ inputs }: { inputs: readonly InputAxes[] }, profile: Profile): Batch | string {
	const named = namedBatch(inputs);
	if (named !== null) {
		const range = rangeIn(profile, named);
		if (range === undefined)
			return `The config gives no size for the batch dimension ${JSON.stringify(named)}.`;
		const holders = inputs.filter(({ axes }) => axes.includes(named));
		return { dim: named, range, axes: new Map(holders.map(({ name, axes }) => [name, axes.indexOf(named)])) };
	}
	const fixed = inputs[0]?.axes[0];
	const isFixed = inputs.every(({ axes }) => axes[0] === fixed && (axes.length === 4 || axes.length === 5));
	if (typeof fixed !== "number" || fixed < 2 || !isFixed) return "None of its inputs has an axis of rows.";
	const axes = new Map(inputs.map(({ name }) => [name, 0]));
	return { dim: null, range: { min: fixed, opt: fixed, max: fixed }, axes };
}

export function namedBatch(inputs: readonly InputAxes[]): string | null {
	const names = inputs.flatMap(({ axes }) => axes.filter((axis) => typeof axis === "string"));
	const called = names.find((name) => batchLabels.test(name));
	if (called !== undefined) return called;
	const ranked = inputs.filter(({ axes }) => axes.length > 0);
	const first = ranked[0]?.axes[0];
	const everywhere = typeof first === "string" && ranked.every(({ axes }) => axes[0] === first);
	return everywhere && !otherLabels.test(first) ? first : null;
}
