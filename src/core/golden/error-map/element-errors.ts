// The errors of two tensors of one shape, element by element, for any dtype.
import { wideReader } from "../compare/difference.ts";
import type { WideChunk } from "../compare/kernels.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk } from "../tensor/values.ts";

export interface TensorPair {
	expected: Tensor;
	got: Tensor;
}

/** Calls `visit` for the chunks in order; their values hold only during the call. */
export function forEachDifference({ expected, got }: TensorPair, visit: (chunk: WideChunk, start: number) => void): void {
	const read = wideReader(expected, got);
	forEachChunk(elementCount(expected.shape), (start, count) => visit(read(start, count), start));
}

/** How far one element is off; infinite where one side is NaN or infinite and the other is not the very same. */
export function distanceAt({ expected, got, difference }: WideChunk, at: number): number {
	const size = Math.abs(difference[at] as number);
	if (Number.isFinite(size)) return size;
	return Object.is(expected[at], got[at]) ? 0 : Number.POSITIVE_INFINITY;
}

interface Found {
	at: number;
	size: number;
}

/** Flat indices, furthest first, the lower of equals before; what is not a number on one side alone is furthest. */
export function largestDifferences(sides: TensorPair, most: number): number[] {
	const found: Found[] = [];
	forEachDifference(sides, (chunk, start) => {
		for (let i = 0; i < chunk.difference.length; i += 1) {
			const size = distanceAt(chunk, i);
			if (size > (found[most - 1]?.size ?? 0)) insert(found, { at: start + i, size }, most);
		}
	});
	return found.map(({ at }) => at);
}

function insert(found: Found[], item: Found, most: number): void {
	const place = found.findIndex((other) => item.size > other.size);
	found.splice(place < 0 ? found.length : place, 0, item);
	found.length = Math.min(found.length, most);
}
