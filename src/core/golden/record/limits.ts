// Derives limits from how far correct outputs deviate: rounding at a precision, other implementations, the type's own rounding.
import type { DType, Precision } from "../../../../generated/golden.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { tensorStatistics } from "../tensor/values.ts";
import { floorOf } from "./noise-floor.ts";

export const emulated = { fp16: 2 ** -11, tf32: 2 ** -11, bf16: 2 ** -8 } as const;
export type Emulated = keyof typeof emulated;
export const emulatedPrecisions = Object.keys(emulated) as Emulated[];

export const rules = {
	/**
	 * A limit is this many times what correct outputs deviate by. Emulated fp16 lies within 25 % of an H200's on YOLOv8n and up to four
	 * times above it on a detector; what is left is for other cases, other kernels and sums in fp16. A defect that moves an output by
	 * more than three times its rounding is detected.
	 */
	room: 3,
	/**
	 * TensorRT's fp32 engines of the quickstart's networks deviate three times as much as one rounding for each node: their sums are long, and
	 * each kernel takes them in its own order.
	 */
	sumsAt: 3,
	/**
	 * The runs of the noise floor are few, and mostly of one build. Another deviates this much further: the scores of a YOLOv8n differ by
	 * 1e-5 between levels of ONNX Runtime on WebAssembly, and by 3.2e-5 from its native build.
	 */
	othersAt: 3,
	/** Two correct fp32 builds of a real network may differ by this much (relative L2), whatever one machine measured. */
	usualFp32: 2e-5,
	/**
	 * The same of networks with quantised layers: a value near a boundary becomes one integer or its neighbour. ONNX Runtime's own builds
	 * differ by 2e-4, 5e-3 and 2e-2 in three public models.
	 */
	usualQuantised: 3e-2,
	/** Sigmoid, exp and long sums are right to so much of the largest value: what is small in an output has a larger share of error. */
	absolute: 1e-7,
	/** Where rounding alone moves an output this far, it is another output, and a golden says little about it. */
	mostStray: 0.25,
	/** Beyond it an output of zeros would pass: up to there the room shrinks, but no further than to the factor after it. */
	mostLimit: 0.9,
	minRoom: 1.2,
	mostChanged: 0.5,
} as const;

const unitOfFp32 = 2 ** -24;
/** An engine's results are rounded at least once: a third of the unit roundoff, uniformly spread. */
const ownRounding: Readonly<Record<Emulated, number>> = { fp16: 3e-4, tf32: 3e-4, bf16: 2.5e-3 };

export interface Strayed {
	dtype: DType;
	noise: number;
	/** Relative L2 of the emulated precisions; absent where one was not emulated or gave no numbers. */
	rounding: Readonly<Partial<Record<Emulated, number>>>;
	quantised: boolean;
	/** The largest value of all cases ÷ the root mean square of the smallest case; 1 where nothing is known. */
	peakRatio?: number;
}

export interface StrayAt {
	stray: number;
	limit: number;
}

/**
 * What fp32 loses in this network, of what the emulated precisions lose: null where none was emulated. Errors grow in proportion to
 * the rounding; in quantised layers the number of integers that change does, so that their relative L2 grows with its root.
 */
export function amplifiedRounding({
	rounding,
	quantised,
}: Pick<Strayed, "rounding" | "quantised">): number | null {
	const estimates = emulatedPrecisions.flatMap((precision) => {
		const error = rounding[precision];
		const share = unitOfFp32 / emulated[precision];
		if (error === undefined || !Number.isFinite(error)) return [];
		// An output that is all wrong tells nothing of how errors grow, but that quantised layers make much of little.
		if (error > rules.mostStray) return quantised ? [error / rules.sumsAt] : [];
		return [error * (quantised ? Math.sqrt(share) : share)];
	});
	return estimates.length === 0 ? null : rules.sumsAt * Math.max(...estimates);
}

