// The noise floor: how far outputs of one model on the same inputs scatter. Smaller differences are not errors.

import type {
	DType,
	GoldenManifest,
	NoiseFloor,
	OutputSlice,
	Precision,
	Spread,
} from "../../../../generated/golden.ts";
import { type Coverage, coveredParts } from "../compare/checks.ts";
import { largestFinite, makePair } from "../compare/difference.ts";
import { relativeL2 } from "../metrics/element-errors.ts";
import { cutSlice, isFloating, own, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";

export type RunOutputs = readonly Tensors[];

const mostOutputBytes = 64 * 1024 ** 2;

export function measuredCases(reference: RunOutputs): number {
	let bytes = 0;
	const beyond = reference.findIndex((outputs) => {
		bytes += Object.values(outputs).reduce((sum, { data }) => sum + data.length, 0);
		return bytes > mostOutputBytes;
	});
	return beyond < 0 ? reference.length : Math.max(1, beyond);
}

export interface LabelledRun {
	label: string;
	outputs: RunOutputs;
}

export type OutputParts = Readonly<Record<string, readonly OutputSlice[]>>;

export function measureNoise(
	reference: RunOutputs,
	runs: readonly LabelledRun[],
	parts: OutputParts = {},
): NoiseFloor | null {
	const [first, ...others] = runs;
	if (first === undefined) return null;
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const outputs = names.map((name): [string, Spread] => {
		const whole = scatterOf(name, reference, { runs, slice: undefined });
		const slices = own(parts, name) ?? [];
		const [head, ...rest] = slices.map((slice) => ({
			slice,
			...scatterOf(name, reference, { runs, slice }),
		}));
		return [name, head === undefined ? whole : { ...whole, parts: [head, ...rest] }];
	});
	return { runs: [first.label, ...others.map((run) => run.label)], outputs: Object.fromEntries(outputs) };
}

type Scatter = Pick<Spread, "relativeL2" | "maxAbs">;

/** The largest difference sets the floor below which elements are left out of the relative one. */
function scatterOf(
	name: string,
	reference: RunOutputs,
	{ runs, slice }: { runs: readonly LabelledRun[]; slice: OutputSlice | undefined },
): Scatter {
	const pairs = runs.flatMap(({ outputs: other }) =>
		reference.flatMap((outputs, index) => {
			const [expected, got] = [outputs[name], other[index]?.[name]];
			return expected === undefined || got === undefined ? [] : [{ expected, got }];
		}),
	);
	const maxAbs = widest(pairs.map(({ expected, got }) => distance(expected, got, { slice })?.maxAbs));
	const tensors = reference.flatMap((outputs) => outputs[name] ?? []);
	const floor = signalFloor(widest(tensors.map((tensor) => largestFinite(cutSlice(tensor, slice)))), maxAbs);
	const sizes = pairs.map(({ expected, got }) => distance(expected, got, { slice, floor })?.relativeL2);
	return { relativeL2: widest(sizes), maxAbs };
}

function widest(sizes: readonly (number | undefined)[]) {
	return sizes.reduce<number>((max, size) => Math.max(max, size ?? 0), 0);
}

const signalOverNoise = 100;
const rounding = 1e-7;
/** Noise that grows with the values must not hide any larger than this share of the largest. */
const maxFloorShare = 1e-3;

export function signalFloor(peak: number, noise: number): number {
	return Math.min(signalOverNoise * Math.max(noise, rounding * peak), maxFloorShare * peak);
}

export function noiseOfPart(
	measured: Spread | undefined,
	slice: OutputSlice | undefined,
): Scatter | undefined {
	if (slice === undefined) return measured;
	const wanted = JSON.stringify(slice);
	return measured?.parts?.find((part) => JSON.stringify(part.slice) === wanted) ?? measured;
}

/** null: their shapes or types differ. Infinite if only one of two elements is finite. */
export function distance(expected: Tensor, got: Tensor, covered: Coverage = {}): Scatter | null {
	if (expected.dtype !== got.dtype || expected.shape.join() !== got.shape.join()) return null;
	const [sides = { expected, got }] = coveredParts({ expected, got }, covered);
	const pair = makePair(sides.expected, sides.got);
	const { nonFinite, maxAbs } = pair.difference();
	if (nonFinite.differing > 0) return { relativeL2: Infinity, maxAbs: Infinity };
	return { relativeL2: relativeL2(pair).value, maxAbs };
}

/** Rounding of the output itself, as relative L2: about a third of the unit roundoff. */
const roundings: Partial<Record<DType, number>> = {
	float64: 1e-15,
	float32: 1e-7,
	float16: 3e-4,
	bfloat16: 2.5e-3,
};

export function floorOf(measured: Scatter | undefined, dtype: DType): number {
	return Math.max(measured?.relativeL2 ?? 0, isFloating(dtype) ? (roundings[dtype] ?? 1e-7) : 0);
}

/** fp32 loses this much in a network of some dozen layers. */
export const leastErrorFloor = 1e-5;

export const referencePrecision: Precision = "fp32";

export function noiseMask(
	tensors: readonly Tensor[],
	noise: Spread | undefined,
	slice: OutputSlice | undefined,
): number | null {
	const parts = tensors.map((tensor) => cutSlice(tensor, slice));
	const floor = signalFloor(Math.max(0, ...parts.map(largestFinite)), noiseOfPart(noise, slice)?.maxAbs ?? 0);
	const isMostlyBelow = (tensor: Tensor) => {
		let above = 0;
		let below = 0;
		// Zeros are exact, so they are not noise, unless there is nothing else.
		forEachValue(tensor, (value) => {
			const size = Math.abs(value);
			if (size >= floor) above += 1;
			else if (size > 0) below += 1;
		});
		return above === 0 || below > above;
	};
	return floor > 0 && parts.some(isMostlyBelow) ? Number(floor.toPrecision(2)) : null;
}

export function emulatedRounding(
	rounding: GoldenManifest["rounding"],
	{ output, slice, precision }: { output: string; slice: OutputSlice | undefined; precision: Precision },
): number | undefined {
	const measured = Object.entries(rounding ?? {}).find(([at]) => at === precision)?.[1];
	return noiseOfPart(own(measured?.outputs, output), slice)?.relativeL2;
}

/** Relative L2 of rounding to the precision: no engine of that precision must keep less. */
export const usualRoundings: Readonly<Record<Precision, number>> = {
	fp64: 1e-15,
	fp32: leastErrorFloor,
	tf32: 3e-4,
	fp16: 3e-4,
	bf16: 2.5e-3,
	int8: 1e-2,
	fp8: 4e-2,
	int4: 1e-1,
	fp4: 1e-1,
};
