// One server behind a dynamic batcher, simulated request by request.
import { uniformSource } from "../stats/random.ts";

interface Queue {
	/** In ms, ascending. */
	arrivals: Float64Array;
	maxBatch: number;
	/** How long the oldest request waits for others while the server is idle. */
	maxDelayMs: number;
	/** Time of one inference with `batch` requests in it. */
	serviceMs(batch: number): number;
}

/**
 * Time of each request from its arrival to its answer, in ms. A batch starts when the server is free and either the batch
 * is full or its oldest request has waited `maxDelayMs`; it takes what has arrived by then.
 */
export function simulateBatcher({ arrivals, maxBatch, maxDelayMs, serviceMs }: Queue): Float64Array {
	const latencies = new Float64Array(arrivals.length);
	let free = Number.NEGATIVE_INFINITY;
	for (let first = 0, end = 0; first < arrivals.length; first = end) {
		const oldest = arrivals[first] ?? 0;
		const full = arrivals[first + maxBatch - 1] ?? Number.POSITIVE_INFINITY;
		const start = Math.max(free, oldest, Math.min(full, oldest + maxDelayMs));
		end = first + 1;
		while (end < first + maxBatch && (arrivals[end] ?? Number.POSITIVE_INFINITY) <= start) end++;
		free = start + serviceMs(end - first);
		for (let request = first; request < end; request++) latencies[request] = free - (arrivals[request] ?? 0);
	}
	return latencies;
}

/** Poisson arrivals in ms; a seed gives the same pattern at every rate, only faster or slower. */
export function poissonArrivals(seed: number, count: number, ratePerMs: number): Float64Array {
	const uniform = uniformSource(seed);
	let now = 0;
	return Float64Array.from({ length: count }, () => {
		now -= Math.log(1 - uniform()) / ratePerMs;
		return now;
	});
}

export interface TimedBatch {
	batch: number;
	ms: number;
}

/** Linear between timed batches; a smaller one takes as long as the smallest, because it is padded. */
export function interpolatedMs(timed: readonly TimedBatch[]): (batch: number) => number {
	const sorted = timed.toSorted((left, right) => left.batch - right.batch);
	return (batch) => {
		const after = sorted.findIndex((one) => one.batch >= batch);
		const [high, low] = [sorted.at(after), sorted[after - 1]];
		if (high === undefined) return Number.NaN;
		if (low === undefined || after === -1) return high.ms;
		return low.ms + ((batch - low.batch) / (high.batch - low.batch)) * (high.ms - low.ms);
	};
}
