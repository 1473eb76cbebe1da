// Guesses what an output is from its name, shape and values: a proposal that a person reviews.
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { makePair } from "../compare/difference.ts";
import { topIndices } from "../metrics/classification.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { everyValue, forEachValue, tensorStatistics } from "../tensor/values.ts";

export type Semantic = NonNullable<GoldenOutput["semantic"]>;

export interface Guess {
	semantic: Semantic;
	axis?: number;
	threshold?: number;
	channels?: "first" | "last";
	because: string;
}

export function guessSemantic(name: string, tensors: readonly Tensor[]): Guess {
	const [first] = tensors;
	if (first === undefined) return { semantic: "tensor", because: "it has no elements" };
	const rules = isFloating(first.dtype) ? floatRules : integerRules;
	for (const rule of rules) {
		const guess = rule(name, first.shape, tensors);
		if (guess !== null) return guess;
	}
	return isFloating(first.dtype)
		? { semantic: "tensor", because: "its name, shape and values give no other hint" }
		: { semantic: "ids", because: "its values are integers" };
}

type Rule = (name: string, shape: readonly number[], tensors: readonly Tensor[]) => Guess | null;

const leastSide = 8;
const mostMapClasses = 512;

function isTall(shape: readonly number[], height: number, least = leastSide): boolean {
	return (shape.at(height) ?? 0) >= least && (shape.at(height + 1) ?? 0) >= least;
}

const integerRules: readonly Rule[] = [
	// Eight-bit pictures; one channel more likely holds labels, unless its name says otherwise.
	(name, shape, tensors) => {
		if (tensors.some(({ dtype }) => dtype !== "uint8") || shape.length < 3) return null;
		const sizes = /image|picture|photo|rgb|frame/i.test(name) ? [1, 3, 4] : [3, 4];
		const because = "it holds eight-bit colours";
		if (sizes.includes(shape.at(-1) ?? 0) && isTall(shape, -3))
			return { semantic: "image", channels: "last", because };
		return sizes.includes(shape.at(-3) ?? 0) && isTall(shape, -2)
			? { semantic: "image", channels: "first", because }
			: null;
	},
	(name, shape, tensors) => {
		// Flags say which positions count: each has to be right.
		if (tensors.some(({ dtype }) => dtype === "bool") && shape.length < 3) return null;
		if (shape.length >= 3 && isTall(shape, -2))
			return { semantic: "mask", because: "it holds an integer for each pixel" };
		return /mask|segm/i.test(name) ? { semantic: "mask", because: "of its name" } : null;
	},
];

const floatRules: readonly Rule[] = [
	// Probabilities first: their values prove it.
	(_, shape, tensors) => {
		for (const axis of shape.length === 4 ? [1, -1] : [-1]) {
			const classes = shape.at(axis) ?? 1;
			if (shape.length >= 1 && classes > 1 && sumsToOne(tensors, axis)) {
				return { semantic: "probabilities", axis, because: `its values sum to 1 along axis ${axis}` };
			}
		}
		return null;
	},
	(_, shape, tensors) => {
		const single = shape.length === 3 || (shape.length === 4 && shape[1] === 1);
		// Without an axis of channels a table of scores is as wide as it is.
		const side = shape.length === 3 ? 4 * leastSide : leastSide;
		const isMap = single && (shape.at(-1) ?? 0) >= side && (shape.at(-2) ?? 0) >= side;
		return isMap && isDecided(tensors)
			? {
					semantic: "mask",
					threshold: 0.5,
					because: "it has one number for each pixel, nearly all of them close to 0 or 1",
				}
			: null;
	},
	(name, shape) =>
		/box|bbox|rois/i.test(name) && shape.at(-1) === 4
			? { semantic: "boxes", because: "of its name and its last axis of 4" }
			: null,
	(name, shape) =>
		shape.length <= 3 && /embed|feature|pool|repr|hidden|latent/i.test(name)
			? { semantic: "embedding", because: "of its name" }
			: null,
	(name, shape, tensors) =>
		shape.length === 2 && !/logit|score|class/i.test(name) && (shape.at(-1) ?? 0) >= 16 && unitRows(tensors)
			? { semantic: "embedding", because: "its rows have length 1" }
			: null,
	(name, shape, tensors) => {
		const [, height = 0, width = 0, last = 0] = shape;
		const upright = shape.length === 4 && height >= leastSide && width >= leastSide && !isMapShape(shape);
		return upright &&
			[1, 3, 4].includes(last) &&
			!/logit|segm|mask|class/i.test(name) &&
			mayBeColours(tensors)
			? { semantic: "image", channels: "last", because: "it has the shape of an image with channels last" }
			: null;
	},
	(name, shape, tensors) => {
		if (!isMapShape(shape)) return null;
		const channels = shape[1] ?? 0;
		const named = /logit|segm|mask|class/i.test(name);
		if (named && channels > 1 && channels <= mostMapClasses)
			return { semantic: "logits", axis: 1, because: "of its name and its shape of classes by pixels" };
		if ([1, 3, 4].includes(channels) && !named && mayBeColours(tensors))
			return { semantic: "image", channels: "first", because: "it has the shape of an image" };
		return named && channels === 1 ? { semantic: "mask", because: "of its name" } : null;
	},
	(name, shape) =>
		/log_?(it|prob)/i.test(name) && (shape.at(-1) ?? 1) > 1
			? { semantic: "logits", axis: -1, because: "of its name" }
			: null,
	(_, shape, tensors) =>
		shape.length >= 2 &&
		shape.length <= 3 &&
		(shape.at(-1) ?? 0) >= minManyClasses &&
		!tensors.every((tensor) => everyValue(tensor, (value) => value >= 0)) &&
		hasPeaks(tensors)
			? { semantic: "logits", axis: -1, because: "in each row one number stands out, not always the same" }
			: null,
	(name, shape, tensors) =>
		shape.length === 2 &&
		(shape[1] ?? 0) >= 2 &&
		/^(output|out|y|cls|class|pred|head|fc)/i.test(name) &&
		choosesSeveral(tensors)
			? { semantic: "logits", axis: -1, because: "it has one row of numbers for each sample" }
			: null,
];

