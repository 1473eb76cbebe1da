// Walks the differences of two tensors of one shape, whatever their dtype.
import { wideReader } from "../compare/difference.ts";
import type { WideChunk } from "../compare/kernels.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk } from "../tensor/values.ts";

export interface Sides {
	expected: Tensor;
	got: Tensor;
}

/** Calls `visit` for the chunks in order; their values hold only during the call. */
export function forEachDifference({ expected, got }: Sides, visit: (chunk: WideChunk, start: number) => void): void {
	const read = wideReader(expected, got);
	forEachChunk(elementCount(expected.shape), (start, count) => visit(read(start, count), start));
}

/** How far one element is off; infinite where one side is NaN or infinite and the other is not the very same. */
export function distanceAt({ expected, got, difference }: WideChunk, at: number): number {
	const size = Math.abs(difference[at] as number);
	if (Number.isFinite(size)) return size;
	return Object.is(expected[at], got[at]) ? 0 : Number.POSITIVE_INFINITY;
}
