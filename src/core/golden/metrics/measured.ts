// The result of a metric on one output or slice, the options of metrics, and when a result keeps its limit.
import type { Bound } from "../../../../generated/result.ts";

export interface Measured {
	/** NaN where the metric is not defined; NaN never passes. */
	value: number;
	/** Pairs of elements that the value covers. */
	elements: number;
	/** Flat index of the worst element; -1 where there is none. */
	worstAt: number;
	detail?: string;
}

/** The values that a metric can have. */
export interface Range {
	least: number;
	most: number;
}

export const fromZero: Range = { least: 0, most: Number.POSITIVE_INFINITY };
export const share: Range = { least: 0, most: 1 };

/** What rounding may add to the ends of a range. */
const rangeSlack = 1e-9;

/** As it is, or NaN with the reason where the value lies outside of what the metric can have. */
export function within<Value extends Pick<Measured, "value" | "detail">>(
	measured: Value,
	{ least, most }: Range,
): Value {
	const { value } = measured;
	if (Number.isNaN(value) || (value >= least - rangeSlack && value <= most + rangeSlack)) return measured;
	const range =
		most < Number.POSITIVE_INFINITY
			? `from ${least} to ${Number(most.toPrecision(4))}`
			: `of at least ${least}`;
	const detail = [`the value ${value} is impossible; expected one ${range}`, measured.detail]
		.filter(Boolean)
		.join("; ");
	return { ...measured, value: Number.NaN, detail };
}

/** Written so that NaN keeps no limit, and an infinite error not even an infinite one. */
export function keepsLimit(value: number, bound: Bound, allowed: number): boolean {
	return bound === "at-most" ? value <= allowed && value < Number.POSITIVE_INFINITY : value >= allowed;
}

/** Options of a comparator; each metric reads what it needs. */
export interface MetricOptions {
	rtol: number;
	atol: number;
	k: number;
	/** The class axis, counted from the end where negative. */
	axis: number;
	input: "logits" | "probabilities";
	/** What a probability of 0 from the engine is read as; 0 makes the divergence infinite. */
	zeroProbability: number;
	/** Share of elements that keep the value of `quantile`. */
	quantile: number;
	/** Of pixels: the largest less the smallest value. */
	dataRange: number;
	window: "gaussian" | "uniform";
	channels: "first" | "last";
	/** A mask holds what is above it; null: classes. */
	threshold: number | null;
	/** The class of the golden, or the label, that is left out. */
	ignore: number | null;
	/** One class for each row. */
	labels: readonly number[] | null;
	/** Rows whose largest golden value is below it are left out; null: all count. */
	minScore: number | null;
}

/** The options without any comparator key. */
export const defaultMetricOptions: MetricOptions = {
	rtol: 0,
	atol: 0,
	k: 1,
	axis: -1,
	input: "logits",
	zeroProbability: 0,
	quantile: 0.99,
	dataRange: 1,
	window: "gaussian",
	channels: "first",
	threshold: null,
	ignore: null,
	labels: null,
	minScore: null,
};
