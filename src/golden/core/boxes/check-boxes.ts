// Entry of boxes/: checks the detections of a case for missing and extra boxes, and for distances of matched ones.
import type {
	BoxComparatorKind,
	BoxComparatorSpec,
	Detections,
	Precision,
} from "../../../../generated/golden.ts";
import type { Bound, GoldenCheck } from "../../../../generated/result.ts";
import { markExisting, structuralCheck, toNumeric } from "../compare/checks.ts";
import { type BoxTolerances, boxTolerances, toleranceAt } from "../compare/tolerances.ts";
import { fromZero, keepsLimit, type Range, share, within } from "../metrics/element-errors.ts";
import type { Tensors } from "../tensor/tensor.ts";
import {
	type Detection,
	defaultScoreThreshold,
	type Match,
	type Matching,
	matchBoxes,
	readDetections,
} from "./match.ts";
import { type ImagePair, meanAveragePrecision } from "./mean-average-precision.ts";

export interface BoxSides {
	expected: Tensors;
	got: Tensors;
	base?: Tensors;
}

interface BoxMeasured {
	value: number;
	image?: number;
	worst?: NonNullable<GoldenCheck["worst"]>;
	detail?: string;
}

interface MatchedImage extends ImagePair, Matching {
	image: number;
}

interface BoxSums {
	matches: number;
	missing: number;
	extra: number;
	map(): number;
}

interface BoxKind {
	label: string;
	bound: Bound;
	range: Range;
	measure(images: readonly MatchedImage[]): BoxMeasured;
	set?(sums: BoxSums): number;
	defaultLimit(defaults: BoxTolerances): number;
}

const atMost = { bound: "at-most", range: fromZero } as const;
const atLeast = { bound: "at-least", range: share } as const;

export const boxKinds: Readonly<Record<BoxComparatorKind, BoxKind>> = {
	"box-missing": {
		...atMost,
		label: "boxes of the golden that are missing",
		measure: (images) => loneBoxes(images, "missing"),
		set: ({ missing }) => missing,
		defaultLimit: () => 0,
	},
	"box-extra": {
		...atMost,
		label: "boxes that the golden does not have",
		measure: (images) => loneBoxes(images, "extra"),
		set: ({ extra }) => extra,
		defaultLimit: () => 0,
	},
	"box-f1": {
		...atLeast,
		label: "F1 of the boxes",
		measure: lowestF1,
		set: ({ matches, missing, extra }) => f1Of(matches, missing + extra),
		defaultLimit: ({ f1 }) => f1,
	},
	"box-iou": {
		...atLeast,
		label: "smallest overlap of matched boxes",
		measure: smallestOverlap,
		defaultLimit: ({ iou }) => iou,
	},
	"box-score": {
		...atMost,
		label: "largest score difference of matched boxes",
		measure: largestScoreDifference,
		defaultLimit: ({ score }) => score,
	},
	map: {
		...atLeast,
		label: "mAP against the golden's boxes",
		measure: (images) => ({ value: meanAveragePrecision(images) }),
		set: ({ map }) => map(),
		defaultLimit: ({ map }) => map,
	},
};

export function boxComparators({ comparators }: Detections): readonly BoxComparatorSpec[] {
	const kinds = ["box-missing", "box-extra", "box-iou", "box-score"] as const;
	return comparators ?? kinds.map((kind) => ({ kind }));
}

export function boxLimit({ kind, tolerance }: BoxComparatorSpec, precision: Precision): number {
	return toleranceAt(tolerance, precision) ?? boxKinds[kind].defaultLimit(boxTolerances[precision]);
}

export function matchImages(
	spec: Detections,
	sides: Omit<BoxSides, "base">,
	precision: Precision,
): MatchedImage[] | string {
	const expected = readDetections(sides.expected, spec);
	const got = readDetections(sides.got, spec);
	if (typeof expected === "string") return `the golden has ${expected}`;
	if (typeof got === "string") return `the engine gave ${got}`;
	if (expected.length !== got.length) return `expected ${expected.length} images, got ${got.length}`;
	const rule = { matching: spec.matching ?? "hungarian", iou: spec.iou ?? 0.5 } as const;
	const band = spec.scoreBand ?? boxTolerances[precision].score;
	const certain = (spec.scoreThreshold ?? defaultScoreThreshold) + band;
	// Noise decides whether a box this near the threshold exists; a NaN score is always wrong.
	const matters = (box: Detection) => !(box.score < certain);
	return expected.map((boxes, image) => {
		const found = got[image] ?? [];
		const { matches, missing, extra } = matchBoxes(boxes, found, rule);
		const lone = { missing: missing.filter(matters), extra: extra.filter(matters) };
		return { image, expected: boxes, got: found, matches, ...lone };
	});
}

