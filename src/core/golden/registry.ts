// The metrics by comparator kind: how each is measured, which way its limit points, and its limit where the golden names none.
import type { ComparatorKind } from "../schema/golden.ts";
import type { Bound } from "../schema/result.ts";
import { makePair, type Pair } from "./difference.ts";
import { accuracy, goldenAccuracy } from "./metrics/accuracy.ts";
import { allclose } from "./metrics/allclose.ts";
import { cosine } from "./metrics/cosine.ts";
import { jsDivergence } from "./metrics/js.ts";
import { klDivergence } from "./metrics/kl.ts";
import { maxAbs } from "./metrics/max-abs.ts";
import type { Measured, Question } from "./metrics/measured.ts";
import { rankAgreement, recallAtK } from "./metrics/neighbours.ts";
import { psnr } from "./metrics/psnr.ts";
import { errorQuantile } from "./metrics/quantile.ts";
import { relativeL2 } from "./metrics/relative-l2.ts";
import { dice, meanIou, pixelDisagreement } from "./metrics/segmentation.ts";
import { ssim } from "./metrics/ssim.ts";
import { tokenAgreement } from "./metrics/tokens.ts";
import { topKAgreement } from "./metrics/top-k.ts";
import { ulpDistance } from "./metrics/ulp.ts";
import { isFloating, type Tensor } from "./tensor.ts";
import { type DefaultTolerances, epsilonOf } from "./tolerances.ts";

/** What a default limit may depend on. */
export interface LimitFacts {
	defaults: DefaultTolerances;
	/** The golden output. */
	expected: Tensor;
	/** Its root mean square. */
	rms(): number;
	question: Question;
}

export interface Metric {
	bound: Bound;
	measure(pair: Pair, question: Question): Measured;
	defaultLimit(facts: LimitFacts): number;
}

/** Kinds that are measured here; a custom command measures for itself. */
export type MetricKind = Exclude<ComparatorKind, "custom">;

export const metrics: Readonly<Record<MetricKind, Metric>> = {
	"relative-l2": { bound: "at-most", measure: relativeL2, defaultLimit: ({ defaults }) => defaults.relativeL2 },
	"max-abs": { bound: "at-most", measure: maxAbs, defaultLimit: ({ defaults, rms }) => defaults.maxAbsPerRms * rms() },
	// Integers of an output that is no measurement: none may differ.
	allclose: {
		bound: "at-most",
		measure: allclose,
		defaultLimit: ({ defaults, expected }) => (isFloating(expected.dtype) ? defaults.outside : 0),
	},
	cosine: { bound: "at-least", measure: cosine, defaultLimit: ({ defaults }) => defaults.cosine },
	"top-k": { bound: "at-least", measure: topKAgreement, defaultLimit: ({ defaults }) => defaults.topK },
	kl: { bound: "at-most", measure: klDivergence, defaultLimit: ({ defaults }) => defaults.kl },
	// Of near distributions it is a quarter of the KL divergence.
	js: { bound: "at-most", measure: jsDivergence, defaultLimit: ({ defaults }) => defaults.kl / 4 },
	// As far as rtol reaches: an error of one epsilon is one or two units.
	ulp: {
		bound: "at-most",
		measure: ulpDistance,
		defaultLimit: ({ defaults, expected }) =>
			isFloating(expected.dtype) ? Math.max(1, Math.ceil(defaults.rtol / epsilonOf(expected.dtype))) : 0,
	},
	// Three times the root mean square error that relative-l2 allows: where errors are normal, 0.3 % are larger.
	quantile: { bound: "at-most", measure: errorQuantile, defaultLimit: ({ defaults, rms }) => 3 * defaults.relativeL2 * rms() },
	// What relative-l2 allows, of an image whose root mean square is its range; of others it is stricter.
	psnr: { bound: "at-least", measure: psnr, defaultLimit: ({ defaults }) => -20 * Math.log10(defaults.relativeL2) },
	ssim: { bound: "at-least", measure: ssim, defaultLimit: ({ defaults }) => defaults.ssim },
	miou: { bound: "at-least", measure: meanIou, defaultLimit: ({ defaults }) => defaults.topK },
	dice: { bound: "at-least", measure: dice, defaultLimit: ({ defaults }) => defaults.topK },
	"pixel-disagreement": { bound: "at-most", measure: pixelDisagreement, defaultLimit: ({ defaults }) => 1 - defaults.topK },
	"recall-at-k": { bound: "at-least", measure: recallAtK, defaultLimit: ({ defaults }) => defaults.topK },
	"rank-agreement": { bound: "at-least", measure: rankAgreement, defaultLimit: ({ defaults }) => defaults.topK },
	"token-agreement": { bound: "at-least", measure: tokenAgreement, defaultLimit: ({ defaults }) => defaults.topK },
	// A share of what the golden itself reaches.
	accuracy: {
		bound: "at-least",
		measure: accuracy,
		defaultLimit: ({ defaults, expected, question }) => goldenAccuracy(makePair(expected, expected), question) * defaults.topK,
	},
};

/** Whether a value keeps a limit; written so that NaN keeps none. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed : value >= allowed;
}
