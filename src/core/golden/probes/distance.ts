// How far two answers that should be one are apart: row by row, on the scale of a usual row.
import { makePair } from "../compare/difference.ts";
import { joinNorms, longerNorm, type Norm, noNorm, normRatio } from "../norm.ts";
import { isFloating, sliceTensor, type Tensor } from "../tensor/tensor.ts";

/** Largest relative L2 of a row, or of integers the share of elements that differ; Infinity where shape or dtype is another; NaN where nothing is finite. */
export type Distance = number;

/**
 * Floats: max over rows r of ‖a_r − b_r‖ / max(n_r, √(mean over rows of n_r²)) with n_r = max(‖a_r‖, ‖b_r‖): of two answers none
 * is the right one, so the longer is the measure, and the value is 2 at most. The mean row stands in the denominator because a row that is nearly zero by
 * cancellation carries rounding of the usual size (a scalar output of 1e-6 beside others of 1). Integers and bools: differing elements / elements, since a class id has no size.
 * @param axis along which rows lie; null: the whole is one row.
 */
export function distanceBetween(expected: Tensor, got: Tensor, axis: number | null): Distance {
	const sameShape = expected.shape.length === got.shape.length && expected.shape.every((size, index) => size === got.shape[index]);
	if (expected.dtype !== got.dtype || !sameShape) return Number.POSITIVE_INFINITY;
	return isFloating(expected.dtype) ? floatDistance(expected, got, axis) : shareDiffering(expected, got);
}

const exact = { rtol: 0, atol: 0 };

function shareDiffering(expected: Tensor, got: Tensor): number {
	const { outside, elements } = makePair(expected, got, exact).difference(exact);
	return outside / elements;
}

interface RowNorms {
	difference: Norm;
	/** Of the longer of the two. */
	own: Norm;
	elements: number;
	same: boolean;
}

function floatDistance(expected: Tensor, got: Tensor, axis: number | null): number {
	const rows: RowNorms[] = [];
	const count = axis === null ? 1 : (expected.shape[axis] ?? 0);
	for (let row = 0; row < count; row += 1) {
		const sides = axis === null ? [expected, got] : [sliceTensor(expected, axis, row), sliceTensor(got, axis, row)];
		const norms = normsOf(sides[0] ?? expected, sides[1] ?? got);
		if (norms === null) return Number.POSITIVE_INFINITY;
		rows.push(norms);
	}
	const finite = rows.filter(({ elements }) => elements > 0);
	if (finite.length === 0) return Number.NaN;
	const all = finite.reduce((sum, { own }) => joinNorms(sum, own), noNorm);
	const usual = { ...all, sumSquared: all.sumSquared / finite.length };
	return finite.reduce((most, { difference, own, same }) => Math.max(most, same ? 0 : normRatio(difference, longerNorm(own, usual))), 0);
}

/** null where one side is not finite and the other is not the very same. */
function normsOf(expected: Tensor, got: Tensor): RowNorms | null {
	const { differenceNorm, expectedNorm, elements, maxAbs, nonFinite } = makePair(expected, got).difference();
	if (nonFinite.differing > 0) return null;
	const own = longerNorm(expectedNorm, makePair(got, expected).difference().expectedNorm);
	return { difference: differenceNorm, own, elements, same: maxAbs === 0 };
}
