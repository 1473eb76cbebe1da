// Entry of tensor/: a tensor in memory (dtype, shape, little-endian bytes), its slices and positions.
import type { DType } from "../../../../generated/golden.ts";
import { isPacked, nibbleAt } from "./small-numbers.ts";

export interface Tensor {
	dtype: DType;
	shape: readonly number[];
	/** Row-major, little-endian; tensorBytes long. */
	data: Uint8Array;
}

export type TensorSet = ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>;

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

/** Rounded up to whole bytes for 4-bit elements. */
export function tensorBytes(tensor: { dtype: DType; shape: readonly number[] }): number {
	return Math.ceil(elementCount(tensor.shape) * elementBytes[tensor.dtype]);
}

const floating: ReadonlySet<DType> = new Set([
	"float32",
	"float16",
	"bfloat16",
	"float64",
	"float8e4m3fn",
	"float8e5m2",
	"float4e2m1",
]);

/** Whether values of this dtype carry rounding; integers and bools do not. */
export function isFloating(dtype: DType): boolean {
	return floating.has(dtype);
}

export function elementCount(shape: readonly number[]): number {
	return shape.reduce((product, size) => product * size, 1);
}

/** `[2, 3]`, or `a scalar`. */
export function formatShape(shape: readonly number[]): string {
	return shape.length === 0 ? "a scalar" : `[${shape.join(", ")}]`;
}

export function tensorMap(set: TensorSet): ReadonlyMap<string, Tensor> {
	return set instanceof Map ? set : new Map(Object.entries(set));
}

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

export type IndexRange = readonly [number, number];

export function sliceTensor(tensor: Tensor, axis: number, at: number): Tensor {
	return cutRanges(tensor, axis, [[at, at + 1]]);
}

/** Some indices of an axis, which keeps its place. A view if they lie in one piece, else a copy. */
export function cutRanges(
	{ dtype, shape, data }: Tensor,
	axis: number,
	ranges: readonly IndexRange[],
): Tensor {
	const kept = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
	const cut = { dtype, shape: shape.map((length, index) => (index === axis ? kept : length)) };
	const bytes = elementBytes[dtype];
	const [only, second] = ranges;
	if (elementCount(shape.slice(0, axis)) === 1 && only && !second && !isPacked(dtype)) {
		const step = elementCount(shape.slice(axis + 1)) * bytes;
		return { ...cut, data: data.subarray(only[0] * step, only[1] * step) };
	}
	const out = new Uint8Array(tensorBytes(cut));
	let at = 0;
	for (const [from, to] of runsOf(shape, axis, ranges)) {
		if (isPacked(dtype)) copyNibbles(data, [from, to], { out, at });
		else out.set(data.subarray(from * bytes, to * bytes), at * bytes);
		at += to - from;
	}
	return { ...cut, data: out };
}

function* runsOf(
	shape: readonly number[],
	axis: number,
	ranges: readonly IndexRange[],
): Generator<IndexRange, void> {
	const inner = elementCount(shape.slice(axis + 1));
	const block = inner * (shape[axis] ?? 1);
	for (let start = 0; start < elementCount(shape); start += block)
		for (const [from, to] of ranges) yield [start + from * inner, start + to * inner];
}

/** Runs of 4-bit elements may begin in the middle of a byte. */
function copyNibbles(
	data: Uint8Array,
	[from, to]: IndexRange,
	target: { out: Uint8Array; at: number },
): void {
	const { out } = target;
	for (let i = from; i < to; i += 1) {
		const at = target.at + i - from;
		out[at >>> 1] = (out[at >>> 1] ?? 0) | (nibbleAt(data, i) << (at & 1 ? 4 : 0));
	}
}
