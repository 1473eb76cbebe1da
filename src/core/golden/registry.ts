// The metrics by comparator kind: how each is measured, which way its limit points, and what it says in words.
import type { ComparatorKind } from "../schema/golden.ts";
import type { Bound } from "../schema/result.ts";
import type { Pair } from "./difference.ts";
import { allclose } from "./metrics/allclose.ts";
import { cosine } from "./metrics/cosine.ts";
import { klDivergence } from "./metrics/kl.ts";
import { maxAbs } from "./metrics/max-abs.ts";
import type { Measured, Question } from "./metrics/measured.ts";
import { relativeL2 } from "./metrics/relative-l2.ts";
import { topKAgreement } from "./metrics/top-k.ts";
import type { DefaultTolerances } from "./tolerances.ts";

export interface Metric {
	bound: Bound;
	/** What the number is, for people. */
	words: string;
	measure(pair: Pair, question: Question): Measured;
	/** The limit where the golden names none; `rms` is the root mean square of the golden output. */
	defaultLimit(defaults: DefaultTolerances, rms: () => number): number;
}

export const metrics: Readonly<Record<ComparatorKind, Metric>> = {
	"relative-l2": { bound: "at-most", words: "relative L2 error", measure: relativeL2, defaultLimit: (defaults) => defaults.relativeL2 },
	"max-abs": {
		bound: "at-most",
		words: "largest absolute difference",
		measure: maxAbs,
		defaultLimit: (defaults, rms) => defaults.maxAbsPerRms * rms(),
	},
	allclose: {
		bound: "at-most",
		words: "share of elements outside the tolerance",
		measure: allclose,
		defaultLimit: (defaults) => defaults.outside,
	},
	cosine: { bound: "at-least", words: "cosine similarity", measure: cosine, defaultLimit: (defaults) => defaults.cosine },
	"top-k": {
		bound: "at-least",
		words: "share of rows with the same best classes",
		measure: topKAgreement,
		defaultLimit: (defaults) => defaults.topK,
	},
	kl: { bound: "at-most", words: "mean KL divergence in nats", measure: klDivergence, defaultLimit: (defaults) => defaults.kl },
};

/** Whether a value keeps a limit; written so that NaN keeps none. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed : value >= allowed;
}
