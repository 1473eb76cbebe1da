// The result of a metric on one output or slice, and the options of metrics.
import type { BoxComparatorKind, ComparatorKind } from "../../../../generated/golden.ts";

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

export const metricLabels: Readonly<Record<ComparatorKind | BoxComparatorKind, string>> = {
	"relative-l2": "relative L2",
	"max-abs": "largest absolute difference",
	allclose: "share of elements outside tolerance",
	cosine: "cosine similarity",
	"top-k": "share of rows whose top classes agree",
	kl: "mean KL divergence",
	js: "mean Jensen-Shannon divergence",
	ulp: "largest distance in ULP",
	quantile: "quantile of the absolute error",
	psnr: "PSNR in dB",
	ssim: "mean SSIM",
	miou: "mean IoU of the classes",
	dice: "mean Dice of the classes",
	"pixel-disagreement": "share of pixels of another class",
	"recall-at-k": "share of nearest neighbours kept",
	"rank-agreement": "mean rank correlation of similarities",
	"token-agreement": "share of tokens that agree",
	accuracy: "share of rows that are right by their labels",
	custom: "value of a command",
	"box-missing": "boxes of the golden that are missing",
	"box-extra": "boxes that the golden does not have",
	"box-f1": "F1 of the boxes",
	"box-iou": "smallest overlap of matched boxes",
	"box-score": "largest score difference of matched boxes",
	map: "mAP against the golden's boxes",
};
