// Settings of Polygraphy's comparators, and the outcome of one comparator on one output.
import type { Bound, Numeric } from "../../schema/result.ts";
import { toNumeric } from "../compare/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";

export const compareNames = ["simple", "indices", "l2", "cosine_similarity", "psnr", "snr"] as const;
export type CompareName = (typeof compareNames)[number];

export const errorStatistics = ["elemwise", "max", "mean", "median", "quantile"] as const;
export type ErrorStatistic = (typeof errorStatistics)[number];

/**
 * A share between places is interpolated. 0 and 1 written without a point are places themselves for numpy, which then computes nothing: that
 * works for bools too, and beside infinities.
 */
export type Quantile = number | "first" | "last";

/** By the first runner's output; the empty name is for all others. */
export type ByOutput<Value> = ReadonlyMap<string, Value>;

export interface PolygraphySettings {
	/** All have to pass. */
	compare: readonly CompareName[];
	rtol: ByOutput<number>;
	atol: ByOutput<number>;
	statistic: ByOutput<ErrorStatistic>;
	quantile: ByOutput<Quantile>;
	infinitiesEqual: boolean;
	indexTolerance: ByOutput<number>;
	l2: ByOutput<number>;
	cosine: ByOutput<number>;
	psnr: ByOutput<number>;
	snr: ByOutput<number>;
}

/** The settings of one output, with Polygraphy's defaults. */
export interface OutputSettings {
	rtol: number;
	atol: number;
	statistic: ErrorStatistic;
	quantile: Quantile;
	infinitiesEqual: boolean;
	indexTolerance: number;
	l2: number;
	cosine: number;
	psnr: number;
	snr: number;
}

export function settingsFor(output: string, settings: PolygraphySettings): OutputSettings {
	const of = <Value>(given: ByOutput<Value>, byDefault: Value): Value => given.get(output) ?? given.get("") ?? byDefault;
	return {
		rtol: of(settings.rtol, 1e-5),
		atol: of(settings.atol, 1e-5),
		statistic: of(settings.statistic, "elemwise"),
		quantile: of(settings.quantile, 0.99),
		infinitiesEqual: settings.infinitiesEqual,
		indexTolerance: of(settings.indexTolerance, 0),
		l2: of(settings.l2, 1e-5),
		cosine: of(settings.cosine, 0.997),
		psnr: of(settings.psnr, 30),
		snr: of(settings.snr, 20),
	};
}

/** The first runner's output, in Polygraphy's order the candidate's, and the second's, the reference. */
export interface RunnerOutputs {
	candidate: Tensor;
	golden: Tensor;
}

export interface Measure {
	name: string;
	value: Numeric;
	allowed: Numeric;
	bound: Bound;
	pass: boolean;
}

export interface Outcome {
	pass: boolean;
	measures: Measure[];
	/** Why Polygraphy exits with an error instead of a verdict. */
	error?: string;
	/** Reasons why a pass may be wrong. */
	warnings: string[];
}

export interface Limit {
	allowed: number;
	bound: Bound;
}

/** NaN keeps no limit; an infinite error keeps an infinite one, as it does for Polygraphy. */
export function measure(name: string, value: number, { allowed, bound }: Limit): Measure {
	return {
		name,
		value: toNumeric(value),
		allowed: toNumeric(allowed),
		bound,
		pass: bound === "at-most" ? value <= allowed : value >= allowed,
	};
}

export function stopped(why: string): Outcome {
	return { pass: false, measures: [], error: why, warnings: [] };
}
