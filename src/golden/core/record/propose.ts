// Entry of record/: proposes comparators for an output from its meaning, scales and noise.
import type { ComparatorSpec, GoldenOutput, OutputSlice, Spread } from "../../../../generated/golden.ts";
import type { OnnxDim } from "../../../core/onnx/model.ts";
import { twoDigits } from "../../../core/text/units.ts";
import { axisFromStart, elementCount, isFloating, sliceLabel, type Tensor } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";
import { noiseMask } from "./noise-floor.ts";
import { type Guess, guessScores, guessSemantic } from "./propose-semantic.ts";

export function proposeOutput({
	tensors,
	noise,
	batched,
	steps,
}: {
	tensors: readonly Tensor[];
	noise?: Spread;
	batched: boolean;
	/** The axis along which a decoder's steps lie. */
	steps?: number;
}): { output: GoldenOutput; why: string[] } {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	const guess = (steps !== undefined && guessScores(filled)) || guessSemantic(filled);
	const [first] = filled;
	const axis = steps ?? 0;
	const isSliced = (batched || steps !== undefined) && first !== undefined && first.shape.length > axis;
	const batchAxis = isSliced ? { batchAxis: axis } : {};
	const { semantic, because } = guess;
	const why = [`Treated as ${semantic === "tensor" ? "plain numbers" : semantic}, because ${because}.`];
	const isFloat = first !== undefined && isFloating(first.dtype);
	const proposed = isFloat ? ofFloats(guess, filled, { noise, why }) : ofIntegers(guess, filled);
	const comparators = proposed as NonNullable<GoldenOutput["comparators"]>;
	return { output: { semantic, ...batchAxis, comparators }, why };
}

function ofFloats(
	guess: Guess,
	tensors: readonly Tensor[],
	{ noise, why }: { noise: Spread | undefined; why: string[] },
) {
	const relativeL2 = (slice?: OutputSlice) => {
		const floor = noiseMask(tensors, noise, slice);
		if (floor !== null)
			why.push(`Elements below ${twoDigits(floor)} on both sides are noise and do not count.`);
		return { kind: "relative-l2", ...(slice && { slice }), ...(floor === null ? {} : { floor }) };
	};
	const parts = partsOf(guess, tensors);
	if (parts.length === 0) return [relativeL2(), ...taskComparators(guess, tensors)];
	const scales = parts.map(({ slice, rms }) => `${sliceLabel(slice)} about ${twoDigits(rms)}`).join(", ");
	why.push(`Compared part by part, because their scales are more than 100 times apart: ${scales}.`);
	return parts.map(({ slice }) => relativeL2(slice));
}

export function outputParts(tensors: readonly Tensor[]): OutputSlice[] {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	return partsOf(guessSemantic(filled), filled).map(({ slice }) => slice);
}

function partsOf({ semantic }: Guess, filled: readonly Tensor[]) {
	const plain = semantic === "tensor" || semantic === "logits" || semantic === "embedding";
	return plain && filled.every(({ dtype }) => isFloating(dtype)) ? findScaleParts(filled) : [];
}

const pixelShares = { fp32: 1e-4, fp16: 1e-3, tf32: 1e-3, bf16: 1e-2, int8: 2e-2, fp8: 2e-2 } as const;
const mostClasses = 65_536;

function ofIntegers(guess: Guess, tensors: readonly Tensor[]) {
	const picture = guess.semantic === "image" ? pictureComparators(guess, tensors) : [];
	if (picture.length > 0) return [{ kind: "max-abs" }, ...picture];
	const isMask = guess.semantic === "mask";
	const { least, most } = rangeOf(tensors);
	return isMask && least >= 0 && most < mostClasses
		? [{ kind: "pixel-disagreement", tolerance: pixelShares }, { kind: "miou" }]
		: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: isMask ? pixelShares : 0 }];
}

function rangeOf(tensors: readonly Tensor[]) {
	let [least, most, squares, count] = [Infinity, -Infinity, 0, 0];
	for (const tensor of tensors) {
		count += elementCount(tensor.shape);
		forEachValue(tensor, (value) => {
			if (value < least) least = value;
			if (value > most) most = value;
			squares += value * value;
		});
	}
	return { least, most, rms: Math.sqrt(squares / Math.max(1, count)) };
}

function taskComparators(guess: Guess, tensors: readonly Tensor[]) {
	const { semantic, axis, threshold } = guess;
	if (semantic === "image") return pictureComparators(guess, tensors);
	if (semantic === "embedding") return [{ kind: "cosine" }];
	if (semantic === "mask")
		return [
			{ kind: "pixel-disagreement", threshold },
			{ kind: "miou", threshold },
		];
	if (semantic !== "logits" && semantic !== "probabilities") return [];
	if (axis === 1) return [{ kind: "pixel-disagreement" }, { kind: "miou" }];
	return [
		{ kind: "top-k", k: 1 },
		{ kind: "kl", input: semantic },
	];
}

const ssimSide = 11;

function pictureComparators({ channels }: Guess, tensors: readonly Tensor[]) {
	const { least, most, rms } = rangeOf(tensors);
	const isBytes = tensors[0]?.dtype === "uint8";
	// All cases share one data range; otherwise each would be measured by its own.
	const range = isBytes ? {} : { dataRange: Number((most - least).toPrecision(6)) };
	const sides = channels === "last" ? [-3, -2] : [-2, -1];
	const tall = tensors.every(({ shape }) => sides.every((axis) => (shape.at(axis) ?? 0) >= ssimSide));
	const comparators: ComparatorSpec[] = [];
	// If the range is small against the values, PSNR would be stricter than relative-l2.
	if (isBytes || most - least >= rms) comparators.push({ kind: "psnr", ...range });
	if (tall && most > least)
		comparators.push({ kind: "ssim", ...range, ...(channels === "last" ? { channels } : {}) });
	return comparators;
}

