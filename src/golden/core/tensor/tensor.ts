// Entry of tensor/: a tensor in memory, its positions, and the slices that comparators name.
import type { DType, OutputSlice } from "../../../../generated/golden.ts";
import type { SchemaProblem } from "../../../core/found.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { formatBytes } from "../../../core/text/units.ts";
import { isPacked, nibbleAt } from "./small-numbers.ts";

export interface Tensor {
	dtype: DType;
	shape: readonly number[];
	/** Row-major, little-endian. */
	data: Uint8Array;
}

export interface Sides {
	expected: Tensor;
	got: Tensor;
}

/** The entry of this name, and nothing that objects inherit. */
export function own<Value>(
	values: Readonly<Record<string, Value>> | undefined,
	name: string,
): Value | undefined {
	return values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;
}

export type Tensors = Readonly<Record<string, Tensor>>;

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

export function tensorBytes(tensor: { dtype: DType; shape: readonly number[] }): number {
	return Math.ceil(elementCount(tensor.shape) * elementBytes[tensor.dtype]);
}

/** What is wrong with an input that is to be drawn; null if nothing is. */
export function tooLarge(
	{ name, ...layout }: { name: string; dtype: DType; shape: readonly number[] },
	mostBytes: number,
): string | null {
	const bytes = tensorBytes(layout);
	if (bytes <= mostBytes) return null;
	return `Input ${quoteName(name)}, ${layout.dtype} ${formatShape(layout.shape)}, takes ${formatBytes(bytes)}; expected at most ${formatBytes(mostBytes)}.`;
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

export function isFloating(dtype: DType): boolean {
	return floating.has(dtype);
}

export function elementCount(shape: readonly number[]): number {
	return shape.reduce((product, size) => product * size, 1);
}

export function formatShape(shape: readonly number[]): string {
	return shape.length === 0 ? "a scalar" : `[${shape.join(", ")}]`;
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

type IndexRange = readonly [number, number];

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

function copyNibbles(data: Uint8Array, [from, to]: IndexRange, target: { out: Uint8Array; at: number }) {
	const { out } = target;
	for (let i = from; i < to; i += 1) {
		const at = target.at + i - from;
		out[at >>> 1] = (out[at >>> 1] ?? 0) | (nibbleAt(data, i) << (at & 1 ? 4 : 0));
	}
}

/** Of one shape but along the axis; not of 4-bit elements, which share bytes. */
export function joinTensors(tensors: readonly [Tensor, ...Tensor[]], axis: number): Tensor {
	const { dtype, shape } = tensors[0];
	const sizes = tensors.map((tensor) => tensor.shape[axis] ?? 1);
	const innerBytes = elementCount(shape.slice(axis + 1)) * elementBytes[dtype];
	const blocks = elementCount(shape.slice(0, axis));
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
	return { dtype, shape: shape.with(axis, size), data };
}

export function axisFromStart(axis: number, rank: number): number {
	const index = axis < 0 ? axis + rank : axis;
	return index >= 0 && index < rank ? index : -1;
}

export interface PlacedSlice {
	axis: number;
	ranges: readonly IndexRange[];
}

export function cutSlice(tensor: Tensor, slice: OutputSlice | undefined): Tensor {
	const placed = placeSlice(slice, tensor.shape);
	return placed === null ? tensor : cutRanges(tensor, placed.axis, placed.ranges);
}

export function placeSlice(slice: OutputSlice | undefined, shape: readonly number[]): PlacedSlice | null {
	const axis = slice === undefined ? -1 : axisFromStart(slice.axis, shape.length);
	if (slice === undefined || axis < 0) return null;
	const size = shape[axis] ?? 0;
	const inside = rangesOf(slice, size).map(
		([from, to]): IndexRange => [Math.min(from, size), Math.min(to, size)],
	);
	return { axis, ranges: inside.filter(([from, to]) => to > from) };
}

function rangesOf({ from = 0, to, ranges }: OutputSlice, size: number): readonly IndexRange[] {
	return ranges ?? [[from, to ?? size]];
}

export function slicedShape(slice: OutputSlice | undefined, shape: readonly number[]): number[] {
	const placed = placeSlice(slice, shape);
	if (placed === null) return [...shape];
	const kept = placed.ranges.reduce((sum, [from, to]) => sum + to - from, 0);
	return shape.map((size, axis) => (axis === placed.axis ? kept : size));
}

export function positionInWhole(position: readonly number[], slice: PlacedSlice | null): number[] {
	if (slice === null) return [...position];
	let remaining = position[slice.axis] ?? 0;
	for (const [from, to] of slice.ranges) {
		if (remaining < to - from)
			return position.map((at, axis) => (axis === slice.axis ? from + remaining : at));
		remaining -= to - from;
	}
	return [...position];
}

export function sliceProblem(slice: OutputSlice, shape: readonly number[]): SchemaProblem | null {
	const axis = axisFromStart(slice.axis, shape.length);
	if (axis < 0)
		return {
			pointer: "/axis",
			expected: `an axis of the output, which has ${shape.length}`,
			got: String(slice.axis),
		};
	if (slice.ranges !== undefined && (slice.from !== undefined || slice.to !== undefined))
		return { pointer: "/ranges", expected: "either ranges, or from and to", got: "both" };
	const size = shape[axis] ?? 0;
	let after = 0;
	for (const [index, range] of rangesOf(slice, size).entries()) {
		const [from, to] = range;
		const expected = expectedRange(range, size, after);
		after = to;
		if (expected === null) continue;
		if (slice.ranges !== undefined) return { pointer: `/ranges/${index}`, expected, got: `[${from}, ${to}]` };
		return { pointer: slice.to === undefined ? "/from" : "/to", expected, got: String(slice.to ?? from) };
	}
	return null;
}

function expectedRange([from, to]: IndexRange, size: number, after: number) {
	if (to > size || from >= size) return `indices up to ${size}, the size of the axis`;
	if (to <= from) return `an end behind the start, ${from}`;
	return from < after ? `a range from ${after} on: they ascend and do not overlap` : null;
}

const maxShownRanges = 3;

export function sliceLabel(slice: OutputSlice): string {
	const ranges = rangesOf(slice, Infinity);
	const shown = ranges.slice(0, maxShownRanges).map(([first, end]) => rangeText(first, end));
	const more = ranges.length > maxShownRanges ? `, … (${ranges.length} ranges)` : "";
	const only = ranges.length === 1 && (ranges[0]?.[1] ?? 0) - (ranges[0]?.[0] ?? 0) === 1;
	const text = `${shown.join(", ")}${more}`;
	if (slice.axis !== 1 && slice.axis !== -1) return `${text} of axis ${slice.axis}`;
	return `${slice.axis === 1 ? "channel" : "column"}${only ? "" : "s"} ${text}`;
}

function rangeText(from: number, to: number) {
	if (to === Infinity) return `${from}…`;
	return to - from === 1 ? String(from) : `${from}…${to - 1}`;
}

export function ofSlice(slice: OutputSlice | undefined): string {
	return slice === undefined ? "" : ` of ${sliceLabel(slice)}`;
}

export function hasSameData(left: Tensor | undefined, right: Tensor | undefined): boolean {
	return left !== undefined && right !== undefined && Buffer.compare(left.data, right.data) === 0;
}
