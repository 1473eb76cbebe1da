// Entry of boxes/: checks the detections of a case, finding missing and extra boxes and the distance of matched ones.
import type {
	BoxComparatorKind,
	BoxComparatorSpec,
	Detections,
	Precision,
} from "../../../../generated/golden.ts";
import type { Bound, GoldenCheck } from "../../../../generated/result.ts";
import { markExisting, toNumeric } from "../compare/checks.ts";
import { toleranceAt } from "../compare/comparators.ts";
import { fromZero, keepsLimit, share } from "../compare/registry.ts";
import { type BoxTolerances, boxTolerances } from "../compare/tolerances.ts";
import { type Range, within } from "../metrics/measured.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Detection, defaultScoreThreshold, type Images, readDetections } from "./detection.ts";
import { type Match, type Matching, matchBoxes } from "./match.ts";
import { type ImagePair, meanAveragePrecision } from "./mean-average-precision.ts";

export interface BoxSides {
	expected: ReadonlyMap<string, Tensor>;
	got: ReadonlyMap<string, Tensor>;
	/** The base engine's, where there is one. */
	base: ReadonlyMap<string, Tensor> | undefined;
}

export interface BoxChecks {
	checks: GoldenCheck[];
	/** Number of golden boxes plus number of images. */
	compared: number;
}

/** The value of one comparator over all images. */
interface BoxMeasured {
	value: number;
	/** Of the image that decides. */
	image: number | null;
	worst: { index: number[]; got: number; expected: number } | null;
	detail?: string;
}

interface ImageMatching extends Matching {
	image: number;
}

interface BoxKind {
	bound: Bound;
	range: Range;
	measure(images: readonly ImageMatching[], pairs: readonly ImagePair[]): BoxMeasured;
	defaultLimit(defaults: BoxTolerances): number;
}

const kinds: Readonly<Record<BoxComparatorKind, BoxKind>> = {
	"box-missing": {
		bound: "at-most",
		range: fromZero,
		measure: (images) => loneBoxes(images, "missing"),
		defaultLimit: () => 0,
	},
	"box-extra": {
		bound: "at-most",
		range: fromZero,
		measure: (images) => loneBoxes(images, "extra"),
		defaultLimit: () => 0,
	},
	"box-f1": { bound: "at-least", range: share, measure: lowestF1, defaultLimit: ({ f1 }) => f1 },
	"box-iou": { bound: "at-least", range: share, measure: smallestOverlap, defaultLimit: ({ iou }) => iou },
	"box-score": {
		bound: "at-most",
		range: fromZero,
		measure: largestScoreDifference,
		defaultLimit: ({ score }) => score,
	},
	map: { bound: "at-least", range: share, measure: agreement, defaultLimit: ({ map }) => map },
};

const defaultComparators: readonly BoxComparatorSpec[] = [
	{ kind: "box-missing" },
	{ kind: "box-extra" },
	{ kind: "box-iou" },
	{ kind: "box-score" },
];

/** The group's comparators, or the defaults where it names none. */
export function boxComparators({ comparators }: Detections): readonly BoxComparatorSpec[] {
	return comparators ?? defaultComparators;
}

interface ReadSides {
	expected: readonly (readonly Detection[])[];
	pairs: ImagePair[];
	images: ImageMatching[];
}

/** The images of a case with their boxes paired; a string is the reason why that failed. */
export function readSides(
	spec: Detections,
	sides: Omit<BoxSides, "base">,
	precision: Precision,
): ReadSides | string {
	const expected = readDetections(sides.expected, spec);
	const got = readDetections(sides.got, spec);
	if (typeof expected === "string") return `the golden has ${expected}`;
	if (typeof got === "string") return `the engine gave ${got}`;
	if (expected.length !== got.length) return `expected ${expected.length} images, got ${got.length}`;
	const pairs = expected.map((boxes, image): ImagePair => ({ expected: boxes, got: got[image] ?? [] }));
	return { expected, pairs, images: matchImages(pairs, spec, boxTolerances[precision]) };
}

export function boxLimit({ kind, tolerance }: BoxComparatorSpec, precision: Precision): number {
	return toleranceAt(tolerance, precision) ?? kinds[kind].defaultLimit(boxTolerances[precision]);
}

export function boxKind(kind: BoxComparatorKind): Pick<BoxKind, "bound" | "range"> {
	return kinds[kind];
}

export function checkBoxes(spec: Detections, sides: BoxSides, precision: Precision): BoxChecks {
	const read = readSides(spec, sides, precision);
	if (typeof read === "string")
		return refused(
			spec,
			read,
			sides.base !== undefined && readSides(spec, { ...sides, got: sides.base }, precision) === read,
		);
	const { expected, pairs, images } = read;
	const defaults = boxTolerances[precision];
	const base = sides.base === undefined ? undefined : pairsWith(expected, readDetections(sides.base, spec));
	const boxes = expected.reduce((sum, image) => sum + image.length, 0);
	const ofCase = boxComparators(spec).filter(({ scope }) => scope !== "set");
	const checks = ofCase.map((comparator) => {
		const kind = kinds[comparator.kind];
		const allowed = boxLimit(comparator, precision);
		const check = boxCheck(spec, kind.measure(images, pairs), { ...comparator, allowed, boxes });
		if (base === undefined) return check;
		if (base === null) return { ...check, base: null };
		const { value } = kind.measure(matchImages(base, spec, defaults), base);
		return markExisting({ ...check, base: toNumeric(value) }, !keepsLimit(value, kind.bound, allowed));
	});
	return { checks, compared: boxes + images.length };
}

