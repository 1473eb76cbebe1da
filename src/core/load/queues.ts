// When requests arrive; and queues: one server behind a dynamic batcher, simulated, or with a constant service time, computed exactly (M/D/1).

import { ConfigError } from "../errors.ts";
import { uniformSource } from "../stats/random.ts";

/** Nearer to the capacity a queue needs hours to settle. */
export const mostLoad = 0.99;

interface Queue {
	arrivals: Float64Array;
	maxBatch: number;
	/** How long the oldest request waits for others while the server is idle. */
	maxDelayMs: number;
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

/** Beyond this many arrivals in one service time the chance is below 1e-50. */
const mostArrivals = 40;

/**
 * Time from a request's arrival to its answer.
 *
 * Mean: Pollaczek–Khinchine, 1 + ρ / (2 (1 − ρ)). Distribution: G. J. Franx, "A simple solution for the M/D/c waiting
 * time distribution", Operations Research Letters 29 (2001), for c = 1. Its terms are all positive, while Crommelin's
 * (1932) alternate and lose every digit under load.
 *
 * @param load ρ, arrivals in one service time, in (0, 1).
 */
export function md1(load: number) {
	const isAtMost = waitingTime(load);
	return {
		mean: 1 + load / (2 * (1 - load)),
		quantile(share: number) {
			let [low, high] = [0, 1];
			if (isAtMost(0) >= share) return 1;
			while (isAtMost(high) < share) [low, high] = [high, 2 * high];
			while (high - low > 1e-12 * high) {
				const middle = (low + high) / 2;
				if (middle <= low || middle >= high) break;
				if (isAtMost(middle) < share) low = middle;
				else high = middle;
			}
			return 1 + high;
		},
	};
}

/** P(wait ≤ x): for k − 1 ≤ x < k, e^−y Σ_j q(k − 1 − j) y^j / j!, y = ρ (k − x), q(n) = P(at most n wait). */
function waitingTime(load: number): (wait: number) => number {
	const atMostWaiting = queueLengths(load);
	return (wait) => {
		const k = Math.floor(wait) + 1;
		const y = load * (k - wait);
		let [weight, sum] = [Math.exp(-y), 0];
		for (let j = 0; j < Math.min(k, mostArrivals); j++) {
			sum += atMostWaiting(k - 1 - j) * weight;
			weight *= y / (j + 1);
		}
		return sum;
	};
}

/**
 * P(at most n wait), from the chain of requests left behind by each departure. Its states balance across each cut: p(j +
 * 1) a(0) = p(0) A(j) + Σ_i p(i) A(j + 1 − i), A(n) the chance of more than n arrivals in a service time.
 */
function queueLengths(load: number): (waiting: number) => number {
	const arrivals = [Math.exp(-load)];
	for (let n = 1; n <= mostArrivals; n++) arrivals.push(((arrivals[n - 1] ?? 0) * load) / n);
	const more = Array.from({ length: mostArrivals }, () => 0);
	for (let n = mostArrivals - 2; n >= 0; n--) more[n] = (more[n + 1] ?? 0) + (arrivals[n + 1] ?? 0);
	const inSystem = [1 - load];
	const sums = [1 - load];
	return (waiting) => {
		for (let j = inSystem.length - 1; j < waiting + 1; j++) {
			let flow = (inSystem[0] ?? 0) * (more[j] ?? 0);
			for (let i = Math.max(1, j + 2 - mostArrivals); i <= j; i++)
				flow += (inSystem[i] ?? 0) * (more[j + 1 - i] ?? 0);
			inSystem.push(flow * Math.exp(load));
			sums.push((sums[j] ?? 0) + (inSystem[j + 1] ?? 0));
		}
		return sums[waiting + 1] ?? 0;
	};
}

/** `poisson` and `constant` at any rate; an array, in ms from 0, at its own. */
export type Arrivals = "poisson" | "constant" | Float64Array;

const mostLines = 200_000;

export function schedule(
	arrivals: Arrivals,
	{ seed, count, perSecond }: { seed: number; count: number; perSecond: number },
): Float64Array {
	if (typeof arrivals !== "string") return arrivals;
	if (arrivals === "poisson") return poissonArrivals(seed, count, perSecond / 1000);
	return Float64Array.from({ length: count }, (_, index) => (1000 * index) / perSecond);
}

export function ratePerSecond(arrivals: Float64Array): number {
	return (1000 * (arrivals.length - 1)) / (arrivals.at(-1) ?? NaN);
}

/** One time in ms a line, ascending, from any start. @throws ConfigError arrivals-invalid. */
export function parseArrivals(text: string, path: string): Float64Array {
	const lines = text.trim().split(/\s*\n\s*/);
	const refuse = (line: number, found: string) =>
		new ConfigError({
			code: "arrivals-invalid",
			message: `${path}:${line}: ${found}; expected one arrival a line, in ascending milliseconds.`,
			location: { path, line },
			fix: "Write each request's time of arrival on a line of its own, such as 12.5.",
		});
	if (lines.length < 2 || lines.length > mostLines)
		throw refuse(1, `${lines.length} lines, not 2 to ${mostLines}`);
	const times = Float64Array.from(lines, Number);
	const first = times[0] ?? 0;
	for (const [index, ms] of times.entries()) {
		const [line = "", before = ms] = [lines[index], times[index - 1]];
		if (!/^-?[0-9.]+(e[+-]?[0-9]+)?$/i.test(line) || !Number.isFinite(ms))
			throw refuse(index + 1, `${JSON.stringify(line.slice(0, 40))} is no time`);
		if (ms < before) throw refuse(index + 1, `${ms} is before the arrival above it`);
	}
	if (times.at(-1) === first) throw refuse(lines.length, "all requests arrive at once");
	return times.map((ms) => ms - first);
}
