// How much time is left: one figure where that is known, else from least to most.

export interface TimeLeft {
	leastMs: number;
	/** Not less than the least; the same where the figure is known within about 30 %. */
	mostMs: number;
}

/** What something takes. */
export interface Duration {
	meanMs: number;
	varianceMs2: number;
}

const shares = Array.from({ length: 10 }, (_, at) => (at + 0.5) / 10);

/**
 * Of something that has lasted for a while and whose duration is known only roughly: log-logistic.
 * @param spread standard deviation of its logarithm.
 */
export function roughDuration(medianMs: number, spread: number, lastedMs = 0): Duration {
	if (medianMs <= 0) return { meanMs: 0, varianceMs2: 0 };
	const scale = (spread * Math.sqrt(3)) / Math.PI;
	const odds = (lastedMs / medianMs) ** (1 / scale);
	const timesMs = shares.map((share) => medianMs * ((odds + share) / (1 - share)) ** scale);
	const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value) / values.length;
	const meanMs = mean(timesMs);
	return { meanMs, varianceMs2: mean(timesMs.map((timeMs) => (timeMs - meanMs) ** 2)) };
}

/** Quantile of the normal distribution at 0.9: four of five sums lie between least and most. */
const normalQuantile = 1.2816;
/** A range that is smaller, or ends in less time, is one figure. */
const [leastFactor, leastRangeMs] = [1.3, 10_000];

/** Of a sum of durations: log-normal. */
export function timeLeftOf({ meanMs, varianceMs2 }: Duration): TimeLeft {
	const logVariance = meanMs > 0 ? Math.log1p(varianceMs2 / meanMs ** 2) : 0;
	const factor = Math.exp(normalQuantile * Math.sqrt(logVariance));
	const medianMs = meanMs * Math.exp(-logVariance / 2);
	const isFigure = factor <= leastFactor || medianMs * factor < leastRangeMs;
	return isFigure ? { leastMs: meanMs, mostMs: meanMs } : { leastMs: medianMs / factor, mostMs: medianMs * factor };
}
