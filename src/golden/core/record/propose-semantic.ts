// Guesses what an output is from its shape and values, and which outputs hold boxes: proposals that a person reviews.

import type { BoxComparatorSpec, Detections, GoldenOutput, Spread } from "../../../../generated/golden.ts";
import { makePair } from "../compare/difference.ts";
import { outputsOf } from "../compare/judge.ts";
import { topIndices } from "../metrics/classification.ts";
import { elementCount, isFloating, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { everyValue, forEachRow, forEachValue, tensorStatistics, valuesOf } from "../tensor/values.ts";
import type { RunOutputs } from "./noise-floor.ts";

export interface Guess {
	semantic: NonNullable<GoldenOutput["semantic"]>;
	axis?: number;
	threshold?: number;
	channels?: "first" | "last";
	because: string;
}

const minSide = 8;
const pictureChannels = [1, 3, 4];

export function guessSemantic(tensors: readonly Tensor[]): Guess {
	const [first] = tensors;
	if (first === undefined) return { semantic: "tensor", because: "it has no elements" };
	if (!isFloating(first.dtype)) return guessIntegers(first);
	for (const rule of floatRules) {
		const guess = rule(first.shape, tensors);
		if (guess !== null) return guess;
	}
	return { semantic: "tensor", because: "its shape and values give no other hint" };
}

function guessIntegers({ dtype, shape }: Tensor): Guess {
	if (dtype === "uint8" && shape.length >= 3) {
		const channels = pictureLayout(shape, [3, 4]);
		if (channels !== null) return { semantic: "image", channels, because: "it holds eight-bit colours" };
	}
	return shape.length >= 3 && isTall(shape, -2)
		? { semantic: "mask", because: "it holds an integer for each pixel" }
		: { semantic: "ids", because: "its values are integers" };
}

function isTall(shape: readonly number[], height: number, least = minSide) {
	return (shape.at(height) ?? 0) >= least && (shape.at(height + 1) ?? 0) >= least;
}

function pictureLayout(shape: readonly number[], channels: readonly number[]) {
	if (channels.includes(shape.at(-3) ?? 0) && isTall(shape, -2)) return "first";
	return channels.includes(shape.at(-1) ?? 0) && isTall(shape, -3) ? "last" : null;
}

export function guessScores(tensors: readonly Tensor[]): Guess | null {
	const scores = tensors.every(({ dtype, shape }) => isFloating(dtype) && (shape.at(-1) ?? 0) >= minColumns);
	if (!scores || tensors.length === 0 || everyRow(tensors, -1, isDistribution)) return null;
	return { semantic: "logits", axis: -1, because: "it scores the next token after each step" };
}

type Rule = (shape: readonly number[], tensors: readonly Tensor[]) => Guess | null;

const minColumns = 8;

const floatRules: readonly Rule[] = [
	(shape, tensors) => {
		for (const axis of shape.length === 4 ? [1, -1] : [-1])
			if ((shape.at(axis) ?? 1) > 1 && everyRow(tensors, axis, isDistribution))
				return { semantic: "probabilities", axis, because: `its values sum to 1 along axis ${axis}` };
		return null;
	},
	(shape, tensors) => {
		const single = shape.length === 3 || (shape.length === 4 && shape[1] === 1);
		// A table of scores without an axis of channels is as wide as it is.
		const isMap = single && isTall(shape, -2, shape.length === 3 ? 4 * minSide : minSide);
		const because = "it has one number for each pixel, nearly all of them close to 0 or 1";
		return isMap && isDecided(tensors) ? { semantic: "mask", threshold: 0.5, because } : null;
	},
	(shape, tensors) =>
		shape.length === 2 && (shape.at(-1) ?? 0) >= 16 && everyRow(tensors, -1, isUnit)
			? { semantic: "embedding", because: "its rows have length 1" }
			: null,
	(shape, tensors) => {
		const channels =
			shape.length === 4 && mayBeColours(tensors) ? pictureLayout(shape, pictureChannels) : null;
		return channels && { semantic: "image", channels, because: "it has the shape of an image" };
	},
	(shape, tensors) => {
		const columns = shape.at(-1) ?? 0;
		if (tensors.every((tensor) => everyValue(tensor, (value) => value >= 0))) return null;
		// Scores up to 1 could not favour a class: these are a tanh's features or cosines.
		if (tensors.every((tensor) => everyValue(tensor, (value) => Math.abs(value) <= 1))) return null;
		const isLogits = shape.length === 2 && columns >= minColumns && choosesSeveral(tensors);
		const because = "its rows choose several columns";
		return isLogits ? { semantic: "logits", axis: -1, because } : null;
	},
];

const sumSlack = 1e-2;

function isDistribution(row: Float64Array) {
	return (
		row.every((value) => value >= 0) && Math.abs(row.reduce((sum, value) => sum + value, 0) - 1) <= sumSlack
	);
}

function isUnit(row: Float64Array) {
	return Math.abs(row.reduce((sum, value) => sum + value * value, 0) - 1) <= sumSlack;
}

function everyRow(tensors: readonly Tensor[], axis: number, test: (row: Float64Array) => boolean) {
	return tensors.every((tensor) => {
		let holds = true;
		forEachRow(makePair(tensor, tensor), axis, (row) => {
			holds &&= test(row);
		});
		return holds;
	});
}

const minDecided = 0.8;
const minInside = 1e-3;

function isDecided(tensors: readonly Tensor[]) {
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

const minColour = -3;
const mostBelow = 1 / 8;

function mayBeColours(tensors: readonly Tensor[]) {
	const ranges = tensors.map(tensorStatistics);
	const most = Math.max(0, ...ranges.map(({ max }) => max ?? 0));
	return ranges.every(({ min }) => min === null || min >= Math.min(minColour, -most * mostBelow));
}

function choosesSeveral(tensors: readonly Tensor[]) {
	const best = new Set<number>();
	for (const tensor of tensors)
		forEachRow(makePair(tensor, tensor), -1, (row) => best.add(topIndices(row, 1)[0] ?? 0));
	return best.size > 1;
}

/** null also for boxes at fixed positions, which are better compared element by element. */
export function proposeDetections(
	cases: RunOutputs,
	noise: Readonly<Record<string, Spread>>,
): { detections: Detections; outputs: string[]; why: string } | null {
	const [first] = cases;
	if (first === undefined) return null;
	const names = Object.keys(first).filter((name) => cases.every((outputs) => Object.hasOwn(outputs, name)));
	for (const boxes of names) {
		const tensors = cases.flatMap((outputs) => outputs[boxes] ?? []);
		const split = splitRoles(boxes, names, first);
		if (split === null && !holdPackedBoxes(tensors)) continue;
		const roles = split ?? { boxes };
		const outputs = outputsOf(roles);
		const because =
			split === null
				? `each row of ${boxes} holds a box, a score from 0 to 1 and a whole number`
				: `${outputs.join(", ")} have the names and shapes of selected boxes`;
		const images = tensors.reduce((sum, { shape }) => sum + elementCount(shape.slice(0, -2)), 0);
		const format = formatOf(boxes, tensors);
		const comparators = comparatorsOf(split === null ? 0 : (noise[split.scores]?.maxAbs ?? 0), images);
		return {
			detections: { name: "detections", ...roles, format, comparators },
			outputs,
			why: `Treated as ${format} boxes in any order, because ${because}.`,
		};
	}
	return null;
}

/** As NMS plugins of TensorRT and exports with NMS inside give them. */
function splitRoles(boxes: string, names: readonly string[], outputs: Tensors) {
	const shape = outputs[boxes]?.shape ?? [];
	if (!/box/i.test(boxes) || shape.at(-1) !== 4 || shape.length < 2) return null;
	const each = elementCount(shape.slice(0, -1));
	const images = elementCount(shape.slice(0, -2));
	const find = (pattern: RegExp, elements: number) =>
		names.find(
			(name) => name !== boxes && pattern.test(name) && elementCount(outputs[name]?.shape ?? []) === elements,
		);
	const scores = find(/score|conf/i, each);
	const classes = find(/class|label/i, each);
	const count = find(/num|count|valid/i, images);
	// Otherwise the boxes may be a raw head, where each has a fixed position.
	if (scores === undefined || (classes === undefined && count === undefined)) return null;
	return { boxes, scores, ...(classes && { classes }), ...(count && { count }) };
}

const packedColumns = 6;

function holdPackedBoxes(tensors: readonly Tensor[]) {
	if (!tensors.every(({ shape }) => shape.length >= 2 && shape.at(-1) === packedColumns)) return false;
	const rows = tensors.flatMap(rowsOf);
	const fits = rows.every(
		([, , , , score = -1, label = 0.5]) => score >= 0 && score <= 1 && Number.isInteger(label),
	);
	return fits && new Set(rows.map((row) => row[4])).size > 2;
}

const mostRows = 2000;

function rowsOf(tensor: Tensor) {
	const columns = tensor.shape.at(-1) ?? 1;
	const values = valuesOf(tensor, mostRows * columns);
	return Array.from({ length: values.length / columns }, (_, row) => [
		...values.subarray(row * columns, (row + 1) * columns),
	]);
}

function formatOf(boxes: string, tensors: readonly Tensor[]) {
	if (tensors.flatMap(rowsOf).every(([a = 0, b = 0, c = 0, d = 0]) => c >= a && d >= b)) return "xyxy";
	return /xywh/i.test(boxes) && !/cxcywh/i.test(boxes) ? "xywh" : "cxcywh";
}

const imagesForMap = 4;
const noiseRoom = 10;
const leastScore = 1e-4;

function comparatorsOf(floor: number, images: number): [BoxComparatorSpec, ...BoxComparatorSpec[]] {
	const score = Number(Math.min(0.01, Math.max(leastScore, noiseRoom * floor)).toPrecision(2));
	return [
		{ kind: "box-missing" },
		{ kind: "box-extra" },
		{ kind: "box-iou", tolerance: { fp32: 0.999 } },
		{ kind: "box-score", tolerance: { fp32: score } },
		...(images >= imagesForMap ? ([{ kind: "map", scope: "set" }] as const) : []),
	];
}
