// Means, quantiles of samples (numpy's linear interpolation, Harrell-Davis), and of Student's t.
import { groupBy } from "../group.ts";

/** Bit for bit numpy's default (`linear`); NaN for an empty sample. */
export function quantile(sorted: Float64Array, p: number): number {
	const place = (sorted.length - 1) * Math.min(1, Math.max(0, p));
	const below = Math.floor(place);
	const low = sorted[below];
	if (low === undefined) return NaN;
	const high = sorted[below + 1] ?? low;
	const share = place - below;
	// numpy interpolates from the nearer end.
	return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1 - share);
}

export function meanOf(values: readonly (number | null)[]): number | null {
	const known = values.filter((value) => value !== null);
	return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

export function highest(values: readonly (number | null)[]): number | null {
	const known = values.filter((value) => value !== null);
	return known.length === 0 ? null : known.reduce((a, b) => Math.max(a, b));
}

export function median(values: readonly number[]): number {
	return quantile(Float64Array.from(values).sort(), 0.5);
}

/**
 * Harrell-Davis estimate (Biometrika 69, 1982): all order statistics, weighted by Beta((n+1)p, (n+1)(1−p)). Weights below
 * 1e-16, beyond twelve standard deviations and forty places, are left out.
 */
export function harrellDavis(sorted: Float64Array, p: number): number {
	const n = sorted.length;
	if (n === 0) return NaN;
	if (p <= 0) return sorted[0] ?? NaN;
	if (p >= 1) return sorted[n - 1] ?? NaN;
	const a = (n + 1) * p;
	const b = (n + 1) * (1 - p);
	const reach = 12 * Math.sqrt(n * p * (1 - p)) + 40;
	const first = Math.max(0, Math.floor(n * p - reach));
	const last = Math.min(n, Math.ceil(n * p + reach));
	let sum = 0;
	let weights = 0;
	let before = regularisedBeta(a, b, { x: first / n, y: (n - first) / n });
	for (let index = first; index < last; index += 1) {
		const upTo = regularisedBeta(a, b, { x: (index + 1) / n, y: (n - index - 1) / n });
		sum += (upTo - before) * (sorted[index] ?? NaN);
		weights += upTo - before;
		before = upTo;
	}
	return sum / weights;
}

/** Sums from both ends at once, so that mirrored samples give sums that differ only in sign. */
function mirroredSum(sorted: readonly number[], value: (x: number) => number) {
	let sum = 0;
	for (let low = 0, high = sorted.length - 1; low <= high; low += 1, high -= 1) {
		sum += low === high ? value(sorted[low] ?? NaN) : value(sorted[low] ?? NaN) + value(sorted[high] ?? NaN);
	}
	return sum;
}

/** `sd`: with n − 1; 0 for a single value. */
export function sampleMean(values: readonly number[]) {
	const n = values.length;
	if (n === 0) return null;
	const sorted = [...values].sort((left, right) => left - right);
	const mean = mirroredSum(sorted, (value) => value) / n;
	const squares = mirroredSum(sorted, (value) => (value - mean) ** 2);
	return { mean, sd: n > 1 ? Math.sqrt(squares / (n - 1)) : 0, df: n - 1 };
}

/** Mean of the middle half: finer than a grid of values, and blind to spikes. */
export function middleMean(values: readonly number[]): number {
	const sorted = values.toSorted((left, right) => left - right);
	const quarter = Math.floor(sorted.length / 4);
	return sampleMean(sorted.slice(quarter, sorted.length - quarter))?.mean ?? 0;
}

const halfLogTwoPi = 0.5 * Math.log(2 * Math.PI);

/** B(2k) / (2k (2k-1)) for k = 1…7: Stirling's series, Abramowitz & Stegun 6.1.41. */
const stirlingSeries = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360, 1 / 156] as const;
/** The series is exact to double precision from here. */
const stirlingFrom = 12;

/** ln Γ(x) − [(x − ½) ln x − x + ½ ln 2π], for x ≥ stirlingFrom. */
function stirlingRest(x: number) {
	const inverseSquare = 1 / (x * x);
	return stirlingSeries.reduceRight((sum, term) => sum * inverseSquare + term, 0) / x;
}

export function logGamma(x: number): number {
	let product = 1;
	let shifted = x;
	while (shifted < stirlingFrom) {
		product *= shifted;
		shifted += 1;
	}
	return (
		(shifted - 0.5) * Math.log(shifted) - shifted + halfLogTwoPi + stirlingRest(shifted) - Math.log(product)
	);
}

/** A point of the unit interval with its complement, so that neither end loses digits: x + y = 1. */
interface UnitPoint {
	x: number;
	y: number;
}

