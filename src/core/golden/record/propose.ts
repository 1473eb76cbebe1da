// Entry of record/: proposes comparators for an output from its meaning and noise; their limits come from derive-limits.ts.

import type { ComparatorSpec, GoldenOutput, OutputSlice, Spread } from "../../../../generated/golden.ts";
import type { OnnxDim } from "../../onnx/model.ts";
import { twoDigits } from "../../text/units.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";
import { noiseMask } from "./noise-floor.ts";
import { partComparators, scoreComparators } from "./propose-parts.ts";
import { type Guess, guessSemantic } from "./propose-semantic.ts";
import { findScaleParts, type ScalePart } from "./scales.ts";

export interface ProposalInput {
	name: string;
	tensors: readonly Tensor[];
	noise?: Spread | undefined;
	batched: boolean;
}

export interface Proposal {
	output: GoldenOutput;
	why: string[];
}

export function proposeOutput(input: ProposalInput): Proposal {
	const filled = input.tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	const guess = guessSemantic(input.name, filled);
	const [first] = filled;
	const shared = {
		semantic: guess.semantic,
		...(input.batched && first && first.shape.length > 0 ? { batchAxis: 0 } : {}),
	};
	const why = [`Treated as ${semanticLabels[guess.semantic]}, because ${guess.because}.`];
	if (first === undefined || !isFloating(first.dtype)) {
		const exact = ofIntegers(guess, filled);
		return { output: { ...shared, comparators: exact.comparators }, why: [...why, exact.why] };
	}
	const parts = partsOf(guess, filled);
	if (parts.length > 0) {
		const proposed = partComparators(filled, parts, (slice) => noiseMask(filled, input.noise, slice));
		return { output: { ...shared, comparators: proposed.comparators }, why: [...why, ...proposed.why] };
	}
	const task = taskComparators(guess, filled);
	const mask = noiseMask(filled, input.noise, undefined);
	why.push(...maskWhy(mask), ...task.why);
	const relative: ComparatorSpec = { kind: "relative-l2", ...(mask === null ? {} : { floor: mask }) };
	return { output: { ...shared, comparators: [relative, ...task.comparators] }, why };
}

/** The parts of an output that have a scale of their own, and so a noise and limits of their own. */
export function outputParts(name: string, tensors: readonly Tensor[]): OutputSlice[] {
	const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	return partsOf(guessSemantic(name, filled), filled).map(({ slice }) => slice);
}

function partsOf({ semantic }: Guess, filled: readonly Tensor[]): ScalePart[] {
	const plain =
		semantic === "tensor" || semantic === "boxes" || semantic === "logits" || semantic === "embedding";
	return plain && filled.every(({ dtype }) => isFloating(dtype)) ? findScaleParts(filled) : [];
}

function maskWhy(floor: number | null): string[] {
	return floor === null
		? []
		: [`Elements below ${twoDigits(floor)} on both sides are noise and do not count.`];
}

type Comparators = [ComparatorSpec, ...ComparatorSpec[]];

/** A share of the pixels may differ, by precision: where two classes are near, rounding decides. */
const pixelShares = { fp32: 1e-4, fp16: 1e-3, tf32: 1e-3, bf16: 1e-2, int8: 2e-2, fp8: 2e-2 } as const;
const mostClasses = 65_536;

function ofIntegers(guess: Guess, tensors: readonly Tensor[]): { comparators: Comparators; why: string } {
	if (guess.semantic === "image") {
		const [first, ...others] = pictureTask(guess, tensors).comparators;
		const why = "Pixels may differ by a step or two: PSNR and SSIM measure the whole image.";
		if (first !== undefined) return { comparators: [{ kind: "max-abs" }, first, ...others], why };
	}
	const isMask = guess.semantic === "mask";
	const { least, most } = rangeOf(tensors);
	if (isMask && least >= 0 && most < mostClasses)
		return {
			comparators: [{ kind: "pixel-disagreement", tolerance: pixelShares }, { kind: "miou" }],
			why: "A share of the pixels may change their class, by precision; mIoU detects the loss of a small class.",
		};
	return {
		comparators: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: isMask ? pixelShares : 0 }],
		why: isMask ? "A share of the pixels may differ, by precision." : "Integers have to be equal.",
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

const semanticLabels: Readonly<Record<Guess["semantic"], string>> = {
	logits: "logits",
	probabilities: "probabilities",
	boxes: "boxes",
	mask: "a mask",
	image: "an image",
	embedding: "embeddings",
	ids: "ids",
	tensor: "plain numbers",
};