/** How far correct outputs deviate in fp32: other implementations, rounding of the output, what the network makes of rounding, and what is usual. */
function strayAtFp32(strayed: Strayed): number {
	const floor = Math.max(floorOf(undefined, strayed.dtype), rules.absolute * (strayed.peakRatio ?? 1));
	return Math.max(
		rules.othersAt * strayed.noise,
		floor,
		amplifiedRounding(strayed) ?? 0,
		usualAt(strayed) / rules.room,
	);
}

export function relativeL2Limits(strayed: Strayed): Partial<Record<Precision, StrayAt>> {
	const single = strayAtFp32(strayed);
	const fp32 = { stray: single, limit: withRoom(single) };
	const limits: Partial<Record<Precision, StrayAt>> = { fp32 };
	for (const precision of emulatedPrecisions) {
		const error = strayed.rounding[precision];
		if (error === undefined || !Number.isFinite(error)) continue;
		const stray = Math.max(error, ownRounding[precision], single);
		limits[precision] = { stray, limit: Math.max(withRoom(stray), fp32.limit) };
	}
	return limits;
}

/** Two digits, rounded down: what is more than the room times the deviation is beyond it. */
function withRoom(stray: number): number {
	const most = Math.max(rules.mostLimit, rules.minRoom * stray);
	return rules.room * stray < most ? roundedDown(rules.room * stray) : roundedUp(most);
}

export function usualAt({ quantised }: Pick<Strayed, "quantised">): number {
	return quantised ? rules.usualQuantised : rules.usualFp32;
}

/** How a metric follows the error: in proportion, with its square, in decibels, or as a share or number of answers that change. */
type Growth = "linear" | "square" | "decibels" | "share" | "count";
const growths: Readonly<Record<string, Growth>> = {
	"relative-l2": "linear",
	"max-abs": "linear",
	cosine: "square",
	kl: "square",
	ssim: "square",
	psnr: "decibels",
	"box-missing": "count",
	"box-extra": "count",
};

export function growthOf(kind: string): Growth {
	return growths[kind] ?? "share";
}

/** The limit of a metric for an error `times` as large as the one it was measured at; null where none follows. */
export function scaledLimit(
	kind: string,
	bound: "at-most" | "at-least",
	{ value, times }: { value: number; times: number },
): number | null {
	const growth = growthOf(kind);
	if (growth === "decibels")
		return Number.isFinite(value) ? Math.floor(10 * (value - 20 * Math.log10(times))) / 10 : null;
	const measured = bound === "at-most" ? value : 1 - value;
	const away = measured * (growth === "square" ? times ** 2 : times);
	if (!(away > 0) || !Number.isFinite(away)) return null;
	if (growth === "count") return Math.ceil(away);
	const limit = roundedUp(growth === "share" ? Math.min(away, rules.mostChanged) : away);
	if (bound === "at-most") return limit;
	return limit < 1 ? Number((1 - limit).toPrecision(12)) : null;
}

export function roundedUp(value: number): number {
	const step = 10 ** (Math.floor(Math.log10(value)) - 1);
	return Number((Math.ceil(value / step - 1e-9) * step).toPrecision(2));
}

function roundedDown(value: number): number {
	const step = 10 ** (Math.floor(Math.log10(value) + 1e-12) - 1);
	return Number((Math.floor(value / step + 1e-9) * step).toPrecision(2));
}

export function peakToRms(tensors: readonly Tensor[]): number {
	const sizes = tensors.map(sizeOf).filter(({ rms }) => rms > 0);
	if (sizes.length === 0) return 1;
	const least = Math.min(...sizes.map(({ min }) => min));
	const most = Math.max(...sizes.map(({ max }) => max));
	const peak = least >= 0 && most <= 1 ? 1 : Math.max(Math.abs(least), Math.abs(most));
	return Math.max(1, peak / Math.min(...sizes.map(({ rms }) => rms)));
}

function sizeOf(tensor: Tensor): { rms: number; min: number; max: number } {
	const { mean, std, min, max } = tensorStatistics(tensor);
	return { rms: Math.hypot(mean ?? 0, std ?? 0), min: min ?? 0, max: max ?? 0 };
}
