// Entry of record/: proposes comparators for an output from its meaning and noise; derive-limits.ts sets their limits.

import type { ComparatorSpec, GoldenOutput, OutputSlice, Spread } from "../../../../generated/golden.ts";
import type { OnnxDim } from "../../../core/onnx/model.ts";
import { twoDigits } from "../../../core/text/units.ts";
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

export function proposeOutput({ tensors, noise, batched }: ProposalInput): {
	output: GoldenOutput;
	why: string[];
} {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	const guess = guessSemantic(filled);
	const [first] = filled;
	const batchAxis = batched && first !== undefined && first.shape.length > 0 ? { batchAxis: 0 } : {};
	const label = guess.semantic === "tensor" ? "plain numbers" : guess.semantic;
	const why = [`Treated as ${label}, because ${guess.because}.`];
	const isFloat = first !== undefined && isFloating(first.dtype);
	const proposed = isFloat ? ofFloats(guess, filled, { noise, why }) : ofIntegers(guess, filled);
	const comparators = proposed as NonNullable<GoldenOutput["comparators"]>;
	return { output: { semantic: guess.semantic, ...batchAxis, comparators }, why };
}

function ofFloats(
	guess: Guess,
	tensors: readonly Tensor[],
	{ noise, why }: { noise: Spread | undefined; why: string[] },
): ComparatorSpec[] {
	const relativeL2 = (slice?: OutputSlice): ComparatorSpec => {
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

/** Parts of the output with a scale of their own, and therefore with their own noise and limits. */
export function outputParts(tensors: readonly Tensor[]): OutputSlice[] {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	return partsOf(guessSemantic(filled), filled).map(({ slice }) => slice);
}

function partsOf({ semantic }: Guess, filled: readonly Tensor[]): ScalePart[] {
	const plain = semantic === "tensor" || semantic === "logits" || semantic === "embedding";
	return plain && filled.every(({ dtype }) => isFloating(dtype)) ? findScaleParts(filled) : [];
}

/** The share of pixels that may differ: if two classes are near, rounding decides. */
const pixelShares = { fp32: 1e-4, fp16: 1e-3, tf32: 1e-3, bf16: 1e-2, int8: 2e-2, fp8: 2e-2 } as const;
const mostClasses = 65_536;

function ofIntegers(guess: Guess, tensors: readonly Tensor[]): ComparatorSpec[] {
	const picture = guess.semantic === "image" ? pictureComparators(guess, tensors) : [];
	if (picture.length > 0) return [{ kind: "max-abs" }, ...picture];
	const isMask = guess.semantic === "mask";
	const { least, most } = rangeOf(tensors);
	return isMask && least >= 0 && most < mostClasses
		? [{ kind: "pixel-disagreement", tolerance: pixelShares }, { kind: "miou" }]
		: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: isMask ? pixelShares : 0 }];
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

function taskComparators(guess: Guess, tensors: readonly Tensor[]): ComparatorSpec[] {
	const { semantic, axis, threshold } = guess;
	if (semantic === "image") return pictureComparators(guess, tensors);
	if (semantic === "embedding") return [{ kind: "cosine" }];
	if (semantic === "mask")
		return [
			{ kind: "pixel-disagreement", threshold },
			{ kind: "miou", threshold },
		];
	if (semantic !== "logits" && semantic !== "probabilities") return [];
	// Along axis 1 there is a class for each pixel.
	if (axis === 1) return [{ kind: "pixel-disagreement" }, { kind: "miou" }];
	return [
		{ kind: "top-k", k: 1 },
		{ kind: "kl", input: semantic },
	];
}

const ssimSide = 11;

function pictureComparators({ channels }: Guess, tensors: readonly Tensor[]): ComparatorSpec[] {
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
