// Walks two tensors row by row along an axis, such as the class axis of logits.
import type { Pair } from "../compare/difference.ts";
import { elementCount, type Tensor } from "./tensor.ts";
import { chunkElements, float64Reader, longReader } from "./values.ts";

interface RowPosition {
	/** Place among all rows. */
	row: number;
	/** Flat index of the row's first element, and the step to the next. */
	first: number;
	stride: number;
}

/** The values hold only during the call. */
type RowVisitor = (expected: Float64Array, got: Float64Array, place: RowPosition) => void;

/** An axis counted from the end where negative, as one from the start; -1 where there is no such axis. */
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
	// Rows that lie across are read some columns at a time, so that memory stays bounded.
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
				const row = block * stride + column + i;
				visit(left.subarray(i * length, (i + 1) * length), right.subarray(i * length, (i + 1) * length), {
					row,
					first: first + i,
					stride,
				});
			}
		}
	}
}

interface Strip {
	length: number;
	stride: number;
	width: number;
}

/** Reads the rows of some neighbouring columns, each row in one piece. */
function stripReader(tensor: Tensor, strip: Strip): (first: number, columns: number) => Float64Array {
	const read = float64Reader(tensor);
	const rows = new Float64Array(strip.length * strip.width);
	return (first, columns) => {
		if (strip.stride === 1) fillPlain(rows, first, read);
		else
			for (let k = 0; k < strip.length; k += 1)
				fillColumn(rows, { k, length: strip.length }, read(first + k * strip.stride, columns));
		return rows;
	};
}

function fillPlain(rows: Float64Array, first: number, read: ReturnType<typeof float64Reader>): void {
	for (let at = 0; at < rows.length; at += chunkElements) {
		rows.set(read(first + at, Math.min(chunkElements, rows.length - at)), at);
	}
}

function fillColumn(rows: Float64Array, place: { k: number; length: number }, values: Float64Array): void {
	for (let i = 0; i < values.length; i += 1) rows[i * place.length + place.k] = values[i] as number;
}

interface Way {
	axis: number;
	/** What the visitor needs of values beyond 2^53: their order, or how far each lies below the largest of its row. */
	keep: "order" | "differences";
}

/** As forEachRow; rows that binary64 does not hold come as ranks, or less their largest value. */
export function forEachExactRow(pair: Pair, { axis, keep }: Way, visit: RowVisitor): void {
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
	keep: Way["keep"],
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
