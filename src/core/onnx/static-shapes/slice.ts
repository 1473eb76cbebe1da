// The shape of Slice, and the values that it takes of a short list or a small matrix.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import {
	axisIn,
	type Dims,
	listOf,
	type OperatorRule,
	type OperatorView,
	unknownOf,
	untold,
} from "./operator.ts";

export const slice: OperatorRule = (view) => {
	const input = view.shapes[0];
	if (!input) return untold;
	const [starts, ends, axes, steps] = ["starts", "ends", "axes", "steps"].map((name, index) =>
		listOf(view, name, index + 1),
	);
	const cut = axes === "absent" && Array.isArray(starts) ? [...starts.keys()] : axes;
	if (!Array.isArray(cut)) return { dims: unknownOf(input.length) };
	const dims: OnnxDim[] = [...input];
	for (const [index, given] of cut.entries()) {
		const axis = axisIn(given, input.length);
		if (axis === null) return { fault: `slices axis ${given} of ${formatDims(input)}` };
		const step = steps === "absent" ? 1 : at(steps, index);
		const range = spanOf({ start: at(starts, index), end: at(ends, index), step }, input[axis] ?? null);
		dims[axis] = range?.length ?? null;
		const value = taken(view, { axis, cuts: cut.length, range });
		if (value !== null) return { dims, value };
	}
	return { dims };
};

function taken(
	{ shapes, values }: OperatorView,
	cut: { axis: number; cuts: number; range: Span | null },
): Dims | null {
	const [input, list] = [shapes[0] ?? [], values[0]];
	const row = input.length === 2 ? input[1] : 1;
	if (cut.axis !== 0 || cut.cuts > 1 || input.length > 2 || !list || typeof row !== "number") return null;
	return cut.range?.flatMap((place) => list.slice(place * row, (place + 1) * row)) ?? null;
}

function at(list: readonly number[] | string | undefined, index: number): number | null {
	return Array.isArray(list) ? (list[index] ?? null) : null;
}

interface Span {
	length: number;
	flatMap<T>(each: (place: number) => readonly T[]): T[];
}

/** The places that a slice takes; null where they are not known. */
function spanOf(
	cut: { start: number | null; end: number | null; step: number | null },
	size: OnnxDim,
): Span | null {
	const { start, end, step } = cut;
	if (typeof size !== "number" || start === null || end === null || step === null || step === 0) return null;
	const clamp = (place: number, least: number, most: number): number =>
		Math.min(Math.max(place < 0 ? place + size : place, least), most);
	const [first, last] =
		step > 0
			? [clamp(start, 0, size), clamp(end, 0, size)]
			: [clamp(start, 0, size - 1), clamp(end, -1, size - 1)];
	const length = Math.max(0, Math.ceil((last - first) / step));
	return {
		length,
		flatMap: (each) => Array.from({ length }, (_, index) => each(first + index * step)).flat() as never,
	};
}
