// Entry of tensor/: a tensor in memory (dtype, shape, little-endian bytes), its slices and positions.
import type { DType } from "../../schema/golden.ts";
import { isPacked, nibbleAt } from "./small-numbers.ts";

export interface Tensor {
	dtype: DType;
	shape: readonly number[];
	/** Row-major, little-endian; as many bytes as tensorBytes says. */
	data: Uint8Array;
}

/** Tensors by output or input name. */
export type TensorSet = ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>;

/** Half a byte: two elements share one. */
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
	float8e4m3fn: 1,
	float8e5m2: 1,
	int4: 0.5,
	uint4: 0.5,
	float4e2m1: 0.5,
};

/** Bytes of all elements; of 4-bit elements with the last one's other half. */
export function tensorBytes(tensor: { dtype: DType; shape: readonly number[] }): number {
	return Math.ceil(elementCount(tensor.shape) * elementBytes[tensor.dtype]);
}

const floating: ReadonlySet<DType> = new Set(["float32", "float16", "bfloat16", "float64", "float8e4m3fn", "float8e5m2", "float4e2m1"]);

/** Whether values of this dtype carry rounding; integers and bools do not. */
export function isFloating(dtype: DType): boolean {
	return floating.has(dtype);
}

/** Number of elements of a shape; 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
	return shape.reduce((product, size) => product * size, 1);
}

/** A shape for people: `2 × 3`, or `a scalar`. */
export function formatShape(shape: readonly number[]): string {
	return shape.length === 0 ? "a scalar" : `[${shape.join(", ")}]`;
}

export function tensorMap(set: TensorSet): ReadonlyMap<string, Tensor> {
	return set instanceof Map ? set : new Map(Object.entries(set));
}

/** The position of a flat, row-major index. */
export function unravel(flat: number, shape: readonly number[]): number[] {
	const position = new Array<number>(shape.length).fill(0);
	let remaining = flat;
	for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
		const size = shape[axis] ?? 1;
		position[axis] = remaining % size;
		remaining = Math.floor(remaining / size);
	}
	return position;
}

/** One slice along an axis, that axis kept with size 1. A view where the slice lies in one piece, else a copy. */
export function sliceTensor(tensor: Tensor, axis: number, at: number): Tensor {
	if (isPacked(tensor.dtype)) return slicePacked(tensor, axis, at);
	const size = tensor.shape[axis] ?? 1;
	const blockBytes = elementCount(tensor.shape.slice(axis + 1)) * elementBytes[tensor.dtype];
	const blocks = elementCount(tensor.shape.slice(0, axis));
	const shape = tensor.shape.map((length, index) => (index === axis ? 1 : length));
	const start = (block: number): number => (block * size + at) * blockBytes;
	if (blocks === 1) return { dtype: tensor.dtype, shape, data: tensor.data.subarray(start(0), start(0) + blockBytes) };
	const data = new Uint8Array(blocks * blockBytes);
	for (let block = 0; block < blocks; block += 1) {
		data.set(tensor.data.subarray(start(block), start(block) + blockBytes), block * blockBytes);
	}
	return { dtype: tensor.dtype, shape, data };
}

/** Slices of 4-bit elements may begin in the middle of a byte, so they are copied. */
function slicePacked(tensor: Tensor, axis: number, at: number): Tensor {
	const size = tensor.shape[axis] ?? 1;
	const block = elementCount(tensor.shape.slice(axis + 1));
	const blocks = elementCount(tensor.shape.slice(0, axis));
	const shape = tensor.shape.map((length, index) => (index === axis ? 1 : length));
	const data = new Uint8Array(Math.ceil((block * blocks) / 2));
	for (let to = 0; to < block * blocks; to += 1) {
		const from = (Math.floor(to / block) * size + at) * block + (to % block);
		data[to >>> 1] = (data[to >>> 1] ?? 0) | (nibbleAt(tensor.data, from) << (to & 1 ? 4 : 0));
	}
	return { dtype: tensor.dtype, shape, data };
}
