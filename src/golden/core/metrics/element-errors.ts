// The result and options of a metric, and the metrics of single elements' errors.

import type { Bound } from "../../../../generated/result.ts";
import { normRatio, type Pair } from "../compare/difference.ts";
import type { Sides } from "../tensor/tensor.ts";
import { forEachPair } from "../tensor/values.ts";

/** ‖got − expected‖ / ‖expected‖ in binary64 (numpy: `norm(c - g) / norm(g)`). For a golden of zeros: 0 or infinite. */
export function relativeL2(pair: Pair): Measured {
	const { squaredDifference, squaredExpected, elements, maxAbs, maxAbsAt } = pair.difference();
	const value = maxAbs === 0 ? 0 : normRatio(squaredDifference, squaredExpected);
	return { value, elements, worstAt: maxAbsAt };
}

/** max |got − expected|, at the lowest flat index that has it (numpy: `argmax(abs(c - g))`). */
export function maxAbs(pair: Pair): Measured {
	const difference = pair.difference();
	return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
}

/** #{not (|got − expected| ≤ atol + rtol · |expected|)} / n, as in numpy.isclose(got, expected). */
export function allclose(pair: Pair, options: MetricOptions): Measured {
	const { outside, elements, maxAbsAt } = pair.difference(options);
	const detail = outside === 0 ? undefined : `${outside} of ${elements} elements are out of tolerance`;
	return { value: outside / elements, elements, worstAt: maxAbsAt, ...(detail ? { detail } : {}) };
}

/**
 * 10 · log10(R² / MSE) in dB, R the data range (skimage: `peak_signal_noise_ratio(g, c, data_range=R)`). Infinite if
 * nothing differs; pairs that are not finite are left out.
 */
export function psnr(pair: Pair, { dataRange }: MetricOptions): Measured {
	const { squaredDifference, elements, maxAbs, maxAbsAt } = pair.difference();
	// Logarithms are subtracted because the ratio may leave binary64.
	let value = 20 * Math.log10(dataRange) - 10 * Math.log10(squaredDifference / elements);
	if (maxAbs === 0) value = Infinity;
	let detail = `data range ${Number(dataRange.toPrecision(6))}`;
	if (elements === 0) value = NaN;
	else if (dataRange === 0 && maxAbs > 0) {
		value = NaN;
		detail = "the golden is constant, so it has no data range: set dataRange";
	}
	return { value, elements, worstAt: maxAbsAt, detail };
}

export interface Measured {
	/** NaN if the metric is not defined; NaN never passes. */
	value: number;
	elements: number;
	/** In a mean over cases; by default the elements. */
	weight?: number;
	worstAt: number;
	detail?: string;
}

export interface Range {
	least: number;
	most: number;
}

export const fromZero: Range = { least: 0, most: Infinity };
export const share: Range = { least: 0, most: 1 };

const rangeSlack = 1e-9;

export function within<Value extends Pick<Measured, "value" | "detail">>(
	measured: Value,
	{ least, most }: Range,
): Value {
	const { value } = measured;
	if (Number.isNaN(value) || (value >= least - rangeSlack && value <= most + rangeSlack)) return measured;
	const range = Number.isFinite(most) ? `from ${least} to ${Number(most.toPrecision(4))}` : `≥ ${least}`;
	const detail = [`the value ${value} is impossible; expected ${range}`, measured.detail];
	return { ...measured, value: NaN, detail: detail.filter(Boolean).join("; ") };
}

/** False for NaN, and for an infinite error even if the limit is infinite. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed && value < Infinity : value >= allowed;
}

export interface MetricOptions {
	rtol: number;
	atol: number;
	k: number;
	axis: number;
	input: "logits" | "probabilities";
	/** Largest probability that the engine may have flushed to 0. */
	zeroProbability: number;
	dataRange: number;
	window: "gaussian" | "uniform";
	channels: "first" | "last";
	threshold: number | null;
	ignore: number | null;
	labels: readonly number[] | null;
	/** Rows whose largest golden value is below it are left out; null: none. */
	minScore: number | null;
}

export const defaultMetricOptions: MetricOptions = {
	rtol: 0,
	atol: 0,
	k: 1,
	axis: -1,
	input: "logits",
	zeroProbability: 0,
	dataRange: 1,
	window: "gaussian",
	channels: "first",
	threshold: null,
	ignore: null,
	labels: null,
	minScore: null,
};

/** Σ g·c / (‖g‖ ‖c‖) over finite pairs. Both zero: 1; one zero: 0 (the convention of Polygraphy). */
export function cosine(pair: Pair): Measured {
	const { elements, maxAbsAt } = pair.difference();
	const distance = cosineDistance(pair);
	const detail = `1 − cosine is ${Number(distance.toPrecision(4))}`;
	return { value: 1 - distance, elements, worstAt: maxAbsAt, detail };
}

/**
 * 1 − cos to full precision. Both sides are scaled to about unit length first, which keeps the cosine and all digits. With
 * d = c − g and its part at right angles to g, d⊥ = d − g · (g·d)/‖g‖², Lagrange's identity gives
 * 1 − cos = ‖g‖² ‖d⊥‖² / (‖c‖‖g‖ · (‖c‖‖g‖ + g·c)), in which nothing cancels.
 */
export function cosineDistance(pair: Pair): number {
	const sizes = sizesOf(pair);
	if (sizes === null) return 0;
	let gg = 0;
	let cc = 0;
	let gc = 0;
	let gd = 0;
	forEachFinite(pair, (expected, got) => {
		const g = expected / sizes.expected;
		const c = got / sizes.got;
		gg += g * g;
		cc += c * c;
		gc += g * c;
		gd += g * (c - g);
	});
	if (gg === 0 || cc === 0) return 1;
	const lengths = Math.sqrt(gg) * Math.sqrt(cc);
	if (gc <= 0) return 1 - Math.max(-1, gc / lengths);
	let across = 0;
	forEachFinite(pair, (expected, got) => {
		const g = expected / sizes.expected;
		across += (got / sizes.got - g - g * (gd / gg)) ** 2;
	});
	return (gg * across) / (lengths * (lengths + gc));
}

/** Dividing both sides by the same size keeps their difference exact. */
const sameSize = 4;

/** Powers of two to divide both sides by, so that no square leaves binary64; null if both are zero. */
function sizesOf(pair: Pair) {
	let expectedPeak = 0;
	let gotPeak = 0;
	forEachFinite(pair, (expected, got) => {
		expectedPeak = Math.max(expectedPeak, Math.abs(expected));
		gotPeak = Math.max(gotPeak, Math.abs(got));
	});
	if (expectedPeak === 0 && gotPeak === 0) return null;
	const own = { expected: sizeOf(expectedPeak), got: sizeOf(gotPeak) };
	const larger = Math.max(own.expected, own.got);
	return larger / Math.min(own.expected, own.got) > sameSize ? own : { expected: larger, got: larger };
}

function sizeOf(peak: number) {
	return peak === 0 ? 1 : 2 ** Math.min(1023, Math.floor(Math.log2(peak)));
}

function forEachFinite(pair: Sides, visit: (expected: number, got: number) => void) {
	forEachPair(pair, (expected, got) => {
		if (Number.isFinite(expected) && Number.isFinite(got)) visit(expected, got);
	});
}
