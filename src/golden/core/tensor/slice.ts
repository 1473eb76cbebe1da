// The part of an output that a comparator names: ranges of indices along one axis.
import type { OutputSlice } from "../../../../generated/golden.ts";
import { axisFromStart } from "./rows.ts";
import { cutRanges, type IndexRange, type Tensor } from "./tensor.ts";

export interface PlacedSlice {
	axis: number;
	ranges: readonly IndexRange[];
}

/** The tensor itself without a slice. Indices beyond the shape are left out; sliceProblem reports them. */
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

interface SliceProblem {
	pointer: string;
	expected: string;
	got: string;
}

export function sliceProblem(slice: OutputSlice, shape: readonly number[]): SliceProblem | null {
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

function expectedRange([from, to]: IndexRange, size: number, after: number): string | null {
	if (to > size || from >= size) return `indices up to ${size}, the size of the axis`;
	if (to <= from) return `an end behind the start, ${from}`;
	return from < after ? `a range from ${after} on: they ascend and do not overlap` : null;
}

const maxShownRanges = 3;

/** `channels 4…21`, `columns 0…3`, `channel 4`, `0…7 of axis 2`. */
export function sliceLabel(slice: OutputSlice): string {
	const { from = 0, to, ranges = [[from, to ?? Number.POSITIVE_INFINITY]] } = slice;
	const shown = ranges.slice(0, maxShownRanges).map(([first, end]) => rangeText(first, end));
	const more = ranges.length > maxShownRanges ? `, … (${ranges.length} ranges)` : "";
	const only = ranges.length === 1 && (ranges[0]?.[1] ?? 0) - (ranges[0]?.[0] ?? 0) === 1;
	const text = `${shown.join(", ")}${more}`;
	if (slice.axis !== 1 && slice.axis !== -1) return `${text} of axis ${slice.axis}`;
	return `${slice.axis === 1 ? "channel" : "column"}${only ? "" : "s"} ${text}`;
}

function rangeText(from: number, to: number): string {
	if (to === Number.POSITIVE_INFINITY) return `${from}…`;
	return to - from === 1 ? String(from) : `${from}…${to - 1}`;
}

/** ` of channels 4…21`; nothing for the whole output. */
export function ofSlice(slice: OutputSlice | undefined): string {
	return slice === undefined ? "" : ` of ${sliceLabel(slice)}`;
}
