// Takes some slices of a tensor along an axis, in any order and more than once, and joins tensors along one.
import { isPacked } from "../tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor } from "../tensor/tensor.ts";

/** null for 4-bit elements, which share bytes, and for places that are not there. */
export function pick(tensor: Tensor, axis: number, places: readonly number[]): Tensor | null {
	const size = tensor.shape[axis];
	if (isPacked(tensor.dtype) || size === undefined || places.some((place) => !(place >= 0 && place < size))) return null;
	const blockBytes = elementCount(tensor.shape.slice(axis + 1)) * elementBytes[tensor.dtype];
	const blocks = elementCount(tensor.shape.slice(0, axis));
	const data = new Uint8Array(blocks * places.length * blockBytes);
	let to = 0;
	for (let block = 0; block < blocks; block += 1) {
		for (const place of places) {
			const from = (block * size + place) * blockBytes;
			data.set(tensor.data.subarray(from, from + blockBytes), to);
			to += blockBytes;
		}
	}
	return { dtype: tensor.dtype, shape: tensor.shape.map((length, index) => (index === axis ? places.length : length)), data };
}

/** Of tensors that differ in nothing but their size along the axis. */
export function join(tensors: readonly [Tensor, ...Tensor[]], axis: number): Tensor {
	const [first] = tensors;
	const sizes = tensors.map(({ shape }) => shape[axis] ?? 1);
	const innerBytes = elementCount(first.shape.slice(axis + 1)) * elementBytes[first.dtype];
	const blocks = elementCount(first.shape.slice(0, axis));
	const size = sizes.reduce((sum, length) => sum + length, 0);
	const data = new Uint8Array(blocks * size * innerBytes);
	let to = 0;
	for (let block = 0; block < blocks; block += 1) {
		for (const [index, tensor] of tensors.entries()) {
			const bytes = (sizes[index] ?? 1) * innerBytes;
			data.set(tensor.data.subarray(block * bytes, (block + 1) * bytes), to);
			to += bytes;
		}
	}
	return { dtype: first.dtype, shape: first.shape.map((length, index) => (index === axis ? size : length)), data };
}

/** 0, 1, … */
export function upTo(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index);
}
