// A tensor in memory: dtype, shape and little-endian bytes.
import type { DType } from "../schema/golden.ts";

export interface Tensor {
	dtype: DType;
	shape: readonly number[];
	/** Row-major, little-endian; length is elements × element size. */
	data: Uint8Array;
}

export const elementBytes: Readonly<Record<DType, number>> = {
	float32: 4,
	float16: 2,
	bfloat16: 2,
	float64: 8,
	int8: 1,
	uint8: 1,
	int16: 2,
	uint16: 2,
	int32: 4,
	uint32: 4,
	int64: 8,
	uint64: 8,
	bool: 1,
};

/** Number of elements of a shape; 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
	return shape.reduce((product, size) => product * size, 1);
}
