// Entry of tensor/: a tensor in memory (dtype, shape, little-endian bytes), its slices and positions.
import type { DType } from "../../../../generated/golden.ts";
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

/** The first index, and the one behind the last. */
export type IndexRange = readonly [number, number];

/** One slice along an axis, that axis kept with size 1. */
export function sliceTensor(tensor: Tensor, axis: number, at: number): Tensor {
	return cutRanges(tensor, axis, [[at, at + 1]]);
}

/** Some indices of an axis, which keeps its place. A view where they lie in one piece, else a copy. */
export function cutRanges(tensor: Tensor, axis: number, ranges: readonly IndexRange[]): Tensor {
	const size = tensor.shape[axis] ?? 1;
	const inner = elementCount(tensor.shape.slice(axis + 1));
	const outer = elementCount(tensor.shape.slice(0, axis));
	const kept = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
	const shape = tensor.shape.map((length, index) => (index === axis ? kept : length));
	const layout = {
		blocks: outer,
		block: size * inner,
		runs: ranges.map(([from, to]): IndexRange => [from * inner, to * inner]),
	};
	if (isPacked(tensor.dtype)) return { dtype: tensor.dtype, shape, data: copyNibbles(tensor.data, layout) };
	const bytes = elementBytes[tensor.dtype];
	const [run] = layout.runs;
	if (outer === 1 && ranges.length === 1 && run !== undefined)
		return { dtype: tensor.dtype, shape, data: tensor.data.subarray(run[0] * bytes, run[1] * bytes) };
	return { dtype: tensor.dtype, shape, data: copyRuns(tensor.data, layout, bytes) };
}

/** In elements: runs within each of equally long blocks. */
interface RunLayout {
	blocks: number;
	block: number;
	runs: readonly IndexRange[];
}

function runsLength({ blocks, runs }: RunLayout): number {
	return blocks * runs.reduce((sum, [from, to]) => sum + to - from, 0);
}

/** For shorter runs a call costs more than a loop. */
const minCopyBytes = 128;

function copyRuns(data: Uint8Array, layout: RunLayout, bytes: number): Uint8Array {
	const out = new Uint8Array(runsLength(layout) * bytes);
	// Elements of four bytes move as one where they lie on their boundary.
	const words = bytes % 4 === 0 && data.byteOffset % 4 === 0;
	const source = words ? new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2) : data;
	const target = words ? new Uint32Array(out.buffer) : out;
	const unit = words ? bytes / 4 : bytes;
	let at = 0;
	for (let block = 0; block < layout.blocks; block += 1) {
		for (const [from, to] of layout.runs) {
			const start = (block * layout.block + from) * unit;
			const length = (to - from) * unit;
			if ((to - from) * bytes >= minCopyBytes) target.set(source.subarray(start, start + length), at);
			else for (let i = 0; i < length; i += 1) target[at + i] = source[start + i] as number;
			at += length;
		}
	}
	return out;
}

/** Runs of 4-bit elements may begin in the middle of a byte. */
function copyNibbles(data: Uint8Array, layout: RunLayout): Uint8Array {
	const out = new Uint8Array(Math.ceil(runsLength(layout) / 2));
	let at = 0;
	for (let block = 0; block < layout.blocks; block += 1) {
		for (const [from, to] of layout.runs) {
			for (let i = from; i < to; i += 1) {
				out[at >>> 1] = (out[at >>> 1] ?? 0) | (nibbleAt(data, block * layout.block + i) << (at & 1 ? 4 : 0));
				at += 1;
			}
		}
	}
	return out;
}
