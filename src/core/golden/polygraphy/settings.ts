// What Polygraphy's comparators are asked: which of them, and each limit for all outputs or for one.

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

/** What applies to one output; Polygraphy's defaults where nothing is said. */
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