/** So far above its row's mean, in standard deviations, that chance does not explain it: the largest of 8000 normal numbers lies below four. */
const peak = 6;
const minPeakedShare = 0.5;
const minChosen = 3;
const minManyClasses = 32;

function hasPeaks(tensors: readonly Tensor[]): boolean {
	const chosen = new Set<number>();
	let [rows, peaked] = [0, 0];
	for (const tensor of tensors) {
		forEachRow(makePair(tensor, tensor), -1, (row) => {
			const [best = 0] = topIndices(row, 1);
			const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
			const deviation = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length);
			rows += 1;
			if (!((row[best] ?? 0) - mean > peak * deviation)) return;
			peaked += 1;
			chosen.add(best);
		});
	}
	return chosen.size >= minChosen && peaked >= minPeakedShare * rows;
}

/** Share of probabilities that are near 0 or near 1: all but the edges of what a mask holds. */
const minDecided = 0.8;
const minInside = 1e-3;

function isDecided(tensors: readonly Tensor[]): boolean {
	let [elements, decided, inside] = [0, 0, 0];
	for (const tensor of tensors) {
		elements += elementCount(tensor.shape);
		forEachValue(tensor, (value) => {
			if ((value >= 0 && value <= 0.1) || (value >= 0.9 && value <= 1)) decided += 1;
			if (value > 0.5) inside += 1;
		});
	}
	const isMask = decided >= minDecided * elements && inside >= minInside * elements && inside < elements;
	return isMask && tensors.every((tensor) => everyValue(tensor, (value) => value >= 0 && value <= 1));
}

/** A guess by shape alone: rows that all choose one class are rather numbers of their own. */
function choosesSeveral(tensors: readonly Tensor[]): boolean {
	const best = new Set<number>();
	for (const tensor of tensors)
		forEachRow(makePair(tensor, tensor), -1, (row) => best.add(topIndices(row, 1)[0] ?? 0));
	return best.size > 1;
}

function isMapShape(shape: readonly number[]): boolean {
	return shape.length === 4 && (shape[2] ?? 0) >= leastSide && (shape[3] ?? 0) >= leastSide;
}

const leastColour = -3;
const mostBelow = 1 / 8;

function mayBeColours(tensors: readonly Tensor[]): boolean {
	const ranges = tensors.map(tensorStatistics);
	const most = Math.max(0, ...ranges.map(({ max }) => max ?? 0));
	return ranges.every(({ min }) => min === null || min >= Math.min(leastColour, -most * mostBelow));
}

const sumSlack = 1e-2;

function sumsToOne(tensors: readonly Tensor[], axis: number): boolean {
	return everyRow(tensors, axis, (sum, _, least) => least >= 0 && Math.abs(sum - 1) <= sumSlack);
}

function unitRows(tensors: readonly Tensor[]): boolean {
	return everyRow(tensors, -1, (_, squares) => Math.abs(squares - 1) <= sumSlack);
}

function everyRow(
	tensors: readonly Tensor[],
	axis: number,
	test: (sum: number, squares: number, least: number) => boolean,
): boolean {
	return tensors.every((tensor) => {
		let holds = true;
		forEachRow(makePair(tensor, tensor), axis, (row) => {
			let sum = 0;
			let squares = 0;
			let least = Number.POSITIVE_INFINITY;
			for (const value of row) {
				sum += value;
				squares += value * value;
				if (!(value >= least)) least = value;
			}
			holds &&= test(sum, squares, least);
		});
		return holds;
	});
}
