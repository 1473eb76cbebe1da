// The shape of Slice, and the values that it takes of a short list or a small matrix.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import { axisIn, type Dims, listOf, onInput, unknownOf } from "./operator.ts";

export const slice = onInput((input, view) => {
	const [starts, ends, axes, steps] = ["starts", "ends", "axes", "steps"].map((name, index) =>
		listOf(view, name, index + 1),
	);
	const cut = axes === "absent" && Array.isArray(starts) ? [...starts.keys()] : axes;
	if (!Array.isArray(cut)) return { dims: unknownOf(input.length) };
	const dims: OnnxDim[] = [...input];
	for (const [index, given] of cut.entries()) {
		const axis = axisIn(given, input.length);
		if (axis === null) return { fault: `slices axis ${given} of ${formatDims(input)}` };
		const at = (list: typeof starts): number | null => (Array.isArray(list) ? (list[index] ?? null) : null);
		const step = steps === "absent" ? 1 : at(steps);
		const span = spanOf(at(starts), at(ends), step, input[axis] ?? null);
		dims[axis] = span?.length ?? null;
		const value = axis === 0 && cut.length === 1 ? taken(input, view.values[0], span) : null;
		if (value !== null) return { dims, value };
	}
	return { dims };
});

/** The rows that a slice takes of a list or of a small matrix. */
function taken(input: Dims, list: Dims | null | undefined, span: ReturnType<typeof spanOf>): Dims | null {
	const row = input.length === 2 ? input[1] : 1;
	if (input.length > 2 || typeof row !== "number" || span === null || !list) return null;
	const places = Array.from({ length: span.length }, (_, place) => span.first + place * span.step);
	return places.flatMap((place) => list.slice(place * row, (place + 1) * row));
}

function spanOf(
	start: number | null,
	end: number | null,
	step: number | null,
	size: OnnxDim,
): { first: number; length: number; step: number } | null {
	if (typeof size !== "number" || start === null || end === null || !step) return null;
	const clamp = (place: number, least: number, most: number): number =>
		Math.min(Math.max(place < 0 ? place + size : place, least), most);
	const first = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
	const last = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
	return { first, step, length: Math.max(0, Math.ceil((last - first) / step)) };
}