/** null: the base engine's output cannot be compared. */
function pairsWith(expected: readonly (readonly Detection[])[], got: Images): ImagePair[] | null {
	if (typeof got === "string" || got.length !== expected.length) return null;
	return expected.map((boxes, image) => ({ expected: boxes, got: got[image] ?? [] }));
}

interface BoxLimit extends BoxComparatorSpec {
	allowed: number;
	boxes: number;
}

function boxCheck(
	spec: Detections,
	measured: BoxMeasured,
	{ kind, severity, allowed, boxes }: BoxLimit,
): GoldenCheck {
	const { bound, range } = kinds[kind];
	const { value, image, worst, detail } = within(measured, range);
	return {
		output: spec.name,
		metric: kind,
		...(image === null ? {} : { sample: image }),
		got: toNumeric(value),
		allowed,
		bound,
		pass: keepsLimit(value, bound, allowed),
		severity: severity ?? "fail",
		elements: boxes,
		...(worst === null
			? {}
			: { worst: { index: worst.index, got: toNumeric(worst.got), expected: toNumeric(worst.expected) } }),
		detail,
	};
}

function refused(spec: Detections, detail: string, baseFails: boolean): BoxChecks {
	const check = {
		output: spec.name,
		metric: "shape",
		got: null,
		allowed: null,
		bound: "at-most",
		pass: false,
		severity: "fail",
		elements: 0,
		detail,
	} as const;
	return { checks: [markExisting(check, baseFails)], compared: 0 };
}

function matchImages(
	pairs: readonly ImagePair[],
	spec: Detections,
	defaults: BoxTolerances,
): ImageMatching[] {
	const rule = { matching: spec.matching ?? "hungarian", iou: spec.iou ?? 0.5 } as const;
	const certain = (spec.scoreThreshold ?? defaultScoreThreshold) + (spec.scoreBand ?? defaults.score);
	// Noise decides whether a box this near the threshold is there; a NaN score is always wrong.
	const matters = (box: Detection): boolean => !(box.score < certain);
	return pairs.map(({ expected, got }, image) => {
		const { matches, missing, extra } = matchBoxes(expected, got, rule);
		return { image, matches, missing: missing.filter(matters), extra: extra.filter(matters) };
	});
}

function loneBoxes(images: readonly ImageMatching[], side: "missing" | "extra"): BoxMeasured {
	const value = images.reduce((sum, image) => sum + image[side].length, 0);
	const worst = images.find((image) => image[side].length > 0);
	const box = worst?.[side][0];
	if (worst === undefined || box === undefined) return { value, image: null, worst: null };
	const who = side === "missing" ? "the engine has no" : "the golden has no";
	return { value, image: worst.image, worst: null, detail: `${who} box like ${describe(box)}` };
}

function describe({ x1, y1, x2, y2, score, class: label }: Detection): string {
	const round = (value: number): number => Number(value.toPrecision(4));
	return `class ${label}, score ${round(score)}, corners (${round(x1)}, ${round(y1)}) and (${round(x2)}, ${round(y2)})`;
}

/** 2 TP / (2 TP + missing + extra) of the worst image; two images without boxes agree fully. */
function lowestF1(images: readonly ImageMatching[]): BoxMeasured {
	let lowest: { value: number; image: ImageMatching } | null = null;
	for (const image of images) {
		const lone = image.missing.length + image.extra.length;
		const value = lone === 0 ? 1 : (2 * image.matches.length) / (2 * image.matches.length + lone);
		if (lowest === null || value < lowest.value) lowest = { value, image };
	}
	if (lowest === null) return { value: 1, image: null, worst: null };
	const { matches, missing, extra, image } = lowest.image;
	return {
		value: lowest.value,
		image,
		worst: null,
		detail: `${matches.length} match, ${missing.length} missing, ${extra.length} extra`,
	};
}

function worstMatch(
	images: readonly ImageMatching[],
	badness: (match: Match) => number,
): { match: Match; image: number } | null {
	let worst: { match: Match; image: number; bad: number } | null = null;
	for (const { image, matches } of images) {
		for (const match of matches) {
			const bad = badness(match);
			if (worst === null || (!Number.isNaN(worst.bad) && !(bad <= worst.bad))) worst = { match, image, bad };
		}
	}
	return worst;
}

function smallestOverlap(images: readonly ImageMatching[]): BoxMeasured {
	const worst = worstMatch(images, (match) => 1 - match.iou);
	if (worst === null) return { value: 1, image: null, worst: null };
	const { match, image } = worst;
	return {
		value: match.iou,
		image,
		worst: null,
		detail: `expected ${describe(match.expected)}, got ${describe(match.got)}`,
	};
}

function largestScoreDifference(images: readonly ImageMatching[]): BoxMeasured {
	const worst = worstMatch(images, ({ expected, got }) => Math.abs(got.score - expected.score));
	if (worst === null) return { value: 0, image: null, worst: null };
	const { match, image } = worst;
	const value = Math.abs(match.got.score - match.expected.score);
	return {
		value,
		image,
		worst: { index: [match.got.at], got: match.got.score, expected: match.expected.score },
		detail: describe(match.expected),
	};
}

function agreement(_: readonly ImageMatching[], pairs: readonly ImagePair[]): BoxMeasured {
	return { value: meanAveragePrecision(pairs), image: null, worst: null };
}
