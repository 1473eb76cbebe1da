// Draws where the differences of two tensors are: the largest of each cell of a coarse grid over the output's plane.
import type { ErrorMap } from "../../../../generated/result.ts";
import { toNumeric } from "../compare/checks.ts";
import { wideReader } from "../compare/difference.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk } from "../tensor/values.ts";

interface Plane {
	/** Axes of height and width. */
	axes: [number, number];
	/** An image's or a mask's: people see it as a picture. */
	image: boolean;
}

const maxCells = 48;
/** A smaller plane shows no more than a list does. */
const minSide = 8;

/**
 * The two axes that a map can be drawn over: the last two, or the two before the last of an image whose channels come last.
 * null: too narrow.
 */
export function planeOf(shape: readonly number[], image: boolean): Plane | null {
	const rank = shape.length;
	const wide = (axis: number): boolean => axis >= 0 && (shape[axis] ?? 0) >= minSide;
	const channelsLast = rank >= 3 && (shape[rank - 1] ?? 0) < minSide;
	const height = rank - (channelsLast ? 3 : 2);
	// A picture has two axes of space; the output's meaning or its rank shows whether the others are channels.
	return wide(height) && wide(height + 1) ? { axes: [height, height + 1], image: image || rank >= 4 } : null;
}

export function errorMap(sides: TensorPair, { axes, image }: Plane): Omit<ErrorMap, "sample"> {
	const { shape } = sides.expected;
	const [height, width] = axes.map((axis) => shape[axis] ?? 1) as [number, number];
	const [rowStep, columnStep] = axes.map((axis) => elementCount(shape.slice(axis + 1))) as [number, number];
	const rows = Math.min(maxCells, height);
	const columns = Math.min(maxCells, width);
	const cells = new Float64Array(rows * columns);
	forEachDifference(sides, (size, flat) => {
		const y = Math.floor(flat / rowStep) % height;
		const x = Math.floor(flat / columnStep) % width;
		const cell = Math.floor((y * rows) / height) * columns + Math.floor((x * columns) / width);
		if (size > (cells[cell] as number)) cells[cell] = size;
	});
	const largest = cells.reduce((most, value) => (Number.isFinite(value) && value > most ? value : most), 0);
	// The smallest difference is still visible; 255 is one that is not finite.
	const bytes = Array.from(cells, (value) => {
		if (value === Number.POSITIVE_INFINITY) return 255;
		return value === 0 || largest === 0 ? 0 : Math.max(1, Math.round((value / largest) * 254));
	});
	return {
		rows,
		columns,
		height,
		width,
		axes,
		image: image || undefined,
		largest: toNumeric(largest),
		cells: btoa(String.fromCharCode(...bytes)),
	};
}

export interface TensorPair {
	expected: Tensor;
	got: Tensor;
}

/** How far each element is off, where it is; infinite where one side is NaN or infinite and the other is not the very same. */
function forEachDifference(sides: TensorPair, visit: (size: number, flat: number) => void): void {
	const read = wideReader(sides.expected, sides.got);
	forEachChunk(elementCount(sides.expected.shape), (start, count) => {
		const { expected, got, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) {
			const size = Math.abs(difference[i] as number);
			if (Number.isFinite(size)) {
				if (size > 0) visit(size, start + i);
			} else if (!Object.is(expected[i], got[i])) visit(Number.POSITIVE_INFINITY, start + i);
		}
	});
}

/** Flat indices, furthest first, the lower of equals before; what is not a number on one side alone is furthest. */
export function largestDifferences(sides: TensorPair, most: number): number[] {
	const found: { at: number; size: number }[] = [];
	forEachDifference(sides, (size, at) => {
		if (size <= (found[most - 1]?.size ?? 0)) return;
		const place = found.findIndex((other) => size > other.size);
		found.splice(place < 0 ? found.length : place, 0, { at, size });
		found.length = Math.min(found.length, most);
	});
	return found.map(({ at }) => at);
}
