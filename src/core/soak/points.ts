// The times of one long process as points: a level and a tail for each stretch of time.
import { middleMean } from "../stats/mean.ts";
import { quantile } from "../stats/quantile.ts";

export interface SoakPoint {
	/** Since the load began. */
	atS: number;
	/** Mean of the middle half of the iterations: trtexec's times are 32-bit, so a minute after its start they lie on a grid of 4 µs, as would their median. */
	ms: number;
	p99Ms: number;
}

/** When a process ran within the soak, and how long its points are. */
export interface SoakSpan {
	fromS: number;
	timedMs: number;
	everyS: number;
}

/** Each iteration lies where its share of the summed time is: iterations follow each other without a gap. A last stretch shorter than half is left out. */
export function soakPoints(samplesMs: Float64Array, { fromS, timedMs, everyS }: SoakSpan): SoakPoint[] {
	const totalMs = samplesMs.reduce((sum, ms) => sum + ms, 0);
	const perMs = timedMs / 1000 / totalMs / everyS;
	const bins: number[][] = [];
	let passedMs = 0;
	for (const ms of samplesMs) {
		const bin = Math.floor(passedMs * perMs);
		bins[bin] ??= [];
		bins[bin].push(ms);
		passedMs += ms;
	}
	const last = timedMs / 1000 / everyS - (bins.length - 1);
	return (last < 0.5 ? bins.slice(0, -1) : bins).flatMap((own, bin) =>
		own === undefined ? [] : [{ atS: fromS + bin * everyS, ms: middleMean(own), p99Ms: quantile(Float64Array.from(own).sort(), 0.99) }],
	);
}
