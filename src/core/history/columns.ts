// Records as columns: small in memory, and read by what is asked of all of them.
import type { HistoryRecord } from "../schema/history.ts";

export type Cell = string | number;

/** Several records: one value of each column for each record, undefined where the record has none. */
export interface Table {
	/** File names of the records. */
	names: readonly string[];
	columns: ReadonlyMap<string, readonly (Cell | undefined)[]>;
}

/** Joins the steps of a path; no key can hold it. */
export const step = "\u0001";

/** Rows are found by what they are about, not by their place, so that one that comes or goes moves no other. */
function rowKey(row: HistoryRecord["rows"][number], seen: Map<string, number>): string {
	const key = `${row.series}${step}${row.kind}`;
	const count = seen.get(key) ?? 0;
	seen.set(key, count + 1);
	return `rows${step}${key}${step}${count}`;
}

function* leavesOf(value: unknown, path: string): Generator<readonly [string, Cell]> {
	if (typeof value === "string" || typeof value === "number") yield [path, value];
	else if (typeof value === "object" && value !== null) {
		for (const [key, child] of Object.entries(value)) yield* leavesOf(child, `${path}${step}${key}`);
	}
}

function* leaves({ rows, ...rest }: HistoryRecord): Generator<readonly [string, Cell]> {
	for (const [key, value] of Object.entries(rest)) yield* leavesOf(value, key);
	const seen = new Map<string, number>();
	for (const { series, kind, ...row } of rows) yield* leavesOf(row, rowKey({ series, kind, ...row }, seen));
}

export function tableOf(records: readonly { name: string; record: HistoryRecord }[]): Table {
	const columns = new Map<string, (Cell | undefined)[]>();
	for (const [at, { record }] of records.entries()) {
		for (const [path, value] of leaves(record)) {
			const column = columns.get(path) ?? new Array<Cell | undefined>(records.length).fill(undefined);
			column[at] = value;
			columns.set(path, column);
		}
	}
	return { names: records.map(({ name }) => name), columns };
}
