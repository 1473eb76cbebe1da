// Entry of record/: proposes comparators for an output from its meaning and noise; derive-limits.ts sets their limits.

import type { ComparatorSpec, GoldenOutput, OutputSlice, Spread } from "../../../../generated/golden.ts";
import type { OnnxDim } from "../../onnx/model.ts";
import { twoDigits } from "../../text/units.ts";
import { sliceLabel } from "../tensor/slice.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";
import { noiseMask } from "./noise-floor.ts";
import { type Guess, guessSemantic } from "./propose-semantic.ts";
import { findScaleParts, type ScalePart } from "./scales.ts";

interface ProposalInput {
	tensors: readonly Tensor[];
	noise?: Spread | undefined;
	batched: boolean;
}

interface Proposal {
	output: GoldenOutput;
	why: string[];
}

interface Comparators {
	comparators: ComparatorSpec[];
	why: string[];
}

export function proposeOutput({ tensors, noise, batched }: ProposalInput): Proposal {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	const guess = guessSemantic(filled);
	const [first] = filled;
	const proposed =
		first !== undefined && isFloating(first.dtype)
			? ofFloats(guess, filled, noise)
			: ofIntegers(guess, filled);
	const batchAxis = batched && first !== undefined && first.shape.length > 0 ? { batchAxis: 0 } : {};
	const comparators = proposed.comparators as NonNullable<GoldenOutput["comparators"]>;
	return {
		output: { semantic: guess.semantic, ...batchAxis, comparators },
		why: [`Treated as ${guess.semantic}, because ${guess.because}.`, ...proposed.why],
	};
}

function ofFloats(guess: Guess, tensors: readonly Tensor[], noise: Spread | undefined): Comparators {
	const parts = partsOf(guess, tensors);
	if (parts.length > 0) {
		const scales = parts.map(({ slice, rms }) => `${sliceLabel(slice)} about ${twoDigits(rms)}`).join(", ");
		return {
			comparators: parts.map(({ slice }): ComparatorSpec => {
				const floor = noiseMask(tensors, noise, slice);
				return { kind: "relative-l2", slice, ...(floor === null ? {} : { floor }) };
			}),
			why: [`Compared part by part, because their scales are more than 100 times apart: ${scales}.`],
		};
	}
	const task = taskComparators(guess, tensors);
	const floor = noiseMask(tensors, noise, undefined);
	if (floor === null) return { ...task, comparators: [{ kind: "relative-l2" }, ...task.comparators] };
	return {
		comparators: [{ kind: "relative-l2", floor }, ...task.comparators],
		why: [`Elements below ${twoDigits(floor)} on both sides are noise and do not count.`, ...task.why],
	};
}

/** The parts of an output that have a scale of their own, and so a noise and limits of their own. */
export function outputParts(tensors: readonly Tensor[]): OutputSlice[] {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	return partsOf(guessSemantic(filled), filled).map(({ slice }) => slice);
}

function partsOf({ semantic }: Guess, filled: readonly Tensor[]): ScalePart[] {
	const plain = semantic === "tensor" || semantic === "logits" || semantic === "embedding";
	return plain && filled.every(({ dtype }) => isFloating(dtype)) ? findScaleParts(filled) : [];
}

/** The share of pixels that may differ: where two classes are near, rounding decides. */
const pixelShares = { fp32: 1e-4, fp16: 1e-3, tf32: 1e-3, bf16: 1e-2, int8: 2e-2, fp8: 2e-2 } as const;
const mostClasses = 65_536;

function ofIntegers(guess: Guess, tensors: readonly Tensor[]): Comparators {
	if (guess.semantic === "image") {
		const task = pictureTask(guess, tensors);
		if (task.comparators.length > 0)
			return { ...task, comparators: [{ kind: "max-abs" }, ...task.comparators] };
	}
	const isMask = guess.semantic === "mask";
	const { least, most } = rangeOf(tensors);
	if (isMask && least >= 0 && most < mostClasses)
		return {
			comparators: [{ kind: "pixel-disagreement", tolerance: pixelShares }, { kind: "miou" }],
			why: [],
		};
	return {
		comparators: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: isMask ? pixelShares : 0 }],
		why: isMask ? [] : ["Integers have to be equal."],
	};
}

function rangeOf(tensors: readonly Tensor[]): { least: number; most: number; rms: number } {
	let [least, most, squares, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
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

function taskComparators(guess: Guess, tensors: readonly Tensor[]): Comparators {
	const { semantic, axis, threshold } = guess;
	switch (semantic) {
		case "logits":
		case "probabilities": {
			// Along axis 1 there is a class for each pixel.
			if (axis === 1) return { comparators: [{ kind: "pixel-disagreement" }, { kind: "miou" }], why: [] };
			return {
				comparators: [
					{ kind: "top-k", k: 1 },
					{ kind: "kl", input: semantic },
				],
				why: [],
			};
		}
		case "mask":
			return {
				comparators: [
					{ kind: "pixel-disagreement", threshold },
					{ kind: "dice", threshold },
				],
				why: [],
			};
		case "image":
			return pictureTask(guess, tensors);
		case "embedding":
			return embeddingComparators(tensors);
		default:
			return { comparators: [], why: [] };
	}
}

const ssimSide = 11;

function pictureTask({ channels }: Guess, tensors: readonly Tensor[]): Comparators {
	const { least, most, rms } = rangeOf(tensors);
	const isBytes = tensors[0]?.dtype === "uint8";
	// One width for all cases, or each would be measured by its own.
	const range = isBytes ? {} : { dataRange: Number((most - least).toPrecision(6)) };
	const sides = channels === "last" ? [-3, -2] : [-2, -1];
	const tall = tensors.every(({ shape }) => sides.every((axis) => (shape.at(axis) ?? 0) >= ssimSide));
	const comparators: ComparatorSpec[] = [];
	// With a range that is small against the values, PSNR would ask for more than relative-l2 does.
	if (isBytes || most - least >= rms) comparators.push({ kind: "psnr", ...range });
	if (tall && most > least)
		comparators.push({ kind: "ssim", ...range, ...(channels === "last" ? { channels } : {}) });
	return { comparators, why: [] };
}

/** From so many vectors on, their order among each other says something, and so do the ten nearest ones. */
const vectorsForRanks = 4;
const vectorsForRecall = 40;

function embeddingComparators(tensors: readonly Tensor[]): Comparators {
	const comparators: ComparatorSpec[] = [{ kind: "cosine" }];
	const vectors = tensors.reduce((sum, { shape }) => sum + elementCount(shape.slice(0, -1)), 0);
	const isUniform = new Set(tensors.map(({ shape }) => shape.at(-1))).size === 1;
	if (isUniform && vectors >= vectorsForRanks) comparators.push({ kind: "rank-agreement", scope: "set" });
	if (isUniform && vectors >= vectorsForRecall)
		comparators.push({ kind: "recall-at-k", k: 10, scope: "set" });
	return { comparators, why: [] };
}

/** Whether the first axis of an output counts samples: it has the name of an input's first axis, or both are 1. */
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
