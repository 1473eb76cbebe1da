// Walks two tensors row by row along an axis, such as the class axis of logits.
import type { Pair } from "../compare/difference.ts";
import { elementCount, type Tensor } from "./tensor.ts";
import { chunkElements, float64Reader, forEachChunk, longReader } from "./values.ts";

interface RowPosition {
	/** Flat index of the row's first element, and the step to the next. */
	first: number;
	stride: number;
}

/** The values are valid only during the call. */
type RowVisitor = (expected: Float64Array, got: Float64Array, place: RowPosition) => void;

/** Resolves a negative axis, counted from the end; -1 if there is no such axis. */
export function axisFromStart(axis: number, rank: number): number {
	const index = axis < 0 ? axis + rank : axis;
	return index >= 0 && index < rank ? index : -1;
}

/** Calls `visit` for every row along the axis; a scalar is one row of one. */
export function forEachRow(pair: Pair, axis: number, visit: RowVisitor): void {
	const { shape } = pair.expected;
	const along = axisFromStart(axis, shape.length);
	const length = along < 0 ? 1 : (shape[along] ?? 1);
	const stride = along < 0 ? 1 : elementCount(shape.slice(along + 1));
	if (elementCount(shape) === 0) return;
	const outer = elementCount(shape) / (length * stride);
	// Rows along an inner axis are read some columns at a time to bound memory.
	const width = Math.min(stride, chunkElements, Math.max(1, Math.floor((16 * chunkElements) / length)));
	const readExpected = stripReader(pair.expected, { length, stride, width });
	const readGot = stripReader(pair.got, { length, stride, width });
	for (let block = 0; block < outer; block += 1) {
		for (let column = 0; column < stride; column += width) {
			const columns = Math.min(width, stride - column);
			const first = block * length * stride + column;
			const left = readExpected(first, columns);
			const right = readGot(first, columns);
			for (let i = 0; i < columns; i += 1) {
				const [from, to] = [i * length, (i + 1) * length];
				visit(left.subarray(from, to), right.subarray(from, to), { first: first + i, stride });
			}
		}
	}
}

interface Strip {
	length: number;
	stride: number;
	width: number;
}

function stripReader(
	tensor: Tensor,
	{ length, stride, width }: Strip,
): (first: number, columns: number) => Float64Array {
	const read = float64Reader(tensor);
	const rows = new Float64Array(length * width);
	return (first, columns) => {
		if (stride === 1) forEachChunk(rows.length, (at, count) => rows.set(read(first + at, count), at));
		else
			for (let k = 0; k < length; k += 1) {
				const values = read(first + k * stride, columns);
				for (let i = 0; i < columns; i += 1) rows[i * length + k] = values[i] as number;
			}
		return rows;
	};
}

interface Exactness {
	axis: number;
	/** Property of values beyond 2^53 that the visitor needs: their order, or how far each lies below its row's largest. */
	keep: "order" | "differences";
}

/** Rows that binary64 does not hold come as ranks, or with their largest value subtracted. */
export function forEachExactRow(pair: Pair, { axis, keep }: Exactness, visit: RowVisitor): void {
	const expectedRow = exactRow(pair.expected, keep);
	const gotRow = exactRow(pair.got, keep);
	forEachRow(pair, axis, (expected, got, place) => {
		expectedRow?.(expected, place);
		gotRow?.(got, place);
		visit(expected, got, place);
	});
}

function exactRow(
	tensor: Tensor,
	keep: Exactness["keep"],
): ((row: Float64Array, place: RowPosition) => void) | null {
	const read = longReader(tensor);
	if (read === null) return null;
	return (row, { first, stride }) => {
		if (row.every((value) => Math.abs(value) < 2 ** 53)) return;
		const values = Array.from(row, (_, k) => read(first + k * stride, 1)[0] as bigint);
		const ascending = [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
		const largest = ascending.at(-1) as bigint;
		const ranks = keep === "order" ? new Map(ascending.map((value, rank) => [value, rank])) : null;
		for (const [k, value] of values.entries()) row[k] = ranks?.get(value) ?? Number(value - largest);
	};
}
