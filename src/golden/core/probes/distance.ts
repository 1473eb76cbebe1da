// Measures how far apart two outputs are that should be equal, row by row relative to a typical row, and how far they may be.
import type { DType, Precision } from "../../../../generated/golden.ts";
import { joinNorms, longerNorm, makePair, noNorm, normRatio } from "../compare/difference.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { floorOf } from "../record/noise-floor.ts";
import { isFloating, sliceTensor, type Tensor } from "../tensor/tensor.ts";

/**
 * Floats: max over rows r of ‖a_r − b_r‖ / max(n_r, √(mean over rows of n_r²)) with n_r = max(‖a_r‖, ‖b_r‖), which is 2 at most.
 * The mean row is there because a row that is nearly zero by cancellation carries rounding of the usual size.
 * Integers and bools: differing elements / elements.
 * Infinity if shape, dtype or non-finite values differ; NaN if nothing is finite.
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

/** The same kernels may differ only by the order of atomic additions: in fp32 by 1e-4, in fp16 by half an ulp, 5e-4. */
const sameShare = 0.1;
/** The difference of two runs is a single sample; another one is rarely three times as large. */
const noiseFactor = 3;
/** Allows for rounding the output itself, twice. */
const roundings = 2;

/**
 * The most that may lie between two answers:
 *   same kernels:  max(cap / 10, 2 · rounding of the output's dtype, 3 · noise)
 *   other kernels: max(cap,      2 · rounding of the output's dtype, 3 · noise)
 * where noise is what two runs of the same input on this engine differed by (0 for the determinism probe itself). The cap is about
 * five times the rounding measured on a nine-layer network (config/defaults.ts), so two right answers lie well within it.
 * Integers: 0, or for other kernels the share that top-k may lose, because nearly equal scores may change places.
 */
export function allowance(
	rule: AllowanceRule,
	{ arithmetic, dtype, noise }: { arithmetic: "same" | "other"; dtype: DType; noise: number },
): number {
	if (!isFloating(dtype)) return arithmetic === "same" ? 0 : 1 - defaultTolerances[rule.precision].topK;
	const share = arithmetic === "same" ? rule.cap * sameShare : rule.cap;
	return Math.max(share, roundings * floorOf(undefined, dtype), noiseFactor * noise);
}
