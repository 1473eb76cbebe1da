// One record for each metric of a golden. Add a metric here.
import type {
	BoxComparatorKind,
	ComparatorKind,
	ComparatorSpec,
	DType,
} from "../../../../generated/golden.ts";
import type { Bound } from "../../../../generated/result.ts";
import { boxKinds } from "../boxes/check-boxes.ts";
import { accuracy, tokenAgreement, topKAgreement } from "../metrics/classification.ts";
import { cosine } from "../metrics/cosine.ts";
import { klDivergence } from "../metrics/divergence.ts";
import { allclose, maxAbs, psnr, relativeL2 } from "../metrics/element-errors.ts";
import {
	fromZero,
	type Measured,
	type MetricOptions,
	type Range,
	share,
	within,
} from "../metrics/measured.ts";
import { measureRanks, measureRecall, rankAgreement, recallAtK } from "../metrics/neighbours.ts";
import { meanIou, pixelDisagreement } from "../metrics/segmentation.ts";
import { ssim } from "../metrics/ssim.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { classTally, meanTally, type SetTally, squareTally, vectorTally } from "../whole-set/tally.ts";
import { makePair, type Pair } from "./difference.ts";
import type { DefaultTolerances } from "./tolerances.ts";

/** What a default limit may depend on. */
interface LimitFacts {
	defaults: DefaultTolerances;
	dtype: DType;
	/** The part of the golden output that the comparator covers. */
	part(): Tensor;
	/** Root mean square of the part. */
	rms(): number;
	options: MetricOptions;
}

export interface Metric {
	label: string;
	bound: Bound;
	/** Possible values; others become NaN. */
	range: Range;
	/** A limit that every output keeps, so a golden may not set it. */
	emptyLimit?: number;
	measure(pair: Pair, options: MetricOptions): Measured;
	defaultLimit(facts: LimitFacts): number;
	/** Keys of the comparator that only some metrics read, except `axis`. */
	keys: readonly (keyof ComparatorSpec)[];
	axis?: { default: number; holds: "classes" | "vectors" };
	/** Default of the comparator's `k`. */
	k?: number;
	/** Integers are classes and need no axis. */
	readsIds?: boolean;
	/** Covers the whole output by default, or always, instead of each sample. */
	whole?: "by default" | "always";
	/** How `scope: set` adds up cases; absent: the worst case decides anyway. */
	set?: "mean" | (() => SetTally);
	/** Element types that it cannot measure. */
	refuses?: "bool";
}

/** Kinds that are measured here; a custom command measures for itself. */
export type MetricKind = Exclude<ComparatorKind, "custom">;

const signed: Range = { least: -1, most: 1 };
const decibels: Range = { least: -Number.MAX_VALUE, most: Number.POSITIVE_INFINITY };

const topK = ({ defaults }: LimitFacts): number => defaults.topK;
const lastAxis = { default: -1, holds: "classes" } as const;
/** Images have their channels, and with them the classes, before height and width. */
const classMap = {
	range: share,
	keys: ["threshold", "ignore"],
	axis: { default: 1, holds: "classes" },
	readsIds: true,
} as const;
const neighbours = {
	bound: "at-least",
	axis: { default: -1, holds: "vectors" },
	whole: "always",
	refuses: "bool",
	defaultLimit: topK,
} as const;

