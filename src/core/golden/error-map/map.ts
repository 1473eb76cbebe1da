// Draws where the differences of two tensors are: the largest of each cell of a coarse grid over the output's plane.
import type { ErrorMap } from "../../../../generated/result.ts";
import { toNumeric } from "../compare/checks.ts";
import { type WideChunk, wideReader } from "../compare/difference.ts";
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

export function errorMap(sides: TensorPair, plane: Plane): Omit<ErrorMap, "sample"> {
	const { shape } = sides.expected;
	const [height, width] = plane.axes.map((axis) => shape[axis] ?? 1) as [number, number];
	const rows = Math.min(maxCells, height);
	const columns = Math.min(maxCells, width);
	const cells = largestOfCells(sides, plane, { rows, columns });
	const largest = cells.reduce((most, value) => (Number.isFinite(value) && value > most ? value : most), 0);
	return {
		rows,
		columns,
		height,
		width,
		axes: plane.axes,
		...(plane.image ? { image: true } : {}),
		largest: toNumeric(largest),
		cells: btoa(String.fromCharCode(...cells.map((value) => quantise(value, largest)))),
	};
}

/** The smallest difference is still visible. */
function quantise(value: number, largest: number): number {
	if (value === Number.POSITIVE_INFINITY) return 255;
	return value === 0 || largest === 0 ? 0 : Math.max(1, Math.round((value / largest) * 254));
}

function largestOfCells(
	sides: TensorPair,
	plane: Plane,
	grid: { rows: number; columns: number },
): Float64Array {
	const { shape } = sides.expected;
	const [rowAxis, columnAxis] = plane.axes;
	const [height, width] = [shape[rowAxis] ?? 1, shape[columnAxis] ?? 1];
	const step = {
		row: elementCount(shape.slice(rowAxis + 1)),
		column: elementCount(shape.slice(columnAxis + 1)),
	};
	const cells = new Float64Array(grid.rows * grid.columns);
	forEachDifference(sides, (chunk, start) => {
		for (let i = 0; i < chunk.difference.length; i += 1) {
			const size = distanceAt(chunk, i);
			if (size === 0) continue;
			const y = Math.floor((start + i) / step.row) % height;
			const x = Math.floor((start + i) / step.column) % width;
			const cell =
				Math.floor((y * grid.rows) / height) * grid.columns + Math.floor((x * grid.columns) / width);
			if (size > (cells[cell] as number)) cells[cell] = size;
		}
	});
	return cells;
}

// The errors of two tensors of one shape, element by element, for any dtype.

export interface TensorPair {
	expected: Tensor;
	got: Tensor;
}

/** Calls `visit` for the chunks in order; their values hold only during the call. */
function forEachDifference(
	{ expected, got }: TensorPair,
	visit: (chunk: WideChunk, start: number) => void,
): void {
	const read = wideReader(expected, got);
	forEachChunk(elementCount(expected.shape), (start, count) => visit(read(start, count), start));
}

/** How far one element is off; infinite where one side is NaN or infinite and the other is not the very same. */
function distanceAt({ expected, got, difference }: WideChunk, at: number): number {
	const size = Math.abs(difference[at] as number);
	if (Number.isFinite(size)) return size;
	return Object.is(expected[at], got[at]) ? 0 : Number.POSITIVE_INFINITY;
}

interface Found {
	at: number;
	size: number;
}

/** Flat indices, furthest first, the lower of equals before; what is not a number on one side alone is furthest. */
export function largestDifferences(sides: TensorPair, most: number): number[] {
	const found: Found[] = [];
	forEachDifference(sides, (chunk, start) => {
		for (let i = 0; i < chunk.difference.length; i += 1) {
			const size = distanceAt(chunk, i);
			if (size > (found[most - 1]?.size ?? 0)) insert(found, { at: start + i, size }, most);
		}
	});
	return found.map(({ at }) => at);
}

function insert(found: Found[], item: Found, most: number): void {
	const place = found.findIndex((other) => item.size > other.size);
	found.splice(place < 0 ? found.length : place, 0, item);
	found.length = Math.min(found.length, most);
}
