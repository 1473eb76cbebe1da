// Chooses how long runs last, from a pilot of each side.
import { median, middleMean, sampleMean } from "../stats/quantile.ts";

export interface RunLength {
	warmUpMs: number;
	durationMs: number;
}

interface LengthLimits extends RunLength {
	minimalEffect: number;
	streams: number;
}

export const pilotMs = 1000;

const windowMs = 100;
const leastRunLength: RunLength = { warmUpMs: 300, durationMs: 500 };
/** 2 MB at 90 bytes per iteration of trtexec. */
const maxIterations = 20_000;
const leastDurationMs = 300;
/** P99 depends on the slowest hundredth. */
const leastIterations = 300;

/**
 * The longest that either side needs: until a run's median is known to a tenth of the smallest effect that counts. Longer
 * runs scatter no less (bench/price.ts), so further precision comes from more pairs.
 * @param pilots iterations of one run of each side in ms, without warm-up.
 */
export function chooseRunLength(pilots: readonly Float64Array[], limits: LengthLimits): RunLength {
	const wanted = pilots.filter((samples) => samples.length > 0).map((samples) => lengthOf(samples, limits));
	if (wanted.length === 0) return { warmUpMs: limits.warmUpMs, durationMs: limits.durationMs };
	const most = (key: keyof RunLength) =>
		Math.round(Math.min(limits[key], Math.max(...wanted.map((length) => length[key]))));
	return { warmUpMs: most("warmUpMs"), durationMs: most("durationMs") };
}

/** The clocks need the whole warm-up to fall to what the pauses leave of them; P99 needs a hundred inferences. */
export function pacedLength(
	everyMs: number,
	{ warmUpMs, durationMs, timeoutMs }: RunLength & { timeoutMs: number },
): RunLength {
	const most = Math.max(durationMs, timeoutMs / 2);
	return { warmUpMs, durationMs: Math.round(Math.min(most, Math.max(durationMs, 100 * everyMs))) };
}

function lengthOf(samplesMs: Float64Array, { minimalEffect, streams }: LengthLimits) {
	const windows = windowMeans(samplesMs);
	const steadyFrom = steadyWindow(windows);
	const typicalMs = median([...samplesMs]);
	const target = (minimalEffect / 10) * typicalMs;
	const spread = sampleMean(windows.slice(steadyFrom))?.sd ?? 0;
	const byNoiseMs = windowMs * (spread / target) ** 2;
	const durationMs = Math.max(leastRunLength.durationMs, byNoiseMs, leastIterations * typicalMs);
	return {
		// If a pilot never became steady, the warm-up is the longest.
		warmUpMs:
			steadyFrom >= windows.length / 2
				? Number.MAX_VALUE
				: Math.max(leastRunLength.warmUpMs, 1.5 * steadyFrom * windowMs),
		durationMs: Math.max(leastDurationMs, Math.min(durationMs, (maxIterations * typicalMs) / streams)),
	};
}

/** After eight seconds, trtexec's times have steps of 1 µs: medians of a net of 39 µs would jump by 2.5 %. */
function windowMeans(samplesMs: Float64Array) {
	const windows: number[][] = [[]];
	let filledMs = 0;
	for (const sample of samplesMs) {
		if (filledMs >= windowMs) {
			windows.push([]);
			filledMs = 0;
		}
		windows.at(-1)?.push(sample);
		filledMs += sample;
	}
	return windows.map(middleMean);
}

const steadyShare = 0.005;

function steadyWindow(windows: readonly number[]) {
	const later = windows.slice(Math.floor(windows.length / 2));
	const centre = median(later);
	const deviation = median(later.map((value) => Math.abs(value - centre)));
	const allowed = Math.max(steadyShare * centre, 6 * deviation);
	const last = windows.findLastIndex((value) => Math.abs(value - centre) > allowed);
	return last + 1;
}