const records: Readonly<Record<MetricKind, Metric>> = {
	"relative-l2": {
		label: "relative L2",
		bound: "at-most",
		range: fromZero,
		measure: relativeL2,
		defaultLimit: ({ defaults }) => defaults.relativeL2,
		keys: ["floor"],
		set: squareTally,
	},
	"max-abs": {
		label: "largest absolute difference",
		bound: "at-most",
		range: fromZero,
		measure: maxAbs,
		defaultLimit: ({ defaults, rms }) => defaults.maxAbsPerRms * rms(),
		keys: ["floor"],
	},
	allclose: {
		label: "share of elements outside tolerance",
		bound: "at-most",
		range: share,
		emptyLimit: 1,
		measure: allclose,
		defaultLimit: ({ defaults, dtype }) => (isFloating(dtype) ? defaults.outside : 0),
		keys: ["rtol", "atol", "floor"],
		set: "mean",
	},
	cosine: {
		label: "cosine similarity",
		bound: "at-least",
		range: signed,
		measure: cosine,
		defaultLimit: ({ defaults }) => defaults.cosine,
		keys: ["floor"],
		refuses: "bool",
	},
	"top-k": {
		label: "share of rows whose top classes agree",
		bound: "at-least",
		range: share,
		emptyLimit: 0,
		measure: topKAgreement,
		defaultLimit: topK,
		keys: ["k", "minScore"],
		axis: lastAxis,
		whole: "by default",
		set: "mean",
		refuses: "bool",
	},
	kl: {
		label: "mean KL divergence",
		bound: "at-most",
		range: fromZero,
		measure: klDivergence,
		defaultLimit: ({ defaults }) => defaults.kl,
		keys: ["input"],
		axis: lastAxis,
		set: "mean",
		refuses: "bool",
	},
	psnr: {
		label: "PSNR in dB",
		bound: "at-least",
		range: decibels,
		measure: psnr,
		// What relative-l2 allows of an image whose root mean square is its range; stricter for others.
		defaultLimit: ({ defaults }) => -20 * Math.log10(defaults.relativeL2),
		keys: ["dataRange", "floor"],
	},
	ssim: {
		label: "mean SSIM",
		bound: "at-least",
		range: signed,
		measure: ssim,
		defaultLimit: ({ defaults }) => defaults.ssim,
		keys: ["dataRange", "window", "channels"],
	},
	miou: {
		...classMap,
		label: "mean IoU of the classes",
		bound: "at-least",
		emptyLimit: 0,
		measure: meanIou,
		defaultLimit: topK,
		set: classTally,
	},
	"pixel-disagreement": {
		...classMap,
		label: "share of pixels of another class",
		bound: "at-most",
		emptyLimit: 1,
		measure: pixelDisagreement,
		defaultLimit: ({ defaults }) => 1 - defaults.topK,
		set: "mean",
	},
	"recall-at-k": {
		...neighbours,
		label: "share of nearest neighbours kept",
		range: share,
		emptyLimit: 0,
		measure: recallAtK,
		keys: ["k"],
		k: 10,
		set: () => vectorTally(measureRecall),
	},
	"rank-agreement": {
		...neighbours,
		label: "mean rank correlation of similarities",
		range: signed,
		measure: rankAgreement,
		keys: [],
		set: () => vectorTally(measureRanks),
	},
	"token-agreement": {
		label: "share of tokens that agree",
		bound: "at-least",
		range: share,
		emptyLimit: 0,
		measure: tokenAgreement,
		defaultLimit: topK,
		keys: ["ignore"],
		axis: lastAxis,
		readsIds: true,
		whole: "by default",
		set: "mean",
	},
	accuracy: {
		label: "share of rows that are right by their labels",
		bound: "at-least",
		range: share,
		emptyLimit: 0,
		measure: accuracy,
		// A share of what the golden itself reaches.
		defaultLimit: ({ defaults, part, options }) =>
			(accuracy(makePair(part(), part()), options).value || 0) * defaults.topK,
		keys: ["k", "ignore"],
		axis: lastAxis,
		readsIds: true,
		whole: "always",
		set: "mean",
	},
};

/** An impossible value never passes, and hides no other part or row. */
export const metrics = Object.fromEntries(
	Object.entries(records).map(([kind, metric]): [string, Metric] => [
		kind,
		{ ...metric, measure: (pair, options) => within(metric.measure(pair, options), metric.range) },
	]),
) as Readonly<Record<MetricKind, Metric>>;

/** Null: cases cannot be added up under this metric. */
export function setTally(kind: MetricKind): SetTally | null {
	const { set, measure, bound } = metrics[kind];
	return set === "mean" ? meanTally(measure, bound) : (set?.() ?? null);
}

export const metricLabels = Object.fromEntries([
	...[...Object.entries(records), ...Object.entries(boxKinds)].map(([kind, { label }]) => [kind, label]),
	["custom", "value of a command"],
]) as Readonly<Record<ComparatorKind | BoxComparatorKind, string>>;
