// How long a run has to be, from a pilot of each side: long enough to be steady, and no longer than its noise asks for.
import { middleMean, sampleMean } from "../stats/mean.ts";
import { median } from "../stats/quantile.ts";

export interface RunLength {
	warmUpMs: number;
	durationMs: number;
}

export interface LengthLimits extends RunLength {
	minimalEffect: number;
	streams: number;
}

/** A pilot begins cold, and lasts as long as the longest warm-up that is worth looking for. */
export const pilotMs = 1000;

const windowMs = 100;
export const leastRunLength: RunLength = { warmUpMs: 300, durationMs: 500 };
/** trtexec writes about 90 bytes for each iteration: 2 MB. */
const maxIterations = 20_000;
const leastDurationMs = 300;
/** P99 rests on the slowest hundredth: three iterations of it. */
const leastIterations = 300;

/**
 * The length that both sides need; each figure is the largest of the sides', within the limits.
 *
 * Runs scatter among each other by something that longer runs do not reduce: cut to 0.25 s, 0.5 s and 1.4 s, recorded runs on an H200
 * scatter by 0.17, 0.17 and 0.17 % (an encoder) and by 0.02 % (ResNet-50). So a run is only lengthened until its own median is known
 * to a tenth of the smallest effect that counts; further precision comes from more pairs.
 *
 * @param pilots the iterations of one run of each side, in milliseconds, begun without a warm-up.
 */
export function chooseRunLength(pilots: readonly Float64Array[], limits: LengthLimits): RunLength {
	const wanted = pilots.filter((samples) => samples.length > 0).map((samples) => lengthOf(samples, limits));
	if (wanted.length === 0) return { warmUpMs: limits.warmUpMs, durationMs: limits.durationMs };
	const most = (key: keyof RunLength): number =>
		Math.round(Math.min(limits[key], Math.max(...wanted.map((length) => length[key]))));
	return { warmUpMs: most("warmUpMs"), durationMs: most("durationMs") };
}

function lengthOf(samplesMs: Float64Array, { minimalEffect, streams }: LengthLimits): RunLength {
	const windows = windowMeans(samplesMs);
	const steadyFrom = steadyWindow(windows);
	const typicalMs = median([...samplesMs]);
	const target = (minimalEffect / 10) * typicalMs;
	const spread = sampleMean(windows.slice(steadyFrom))?.sd ?? 0;
	const byNoiseMs = windowMs * (spread / target) ** 2;
	const durationMs = Math.max(leastRunLength.durationMs, byNoiseMs, leastIterations * typicalMs);
	return {
		// Half as long again as the pilot took; one that never became steady asks for the longest.
		warmUpMs:
			steadyFrom >= windows.length / 2
				? Number.MAX_VALUE
				: Math.max(leastRunLength.warmUpMs, 1.5 * steadyFrom * windowMs),
		durationMs: Math.max(leastDurationMs, Math.min(durationMs, (maxIterations * typicalMs) / streams)),
	};
}

/**
 * Means of the middle half of consecutive windows; an iteration longer than a window is one of its own. trtexec's times lie on a grid, eight
 * seconds after its start one of 1 µs, so the medians of a net of 39 µs would jump by 2.5 %.
 */
function windowMeans(samplesMs: Float64Array): number[] {
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

/** The first window from which on all agree with the later half, to what that half scatters by. */
function steadyWindow(windows: readonly number[]): number {
	const later = windows.slice(Math.floor(windows.length / 2));
	const centre = median(later);
	const deviation = median(later.map((value) => Math.abs(value - centre)));
	const allowed = Math.max(steadyShare * centre, 6 * deviation);
	const last = windows.findLastIndex((value) => Math.abs(value - centre) > allowed);
	return last + 1;
}
