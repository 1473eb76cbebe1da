// One server with a constant service time under Poisson arrivals (M/D/1), exactly.

/** Beyond this many arrivals in one service time the chance is below 1e-50. */
const mostArrivals = 40;

/** Times in a queue, as multiples of the service time. */
export interface Sojourn {
	mean: number;
	/** @param share in (0, 1), e.g. 0.99. */
	quantile(share: number): number;
}

/**
 * Time from a request's arrival to its answer.
 *
 * Mean: Pollaczek–Khinchine, 1 + ρ / (2 (1 − ρ)). Distribution: G. J. Franx, "A simple solution for the M/D/c waiting
 * time distribution", Operations Research Letters 29 (2001), for c = 1. Its terms are all positive, while Crommelin's
 * (1932) alternate and lose every digit under load.
 *
 * @param load ρ, arrivals in one service time, in (0, 1).
 */
export function md1(load: number): Sojourn {
	const isAtMost = waitingTime(load);
	return {
		mean: 1 + load / (2 * (1 - load)),
		quantile(share) {
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
