// One record for each metric of a golden. Add a metric here.
import type {
	BoxComparatorKind,
	ComparatorKind,
	ComparatorSpec,
	DType,
} from "../../../../generated/golden.ts";
import type { Bound } from "../../../../generated/result.ts";
import { boxKinds } from "../boxes/check-boxes.ts";
import { accuracy, klDivergence, tokenAgreement, topKAgreement } from "../metrics/classification.ts";
import {
	allclose,
	cosine,
	fromZero,
	type Measured,
	type MetricOptions,
	maxAbs,
	psnr,
	type Range,
	relativeL2,
	share,
	within,
} from "../metrics/element-errors.ts";
import {
	meanIou,
	measureRanks,
	measureRecall,
	pixelDisagreement,
	rankAgreement,
	recallAtK,
} from "../metrics/segmentation.ts";
import { ssim } from "../metrics/ssim.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { classTally, meanTally, type SetTally, squareTally, vectorTally } from "../whole-set/tally.ts";
import { makePair, type Pair } from "./difference.ts";
import type { DefaultTolerances } from "./tolerances.ts";

interface LimitFacts {
	defaults: DefaultTolerances;
	dtype: DType;
	part(): Tensor;
	rms(): number;
	options: MetricOptions;
}

export interface Metric {
	label: string;
	bound: Bound;
	range: Range;
	/** A limit that every output keeps. */
	emptyLimit?: number;
	measure(pair: Pair, options: MetricOptions): Measured;
	defaultLimit(facts: LimitFacts): number;
	keys: readonly (keyof ComparatorSpec)[];
	axis?: { default: number; holds: "classes" | "vectors" };
	k?: number;
	readsIds?: boolean;
	whole?: "by default" | "always";
	set?: "mean" | (() => SetTally);
	refuses?: "bool";
}

export type MetricKind = Exclude<ComparatorKind, "custom">;

const signed: Range = { least: -1, most: 1 };
const decibels: Range = { least: -Number.MAX_VALUE, most: Infinity };

const topK = ({ defaults }: LimitFacts) => defaults.topK;
const error = { bound: "at-most", range: fromZero } as const;
const agreement = { bound: "at-least", range: share, emptyLimit: 0, defaultLimit: topK } as const;
const disagreement = { bound: "at-most", range: share, emptyLimit: 1 } as const;
const similarity = { bound: "at-least", range: signed } as const;
const lastAxis = { default: -1, holds: "classes" } as const;
const classMap = {
	keys: ["threshold", "ignore"],
	axis: { default: 1, holds: "classes" },
	readsIds: true,
} as const;
const neighbours = {
	axis: { default: -1, holds: "vectors" },
	whole: "always",
	refuses: "bool",
} as const;

const records: Readonly<Record<MetricKind, Metric>> = {
	"relative-l2": {
		...error,
		label: "relative L2",
		measure: relativeL2,
		defaultLimit: ({ defaults }) => defaults.relativeL2,
		keys: ["floor"],
		set: squareTally,
	},
	"max-abs": {
		...error,
		label: "largest absolute difference",
		measure: maxAbs,
		defaultLimit: ({ defaults, rms }) => defaults.maxAbsPerRms * rms(),
		keys: ["floor"],
	},
	allclose: {
		...disagreement,
		label: "share of elements outside tolerance",
		measure: allclose,
		defaultLimit: ({ defaults, dtype }) => (isFloating(dtype) ? defaults.outside : 0),
		keys: ["rtol", "atol", "floor"],
		set: "mean",
	},
	cosine: {
		...similarity,
		label: "cosine similarity",
		measure: cosine,
		defaultLimit: ({ defaults }) => defaults.cosine,
		keys: ["floor"],
		refuses: "bool",
	},
	"top-k": {
		...agreement,
		label: "share of rows whose top classes agree",
		measure: topKAgreement,
		keys: ["k", "minScore"],
		axis: lastAxis,
		whole: "by default",
		set: "mean",
		refuses: "bool",
	},
	kl: {
		...error,
		label: "mean KL divergence",
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
		// Equals relative-l2's limit for an image whose root mean square is its range; stricter for others.
		defaultLimit: ({ defaults }) => -20 * Math.log10(defaults.relativeL2),
		keys: ["dataRange", "floor"],
	},
	ssim: {
		...similarity,
		label: "mean SSIM",
		measure: ssim,
		defaultLimit: ({ defaults }) => defaults.ssim,
		keys: ["dataRange", "window", "channels"],
	},
	miou: {
		...agreement,
		...classMap,
		label: "mean IoU of the classes",
		measure: meanIou,
		set: classTally,
	},
	"pixel-disagreement": {
		...disagreement,
		...classMap,
		label: "share of pixels of another class",
		measure: pixelDisagreement,
		defaultLimit: ({ defaults }) => 1 - defaults.topK,
		set: "mean",
	},
	"recall-at-k": {
		...agreement,
		...neighbours,
		label: "share of nearest neighbours kept",
		measure: recallAtK,
		keys: ["k"],
		k: 10,
		set: () => vectorTally(measureRecall),
	},
	"rank-agreement": {
		...similarity,
		...neighbours,
		label: "mean rank correlation of similarities",
		measure: rankAgreement,
		defaultLimit: topK,
		keys: [],
		set: () => vectorTally(measureRanks),
	},
	"token-agreement": {
		...agreement,
		label: "share of tokens that agree",
		measure: tokenAgreement,
		keys: ["ignore"],
		axis: lastAxis,
		readsIds: true,
		whole: "by default",
		set: "mean",
	},
	accuracy: {
		...agreement,
		label: "share of rows that are right by their labels",
		measure: accuracy,
		defaultLimit: ({ defaults, part, options }) =>
			(accuracy(makePair(part(), part()), options).value || 0) * defaults.topK,
		keys: ["k", "ignore"],
		axis: lastAxis,
		readsIds: true,
		whole: "always",
		set: "mean",
	},
};

/** An impossible value never passes, and does not hide other parts or rows. */
export const metrics = Object.fromEntries(
	Object.entries(records).map(([kind, metric]): [string, Metric] => [
		kind,
		{ ...metric, measure: (pair, options) => within(metric.measure(pair, options), metric.range) },
	]),
) as Readonly<Record<MetricKind, Metric>>;

export function setTally(kind: MetricKind): SetTally | null {
	const { set, measure, bound } = metrics[kind];
	return set === "mean" ? meanTally(measure, bound) : (set?.() ?? null);
}

export const metricLabels = Object.fromEntries([
	...[...Object.entries(records), ...Object.entries(boxKinds)].map(([kind, { label }]) => [kind, label]),
	["custom", "value of a command"],
]) as Readonly<Record<ComparatorKind | BoxComparatorKind, string>>;
