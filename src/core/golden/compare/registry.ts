// The metrics by comparator kind: measurement, direction of the limit, and default limit. Add a metric here.
import type { ComparatorKind, DType } from "../../../../generated/golden.ts";
import type { Bound } from "../../../../generated/result.ts";
import { accuracy, goldenAccuracy, tokenAgreement, topKAgreement } from "../metrics/classification.ts";
import { cosine } from "../metrics/cosine.ts";
import { jsDivergence, klDivergence } from "../metrics/divergence.ts";
import { allclose, errorQuantile, maxAbs, psnr, relativeL2, ulpDistance } from "../metrics/element-errors.ts";
import { type Measured, type MetricOptions, type Range, within } from "../metrics/measured.ts";
import { rankAgreement, recallAtK } from "../metrics/neighbours.ts";
import { dice, meanIou, pixelDisagreement } from "../metrics/segmentation.ts";
import { ssim } from "../metrics/ssim.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { makePair, type Pair } from "./difference.ts";
import { type DefaultTolerances, epsilonOf } from "./tolerances.ts";

/** What a default limit may depend on. */
export interface LimitFacts {
	defaults: DefaultTolerances;
	dtype: DType;
	/** The golden output, or the part of it that the comparator covers. */
	part(): Tensor;
	/** Its root mean square. */
	rms(): number;
	options: MetricOptions;
}

export interface Metric {
	bound: Bound;
	/** Possible results of `measure`; everything else becomes NaN. */
	range: Range;
	measure(pair: Pair, options: MetricOptions): Measured;
	defaultLimit(facts: LimitFacts): number;
}

/** Kinds that are measured here; a custom command measures for itself. */
export type MetricKind = Exclude<ComparatorKind, "custom">;

export const fromZero: Range = { least: 0, most: Number.POSITIVE_INFINITY };
export const share: Range = { least: 0, most: 1 };
const signed: Range = { least: -1, most: 1 };
/** Infinite where nothing differs. */
const decibels: Range = { least: -Number.MAX_VALUE, most: Number.POSITIVE_INFINITY };

const plainMetrics: Readonly<Record<MetricKind, Metric>> = {
	"relative-l2": {
		bound: "at-most",
		range: fromZero,
		measure: relativeL2,
		defaultLimit: ({ defaults }) => defaults.relativeL2,
	},
	"max-abs": {
		bound: "at-most",
		range: fromZero,
		measure: maxAbs,
		defaultLimit: ({ defaults, rms }) => defaults.maxAbsPerRms * rms(),
	},
	// Integers of an output that is no measurement: none may differ.
	allclose: {
		bound: "at-most",
		range: share,
		measure: allclose,
		defaultLimit: ({ defaults, dtype }) => (isFloating(dtype) ? defaults.outside : 0),
	},
	cosine: {
		bound: "at-least",
		range: signed,
		measure: cosine,
		defaultLimit: ({ defaults }) => defaults.cosine,
	},
	"top-k": {
		bound: "at-least",
		range: share,
		measure: topKAgreement,
		defaultLimit: ({ defaults }) => defaults.topK,
	},
	kl: {
		bound: "at-most",
		range: fromZero,
		measure: klDivergence,
		defaultLimit: ({ defaults }) => defaults.kl,
	},
	// Of near distributions it is a quarter of the KL divergence.
	js: {
		bound: "at-most",
		range: { least: 0, most: Math.LN2 },
		measure: jsDivergence,
		defaultLimit: ({ defaults }) => defaults.kl / 4,
	},
	// As far as rtol reaches: an error of one epsilon is one or two units.
	ulp: {
		bound: "at-most",
		range: fromZero,
		measure: ulpDistance,
		defaultLimit: ({ defaults, dtype }) =>
			isFloating(dtype) ? Math.max(1, Math.ceil(defaults.rtol / epsilonOf(dtype))) : 0,
	},
	// Three times the root mean square error that relative-l2 allows: where errors are normal, 0.3 % are larger.
	quantile: {
		bound: "at-most",
		range: fromZero,
		measure: errorQuantile,
		defaultLimit: ({ defaults, rms }) => 3 * defaults.relativeL2 * rms(),
	},
	// What relative-l2 allows, of an image whose root mean square is its range; of others it is stricter.
	psnr: {
		bound: "at-least",
		range: decibels,
		measure: psnr,
		defaultLimit: ({ defaults }) => -20 * Math.log10(defaults.relativeL2),
	},
	ssim: { bound: "at-least", range: signed, measure: ssim, defaultLimit: ({ defaults }) => defaults.ssim },
	miou: { bound: "at-least", range: share, measure: meanIou, defaultLimit: ({ defaults }) => defaults.topK },
	dice: { bound: "at-least", range: share, measure: dice, defaultLimit: ({ defaults }) => defaults.topK },
	"pixel-disagreement": {
		bound: "at-most",
		range: share,
		measure: pixelDisagreement,
		defaultLimit: ({ defaults }) => 1 - defaults.topK,
	},
	"recall-at-k": {
		bound: "at-least",
		range: share,
		measure: recallAtK,
		defaultLimit: ({ defaults }) => defaults.topK,
	},
	"rank-agreement": {
		bound: "at-least",
		range: signed,
		measure: rankAgreement,
		defaultLimit: ({ defaults }) => defaults.topK,
	},
	"token-agreement": {
		bound: "at-least",
		range: share,
		measure: tokenAgreement,
		defaultLimit: ({ defaults }) => defaults.topK,
	},
	// A share of what the golden itself reaches.
	accuracy: {
		bound: "at-least",
		range: share,
		measure: accuracy,
		defaultLimit: ({ defaults, part, options }) =>
			goldenAccuracy(makePair(part(), part()), options) * defaults.topK,
	},
};

/** Applies to every metric: an impossible value never passes and hides no other part or row. */
export const metrics = Object.fromEntries(
	Object.entries(plainMetrics).map(([kind, metric]): [string, Metric] => [
		kind,
		{ ...metric, measure: (pair, options) => within(metric.measure(pair, options), metric.range) },
	]),
) as Readonly<Record<MetricKind, Metric>>;

/** Whether a value keeps a limit; written so that NaN keeps none, and an infinite error not even an infinite limit. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed && value < Number.POSITIVE_INFINITY : value >= allowed;
}
