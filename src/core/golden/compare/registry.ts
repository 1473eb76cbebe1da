// One record for each metric of a golden: everything that the rest of trtgate knows of it. Add a metric here.
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
import { jsDivergence, klDivergence } from "../metrics/divergence.ts";
import { allclose, errorQuantile, maxAbs, psnr, relativeL2, ulpDistance } from "../metrics/element-errors.ts";
import {
	fromZero,
	type Measured,
	type MetricOptions,
	type Range,
	share,
	within,
} from "../metrics/measured.ts";
import { measureRanks, measureRecall, rankAgreement, recallAtK } from "../metrics/neighbours.ts";
import { dice, diceScore, iouScore, meanIou, pixelDisagreement } from "../metrics/segmentation.ts";
import { ssim } from "../metrics/ssim.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { classTally, meanTally, type SetTally, squareTally, vectorTally } from "../whole-set/tally.ts";
import { makePair, type Pair } from "./difference.ts";
import { type DefaultTolerances, epsilonOf } from "./tolerances.ts";

/** What a default limit may depend on. */
interface LimitFacts {
	defaults: DefaultTolerances;
	dtype: DType;
	/** The golden output, or the part of it that the comparator covers. */
	part(): Tensor;
	/** Its root mean square. */
	rms(): number;
	options: MetricOptions;
}

export interface Metric {
	/** For people: what the number is. */
	label: string;
	bound: Bound;
	/** Possible results of `measure`; everything else becomes NaN. */
	range: Range;
	/** A limit that every output keeps, so that a golden may not set it. */
	emptyLimit?: number;
	measure(pair: Pair, options: MetricOptions): Measured;
	defaultLimit(facts: LimitFacts): number;
	/** Keys of the comparator that only some metrics read, `axis` aside. */
	keys: readonly (keyof ComparatorSpec)[];
	/** What lies along the axis that the comparator names. */
	axis?: { default: number; holds: "classes" | "vectors" };
	/** Without `k` in the comparator; 1 where the metric reads none. */
	k?: number;
	/** Bare integers are classes, and need no axis. */
	readsIds?: boolean;
	/** Whether it covers the whole output by default, or always: its value is a share of rows, or covers all rows together. */
	whole?: "by default" | "always";
	/** How cases are added up under `scope: set`; absent: the worst case decides anyway. */
	set?: "mean" | (() => SetTally);
	/** Element types that it cannot measure. */
	refuses?: "integers" | "bool";
}

/** Kinds that are measured here; a custom command measures for itself. */
export type MetricKind = Exclude<ComparatorKind, "custom">;

const signed: Range = { least: -1, most: 1 };
/** Infinite where nothing differs. */
const decibels: Range = { least: -Number.MAX_VALUE, most: Number.POSITIVE_INFINITY };

const topK = ({ defaults }: LimitFacts): number => defaults.topK;
const lastAxis = { default: -1, holds: "classes" } as const;
const divergence = {
	bound: "at-most",
	keys: ["input"],
	axis: lastAxis,
	set: "mean",
	refuses: "bool",
} as const;
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
		// Integers of an output that is no measurement: none may differ.
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
		...divergence,
		label: "mean KL divergence",
		range: fromZero,
		measure: klDivergence,
		defaultLimit: ({ defaults }) => defaults.kl,
	},
	js: {
		...divergence,
		label: "mean Jensen-Shannon divergence",
		range: { least: 0, most: Math.LN2 },
		emptyLimit: Math.LN2,
		measure: jsDivergence,
		// Of near distributions it is a quarter of the KL divergence.
		defaultLimit: ({ defaults }) => defaults.kl / 4,
	},
	ulp: {
		label: "largest distance in ULP",
		bound: "at-most",
		range: fromZero,
		measure: ulpDistance,
		// As far as rtol reaches: an error of one epsilon is one or two units.
		defaultLimit: ({ defaults, dtype }) =>
			isFloating(dtype) ? Math.max(1, Math.ceil(defaults.rtol / epsilonOf(dtype))) : 0,
		keys: ["floor"],
		refuses: "integers",
	},
	quantile: {
		label: "quantile of the absolute error",
		bound: "at-most",
		range: fromZero,
		measure: errorQuantile,
		// Three times the root mean square error that relative-l2 allows: where errors are normal, 0.3 % are larger.
		defaultLimit: ({ defaults, rms }) => 3 * defaults.relativeL2 * rms(),
		keys: ["quantile", "floor"],
	},
	psnr: {
		label: "PSNR in dB",
		bound: "at-least",
		range: decibels,
		measure: psnr,
		// What relative-l2 allows, of an image whose root mean square is its range; of others it is stricter.
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
		set: () => classTally(iouScore),
	},
	dice: {
		...classMap,
		label: "mean Dice of the classes",
		bound: "at-least",
		emptyLimit: 0,
		measure: dice,
		defaultLimit: topK,
		set: () => classTally(diceScore),
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

/** Applies to every metric: an impossible value never passes and hides no other part or row. */
export const metrics = Object.fromEntries(
	Object.entries(records).map(([kind, metric]): [string, Metric] => [
		kind,
		{ ...metric, measure: (pair, options) => within(metric.measure(pair, options), metric.range) },
	]),
) as Readonly<Record<MetricKind, Metric>>;

/** null: a kind that no set can be judged by. */
export function setTally(kind: ComparatorKind): SetTally | null {
	if (kind === "custom") return null;
	const { set, measure, bound } = metrics[kind];
	return set === "mean" ? meanTally(measure, bound) : (set?.() ?? null);
}

export const metricLabels = Object.fromEntries([
	...[...Object.entries(records), ...Object.entries(boxKinds)].map(([kind, { label }]) => [kind, label]),
	["custom", "value of a command"],
]) as Readonly<Record<ComparatorKind | BoxComparatorKind, string>>;