export function checkBoxes(
	spec: Detections,
	sides: BoxSides,
	precision: Precision,
): { checks: GoldenCheck[]; compared: number } {
	const images = matchImages(spec, sides, precision);
	const base = sides.base && matchImages(spec, { ...sides, got: sides.base }, precision);
	if (typeof images === "string") {
		const check = markExisting(structuralCheck(spec.name, "shape", images), base === images);
		return { checks: [check], compared: 0 };
	}
	const broken = brokenCheck(spec.name, images);
	const isBrokenInBase = typeof base === "object" && brokenCheck(spec.name, base) !== null;
	const boxes = images.reduce((sum, { expected }) => sum + expected.length, 0);
	const comparators = boxComparators(spec).filter(({ scope }) => scope !== "set");
	const checks = comparators.map((comparator) => {
		const { bound, range, measure } = boxKinds[comparator.kind];
		const allowed = boxLimit(comparator, precision);
		const { value, image, worst, detail } = within(measure(images), range);
		const check: GoldenCheck = {
			output: spec.name,
			metric: comparator.kind,
			sample: image,
			got: toNumeric(value),
			allowed,
			bound,
			pass: keepsLimit(value, bound, allowed),
			severity: comparator.severity ?? "fail",
			elements: boxes,
			worst,
			detail,
		};
		if (base === undefined) return check;
		if (typeof base === "string") return { ...check, base: null };
		const { value: ofBase } = measure(base);
		return markExisting({ ...check, base: toNumeric(ofBase) }, !keepsLimit(ofBase, bound, allowed));
	});
	if (broken !== null) checks.unshift(markExisting(broken, isBrokenInBase));
	return { checks, compared: boxes + images.length };
}

/** Pairs and mAP may leave out a box of NaN, or a NaN score. */
function brokenCheck(output: string, images: readonly MatchedImage[]): GoldenCheck | null {
	const isBroken = (box: Detection) => !Object.values(box).every(Number.isFinite);
	const image = images.find(({ got }) => got.some(isBroken));
	const box = image?.got.find(isBroken);
	if (image === undefined || box === undefined) return null;
	const detail = `the engine gave a box with NaN or infinity: ${describe(box)}`;
	return { ...structuralCheck(output, "non-finite", detail), sample: image.image };
}

function loneBoxes(images: readonly MatchedImage[], side: "missing" | "extra") {
	const value = images.reduce((sum, image) => sum + image[side].length, 0);
	const first = images.find((image) => image[side].length > 0);
	const box = first?.[side][0];
	if (first === undefined || box === undefined) return { value };
	const who = side === "missing" ? "engine" : "golden";
	return { value, image: first.image, detail: `the ${who} has no box like ${describe(box)}` };
}

function describe({ x1, y1, x2, y2, score, class: label }: Detection) {
	const round = (value: number) => Number(value.toPrecision(4));
	return `class ${label}, score ${round(score)}, corners (${round(x1)}, ${round(y1)}) and (${round(x2)}, ${round(y2)})`;
}

function f1Of(matches: number, lone: number) {
	return lone === 0 ? 1 : (2 * matches) / (2 * matches + lone);
}

function lowestF1(images: readonly MatchedImage[]) {
	let lowest: BoxMeasured = { value: Infinity };
	for (const { matches, missing, extra, image } of images) {
		const value = f1Of(matches.length, missing.length + extra.length);
		const detail = `${matches.length} match, ${missing.length} missing, ${extra.length} extra`;
		if (value < lowest.value) lowest = { value, image, detail };
	}
	return images.length === 0 ? { value: 1 } : lowest;
}

function worstMatch(images: readonly MatchedImage[], badness: (match: Match) => number) {
	let worst: { match: Match; image: number; bad: number } | undefined;
	for (const { image, matches } of images)
		for (const match of matches) {
			const bad = badness(match);
			if (worst === undefined || (!Number.isNaN(worst.bad) && !(bad <= worst.bad)))
				worst = { match, image, bad };
		}
	return worst;
}

function smallestOverlap(images: readonly MatchedImage[]) {
	const { match, image } = worstMatch(images, ({ iou }) => 1 - iou) ?? {};
	if (match === undefined) return { value: 1 };
	return {
		value: match.iou,
		image,
		detail: `expected ${describe(match.expected)}, got ${describe(match.got)}`,
	};
}

function largestScoreDifference(images: readonly MatchedImage[]) {
	const worst = worstMatch(images, ({ expected, got }) => Math.abs(got.score - expected.score));
	if (worst === undefined) return { value: 0 };
	const { bad, image } = worst;
	const { expected, got } = worst.match;
	return {
		value: bad,
		image,
		worst: { index: [got.at], got: toNumeric(got.score), expected: toNumeric(expected.score) },
		detail: describe(expected),
	};
}