export function isBatched(
	output: readonly OnnxDim[] | null,
	inputs: readonly (readonly OnnxDim[] | null)[],
): boolean {
	const first = output?.[0];
	if (output === null || output.length < 2 || first === undefined || first === null) return false;
	return inputs.some(
		(dims) =>
			dims !== null && dims.length >= 2 && dims[0] === first && (typeof first === "string" || first === 1),
	);
}

interface ScalePart {
	slice: OutputSlice;
	rms: number;
}

const maxRatio = 100;
const maxChannels = 512;
const minRows = 16;
const maxRanges = 256;
const deadShare = 1e-10;
const minScoreShare = 0.1;

export function findScaleParts(tensors: readonly Tensor[]): ScalePart[] {
	const axis = channelAxis(tensors);
	return axis === null ? [] : partsAlong(axis, channelsOf(tensors, axis));
}

function channelAxis(tensors: readonly Tensor[]) {
	const shape = tensors[0]?.shape ?? [];
	const last = shape.length - 1;
	if (last < 1) return null;
	// The height and width of a map are not channels, even if it has only one.
	const isSecond =
		shape.length > 3
			? (shape[1] ?? 0) <= (shape[last] ?? 0)
			: (shape[1] ?? 0) > 1 && (shape[1] ?? 0) < (shape[last] ?? 0);
	const axis = isSecond ? 1 : last;
	const size = shape[axis] ?? 1;
	const isUniform = tensors.every(
		(tensor) => tensor.shape.length === shape.length && tensor.shape[axis] === size,
	);
	const rows = tensors.reduce((sum, tensor) => sum + elementCount(tensor.shape), 0) / size;
	return isUniform && size > 1 && size <= maxChannels && rows >= minRows ? (axis === last ? -1 : axis) : null;
}

interface Channel {
	index: number;
	rms: number;
	min: number;
	max: number;
}

function channelsOf(tensors: readonly Tensor[], along: number): Channel[] {
	const axis = axisFromStart(along, tensors[0]?.shape.length ?? 0);
	const size = tensors[0]?.shape[axis] ?? 0;
	const channels = Array.from({ length: size }, () => ({
		squares: 0,
		count: 0,
		min: Infinity,
		max: -Infinity,
	}));
	for (const tensor of tensors) {
		const inner = elementCount(tensor.shape.slice(axis + 1));
		forEachValue(tensor, (value, flat) => {
			const channel = channels[Math.floor(flat / inner) % size];
			if (channel === undefined || !Number.isFinite(value)) return;
			channel.squares += value * value;
			channel.count += 1;
			if (value < channel.min) channel.min = value;
			if (value > channel.max) channel.max = value;
		});
	}
	return channels.map(({ squares, count, min, max }, index) => {
		return { index, rms: Math.sqrt(squares / Math.max(1, count)), min, max };
	});
}

function partsAlong(axis: number, all: readonly Channel[]): ScalePart[] {
	const largest = Math.max(...all.map(({ rms }) => rms));
	const live = all.filter(({ rms }) => rms > deadShare * largest);
	const smallest = Math.min(...live.map(({ rms }) => rms));
	if (!(largest > maxRatio * smallest)) return [];
	const scores = live.filter(({ min, max }) => min >= 0 && max <= 1);
	if (scores.length === live.length) return [];
	const apart = scores.length >= minScoreShare * all.length;
	const groups = clusters(apart ? live.filter((channel) => !scores.includes(channel)) : live);
	const parts = (apart ? [...groups, scores] : groups)
		.sort((left, right) => (left[0]?.index ?? 0) - (right[0]?.index ?? 0))
		.map(
			(channels): ScalePart => ({
				rms: Math.sqrt(channels.reduce((sum, { rms }) => sum + rms * rms, 0) / channels.length),
				slice: sliceOf(axis, rangesOf(channels, all.length, live)),
			}),
		);
	const ranges = parts.reduce((sum, { slice }) => sum + (slice.ranges?.length ?? 1), 0);
	return parts.length < 2 || ranges > maxRanges ? [] : parts;
}

function clusters(channels: readonly Channel[]) {
	const groups: Channel[][] = [];
	let before = 0;
	for (const channel of channels.toSorted((left, right) => left.rms - right.rms)) {
		const last = groups.at(-1);
		if (last === undefined || channel.rms > maxRatio * before) groups.push([channel]);
		else last.push(channel);
		before = channel.rms;
	}
	return groups.map((group) => group.sort((left, right) => left.index - right.index));
}

/** Runs of neighbouring channels. Dead channels belong to the live one before them, or to the first. */
function rangesOf(channels: readonly Channel[], size: number, live: readonly Channel[]) {
	const ranges: [number, number][] = [];
	for (const { index } of channels) {
		const at = live.findIndex((other) => other.index === index);
		const [from, to] = [at === 0 ? 0 : index, live[at + 1]?.index ?? size];
		const last = ranges.at(-1);
		if (last !== undefined && last[1] === from) last[1] = to;
		else ranges.push([from, to]);
	}
	return ranges;
}

function sliceOf(axis: number, [first = [0, 0], ...others]: [number, number][]): OutputSlice {
	return others.length === 0 ? { axis, from: first[0], to: first[1] } : { axis, ranges: [first, ...others] };
}
