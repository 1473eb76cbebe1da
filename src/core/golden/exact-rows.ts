// Rows of 64-bit integers, of which binary64 would make equal what is not.
import type { Pair } from "./compare/difference.ts";
import { forEachRow, type RowPlace, type RowVisitor } from "./tensor/rows.ts";
import type { Tensor } from "./tensor/tensor.ts";
import { longReader } from "./tensor/values.ts";

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

function exactRow(tensor: Tensor, keep: Way["keep"]): ((row: Float64Array, place: RowPlace) => void) | null {
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
