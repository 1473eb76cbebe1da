// How far two answers that should be one are apart, and how far the precision lets them be.

import type { DType, Precision } from "../../../../generated/golden.ts";
import { coveredParts } from "../compare/checks.ts";
import { makePair, normRatio } from "../compare/difference.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { floorOf } from "../record/noise-floor.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import type { Comparison } from "./context.ts";

/**
 * Floats: max over rows r of ‖a_r − b_r‖ / max(n_r, √(mean over rows of n_r²)) with n_r = max(‖a_r‖, ‖b_r‖), which is 2 at most.
 * The mean row is there because a row that is nearly zero by cancellation carries rounding of the usual size.
 * Integers and bools: differing elements / elements.
 * Infinity if shape, dtype or non-finite values differ; NaN if nothing is finite.
 */
export function distanceBetween(expected: Tensor, got: Tensor, axis: number | null): number {
	if (expected.dtype !== got.dtype || String(expected.shape) !== String(got.shape)) return Infinity;
	if (!isFloating(expected.dtype)) {
		const exact = { rtol: 0, atol: 0 };
		const { outside, elements } = makePair(expected, got, exact).difference(exact);
		return outside / elements;
	}
	const rows: { isSame: boolean; apart: number; own: number }[] = [];
	for (const { expected: left, got: right } of coveredParts({ expected, got }, {}, axis)) {
		const difference = makePair(left, right).difference();
		const { squaredDifference: apart, squaredExpected, elements, maxAbs, nonFinite } = difference;
		if (nonFinite.differing > 0) return Infinity;
		if (elements === 0) continue;
		const own = Math.max(squaredExpected, makePair(right, left).difference().squaredExpected);
		rows.push({ isSame: maxAbs === 0, apart, own });
	}
	if (rows.length === 0) return NaN;
	const usual = rows.reduce((sum, { own }) => sum + own, 0) / rows.length;
	return Math.max(
		...rows.map(({ isSame, apart, own }) => (isSame ? 0 : normRatio(apart, Math.max(own, usual)))),
	);
}

export interface AllowanceRule {
	precision: Precision;
	/** Largest relative L2 to an fp32 golden at this precision: `gates.golden.relative-l2`. */
	cap: number;
}

/** The same kernels differ only by the order of atomic additions: in fp32 by 1e-4, in fp16 by 5e-4. */
const sameShare = 0.1;
/** Another difference of two runs is rarely three times as large. */
const noiseFactor = 3;
const roundings = 2;

/**
 * The most that may lie between two answers; noise is the larger of what two runs of the same input differed by and what rounding
 * of the inputs moves: for a network that chooses (top-k, suppression of boxes) far more than for others. The cap is about five times the
 * rounding measured on a nine-layer network, so two right answers lie well within it. Integers of other kernels may differ by the
 * share that top-k may lose, because nearly equal scores may change places.
 */
export function allowance(
	rule: AllowanceRule,
	{ arithmetic, dtype, noise }: Pick<Comparison, "arithmetic"> & { dtype: DType; noise: number },
): number {
	const [isSame, scatter] = [arithmetic === "same", noiseFactor * noise];
	const cap = isFloating(dtype) ? rule.cap : 1 - defaultTolerances[rule.precision].topK;
	const floor = isFloating(dtype) ? roundings * floorOf(undefined, dtype) : 0;
	return Math.max(isSame ? cap * sameShare : cap, floor, scatter);
}