/** ln(value / mean), exact if the two are close. */
function logRatio(value: number, mean: number) {
	const relative = (value - mean) / mean;
	return Math.abs(relative) < 0.5 ? Math.log1p(relative) : Math.log(value / mean);
}

/** x^a y^b / B(a, b); large parameters are expanded about the mean to keep digits. */
function betaPower(a: number, b: number, { x, y }: UnitPoint) {
	const total = a + b;
	if (a < stirlingFrom || b < stirlingFrom) {
		const logBeta = logGamma(a) + logGamma(b) - logGamma(total);
		return Math.exp(a * Math.log(x) + b * Math.log(y) - logBeta);
	}
	const exponent = a * logRatio(x, a / total) + b * logRatio(y, b / total);
	const rest = stirlingRest(a) + stirlingRest(b) - stirlingRest(total);
	return Math.exp(exponent - rest) * Math.sqrt((a * b) / (2 * Math.PI * total));
}

const tiny = 1e-300;

/** The continued fraction of Numerical Recipes 6.4.5, by Lentz's method. */
function betaFraction(a: number, b: number, x: number) {
	const guard = (value: number) => (Math.abs(value) < tiny ? tiny : value);
	let c = 1;
	let d = 1 / guard(1 - ((a + b) * x) / (a + 1));
	let fraction = d;
	for (let m = 1; m < 100_000; m += 1) {
		const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 / guard(1 + even * d);
		c = guard(1 + even / c);
		fraction *= d * c;
		const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / guard(1 + odd * d);
		c = guard(1 + odd / c);
		const step = d * c;
		fraction *= step;
		if (Math.abs(step - 1) < 1e-16) break;
	}
	return fraction;
}

/** I_x(a, b), for a, b > 0; exact relative to its size if x is below the mean. */
export function regularisedBeta(a: number, b: number, point: UnitPoint): number {
	if (point.x <= 0) return 0;
	if (point.y <= 0) return 1;
	const power = betaPower(a, b, point);
	if (point.x < (a + 1) / (a + b + 2)) return (power * betaFraction(a, b, point.x)) / a;
	return 1 - (power * betaFraction(b, a, point.y)) / b;
}

/** P(T > t) for t ≥ 0, with full relative precision. */
function upperTail(t: number, df: number) {
	const square = t * t;
	return 0.5 * regularisedBeta(df / 2, 0.5, { x: df / (df + square), y: square / (df + square) });
}

/**
 * The t with P(T > t) = tail, for 0 < tail < ½: Newton on ln tail over ln t, a concave curve, with bisection if a step
 * leaves the bracket or the tail underflows.
 */
function upperQuantile(tail: number, df: number) {
	const logScale = logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(Math.PI * df);
	let [low, high] = [1e-300, 1e300];
	let t = 1;
	for (let step = 0; step < 200; step += 1) {
		const reached = upperTail(t, df);
		if (reached > tail) low = t;
		else high = t;
		const density = Math.exp(logScale - ((df + 1) / 2) * Math.log1p((t * t) / df));
		const move = (reached / (density * t)) * Math.log(reached / tail);
		if (Math.abs(move) < 1e-15) break;
		const next = t * Math.exp(move);
		t = next > low && next < high ? next : Math.sqrt(low) * Math.sqrt(high);
	}
	return t;
}

export function tCritical(p: number, df: number): number {
	return p >= 1 ? 0 : upperQuantile(p / 2, df);
}

const z99 = 2.5758293035489004;

/**
 * Per place of an evenly spaced series of two values or more: the median of the slopes between all pairs. The interval at
 * 99 % inverts Kendall's test, corrected for ties (Sen, JASA 63, 1968), as in scipy.stats.theilslopes.
 */
export function theilSen(values: readonly number[]): { slope: number; low: number; high: number } {
	const slopes = values.flatMap((left, at) =>
		values.slice(at + 1).map((right, gap) => (right - left) / (gap + 1)),
	);
	slopes.sort((one, other) => one - other);
	const spread = (n: number) => n * (n - 1) * (2 * n + 5);
	const ties = [...groupBy(values, (value) => value).values()].reduce(
		(sum, own) => sum + spread(own.length),
		0,
	);
	const half = (z99 * Math.sqrt((spread(values.length) - ties) / 18)) / 2;
	const at = (place: number) =>
		slopes[Math.min(Math.max(Math.round(place), 0), slopes.length - 1)] ?? Number.NaN;
	const middle = slopes.length / 2;
	return { slope: median(slopes), low: at(middle - half - 1), high: at(middle + half) };
}
