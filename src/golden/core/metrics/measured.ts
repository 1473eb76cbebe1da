// The result of a metric, its options, and whether a value keeps its limit.
import type { Bound } from "../../../../generated/result.ts";

export interface Measured {
	/** NaN if the metric is not defined; NaN never passes. */
	value: number;
	elements: number;
	worstAt: number;
	detail?: string;
}

export interface Range {
	least: number;
	most: number;
}

export const fromZero: Range = { least: 0, most: Number.POSITIVE_INFINITY };
export const share: Range = { least: 0, most: 1 };

const rangeSlack = 1e-9;

/** NaN with the reason, if a value is outside the range. */
export function within<Value extends Pick<Measured, "value" | "detail">>(
	measured: Value,
	{ least, most }: Range,
): Value {
	const { value } = measured;
	if (Number.isNaN(value) || (value >= least - rangeSlack && value <= most + rangeSlack)) return measured;
	const range = Number.isFinite(most) ? `from ${least} to ${Number(most.toPrecision(4))}` : `≥ ${least}`;
	const detail = [`the value ${value} is impossible; expected ${range}`, measured.detail];
	return { ...measured, value: Number.NaN, detail: detail.filter(Boolean).join("; ") };
}

/** False for NaN, and for an infinite error even if the limit is infinite. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed && value < Number.POSITIVE_INFINITY : value >= allowed;
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
