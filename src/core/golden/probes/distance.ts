// How far apart two outputs that should be equal are (row by row, scaled by a typical row), and how far they may be.
import type { DType, Precision } from "../../../../generated/golden.ts";
import { joinNorms, longerNorm, makePair, noNorm, normRatio } from "../compare/difference.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { floorOf } from "../record/noise-floor.ts";
import { isFloating, sliceTensor, type Tensor } from "../tensor/tensor.ts";

/**
 * Floats: max over rows r of ‖a_r − b_r‖ / max(n_r, √(mean over rows of n_r²)) with n_r = max(‖a_r‖, ‖b_r‖): of two answers none
 * is the right one, so the longer is the measure, and the value is 2 at most. The mean row is in the denominator because a row that is nearly zero by
 * cancellation carries rounding of the usual size (a scalar output of 1e-6 beside others of 1). Integers and bools: differing elements / elements, since a class id has no size.
 * Infinity where shape, dtype or non-finite values differ; NaN where nothing is finite.
 * @param axis along which rows lie; null: the whole is one row.
 */
export function distanceBetween(expected: Tensor, got: Tensor, axis: number | null): number {
	if (expected.dtype !== got.dtype || String(expected.shape) !== String(got.shape))
		return Number.POSITIVE_INFINITY;
	if (!isFloating(expected.dtype)) {
		const exact = { rtol: 0, atol: 0 };
		const { outside, elements } = makePair(expected, got, exact).difference(exact);
		return outside / elements;
	}
	const rows: { difference: number; apart: typeof noNorm; own: typeof noNorm }[] = [];
	const count = axis === null ? 1 : (expected.shape[axis] ?? 0);
	for (let row = 0; row < count; row += 1) {
		const left = axis === null ? expected : sliceTensor(expected, axis, row);
		const right = axis === null ? got : sliceTensor(got, axis, row);
		const { differenceNorm, expectedNorm, elements, maxAbs, nonFinite } = makePair(left, right).difference();
		if (nonFinite.differing > 0) return Number.POSITIVE_INFINITY;
		if (elements === 0) continue;
		const own = longerNorm(expectedNorm, makePair(right, left).difference().expectedNorm);
		rows.push({ difference: maxAbs, apart: differenceNorm, own });
	}
	if (rows.length === 0) return Number.NaN;
	const all = rows.reduce((sum, { own }) => joinNorms(sum, own), noNorm);
	const usual = { ...all, sumSquared: all.sumSquared / rows.length };
	const distances = rows.map(({ difference, apart, own }) =>
		difference === 0 ? 0 : normRatio(apart, longerNorm(own, usual)),
	);
	return Math.max(...distances);
}

export interface AllowanceRule {
	precision: Precision;
	/** Largest relative L2 to an fp32 golden at this precision: `gates.golden.relative-l2`. */
	cap: number;
}

/**
 * The same kernels should give the same bits. Only sums in varying order (atomic additions) may differ, by a part of what the
 * precision costs. A tenth of the cap: fp32 in TF32 1e-4, fp16 5e-4, half an ulp of fp16.
 */
const sameShare = 0.1;

/** The difference of two runs is one sample; another sample is rarely three times as large. */
const noiseFactor = 3;

/** Two roundings of the output itself. */
const roundings = 2;

/**
 * The most that may lie between two answers:
 *   same kernels:  max(cap / 10, 2 · rounding of the output's dtype, 3 · r)
 *   other kernels: max(cap,      2 · rounding of the output's dtype, 3 · r)
 * where cap is what the precision may differ from fp32 (its reasons stand in config/defaults.ts: about five times the measured
 * rounding of a nine-layer network, so that two right answers lie well within one cap of each other), and r is what two runs of the
 * same input on this engine differed by; the determinism probe itself uses r = 0. Of integers: 0, or by other kernels the share that
 * top-k may lose (tolerances.ts), because nearly equal scores may change places.
 */
export function allowance(
	rule: AllowanceRule,
	of: { arithmetic: "same" | "other"; dtype: DType; noise: number },
): number {
	if (!isFloating(of.dtype)) return of.arithmetic === "same" ? 0 : 1 - defaultTolerances[rule.precision].topK;
	const share = of.arithmetic === "same" ? rule.cap * sameShare : rule.cap;
	return Math.max(share, roundings * floorOf(undefined, of.dtype), noiseFactor * of.noise);
}