/** From so many vectors on their order among each other says something; and from so many on, who the nearest ten are. */
const vectorsForRanks = 4;
const vectorsForRecall = 40;

interface Task {
	comparators: ComparatorSpec[];
	why: string[];
}

function taskComparators(guess: Guess, tensors: readonly Tensor[]): Task {
	const { semantic, axis } = guess;
	const along = axis === undefined || axis === -1 ? {} : { axis };
	switch (semantic) {
		case "logits":
		case "probabilities":
			// Along axis 1 there is a class for each pixel.
			if (axis === 1) {
				const why =
					"Compared by the share of pixels that change their class, and by mIoU, which detects the loss of a small class.";
				return { comparators: [{ kind: "pixel-disagreement" }, { kind: "miou" }], why: [why] };
			}
			return {
				comparators: [
					{ kind: "top-k", k: 1, ...along },
					{ kind: "kl", input: semantic, ...along },
				],
				why: ["The top class must stay the same, and KL divergence compares the engine's confidence."],
			};
		case "boxes":
			return { comparators: [{ kind: "max-abs" }], why: ["No corner may be far off."] };
		case "tensor":
			return scoreComparators(tensors);
		case "mask":
			return guess.threshold === undefined ? { comparators: [], why: [] } : maskComparators(guess.threshold);
		case "image":
			return pictureTask(guess, tensors);
		case "embedding":
			return embeddingComparators(tensors);
		default:
			return { comparators: [], why: [] };
	}
}

function maskComparators(threshold: number): Task {
	const why = `Compared by the share of pixels that change sides of ${threshold}, and by IoU, which detects the loss of a small region.`;
	return {
		comparators: [
			{ kind: "pixel-disagreement", threshold },
			{ kind: "miou", threshold },
		],
		why: [why],
	};
}

const ssimSide = 11;

function pictureTask({ channels }: Guess, tensors: readonly Tensor[]): Task {
	const { least, most, rms } = rangeOf(tensors);
	const isBytes = tensors[0]?.dtype === "uint8";
	// Of one width for all cases, or each would be measured by its own.
	const range = isBytes ? {} : { dataRange: Number((most - least).toPrecision(6)) };
	// Where the range is small against the values, PSNR would ask for more than relative-l2 does.
	const psnr: ComparatorSpec[] = isBytes || most - least >= rms ? [{ kind: "psnr", ...range }] : [];
	const sides = channels === "last" ? [-3, -2] : [-2, -1];
	const tall = tensors.every(({ shape }) => sides.every((axis) => (shape.at(axis) ?? 0) >= ssimSide));
	const ssim: ComparatorSpec[] =
		tall && most > least ? [{ kind: "ssim", ...range, ...(channels === "last" ? { channels } : {}) }] : [];
	const comparators = [...psnr, ...ssim];
	if (comparators.length === 0) return { comparators, why: ["Too small or too flat for PSNR and SSIM."] };
	const kinds = comparators.map(({ kind }) => kind.toUpperCase()).join(" and ");
	return {
		comparators,
		why: [`${kinds}, with the range of all cases, ${twoDigits(least)} to ${twoDigits(most)}.`],
	};
}

function embeddingComparators(tensors: readonly Tensor[]): Task {
	const comparators: ComparatorSpec[] = [{ kind: "cosine" }];
	const vectors = tensors.reduce((sum, { shape }) => sum + elementCount(shape.slice(0, -1)), 0);
	// Tokens and states are each compared with their own; their neighbours say nothing.
	if (tensors.some(({ shape }) => shape.length > 2))
		return { comparators, why: ["Each vector is compared by its cosine."] };
	const isUniform = new Set(tensors.map(({ shape }) => shape.at(-1))).size === 1;
	if (!isUniform || vectors < vectorsForRanks) {
		return {
			comparators,
			why: [`Cosine alone: ${vectors} ${vectors === 1 ? "vector has" : "vectors have"} too few neighbours.`],
		};
	}
	comparators.push({ kind: "rank-agreement", scope: "set" });
	if (vectors >= vectorsForRecall) comparators.push({ kind: "recall-at-k", k: 10, scope: "set" });
	const recall = vectors >= vectorsForRecall ? ", and the ten nearest neighbours" : "";
	return {
		comparators,
		why: [`Compared by cosine, and over all ${vectors} vectors by the order of their similarities${recall}.`],
	};
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
