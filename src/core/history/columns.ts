// Records as columns: what stays the same is written once, and of numbers the differences. Lossless, whatever a record holds.
import type { HistoryRecord } from "../schema/history.ts";

export type Cell = string | number;

/** Several records: one value of each column for each record, undefined where the record has none. */
export interface Table {
	/** File names of the records. */
	names: readonly string[];
	columns: ReadonlyMap<string, readonly (Cell | undefined)[]>;
}

/** c: all the same. n: whole numbers, each less the one before; o: less the first; null where there is none. d: distinct values; x: place in d + 1, 0 for none. */
type Packed = { c: Cell } | { n: (number | null)[] } | { o: (number | null)[] } | { d: Cell[]; x: number[] };

export interface PackedTable {
	schemaVersion: 1;
	names: string[];
	columns: Record<string, Packed>;
}

/** Joins the steps of a path; no key can hold it. */
export const step = "\u0001";

/** Stands for an object without keys. */
const empty = "\u0002";

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
		const entries = Object.entries(value);
		// It has no leaf of its own.
		if (entries.length === 0) yield [`${path}${step}${empty}`, 0];
		for (const [key, child] of entries) yield* leavesOf(child, `${path}${step}${key}`);
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

export function packTable({ names, columns }: Table): PackedTable {
	const packed = [...columns].map(([path, column]) => [path, packColumn(column)] as const);
	return { schemaVersion: 1, names: [...names], columns: Object.fromEntries(packed) };
}

function packColumn(column: readonly (Cell | undefined)[]): Packed {
	const [same] = column;
	if (same !== undefined && column.every((cell) => cell === same)) return { c: same };
	if (!column.every((cell) => cell === undefined || Number.isSafeInteger(cell))) return packWords(column);
	let last: number | null = null;
	const n = column.map((cell) => {
		if (typeof cell !== "number") return null;
		const difference = cell - (last ?? 0);
		last = cell;
		return difference;
	});
	const first = column.findIndex((cell) => cell !== undefined);
	const from = column[first];
	const o = column.map((cell, at) => (typeof cell !== "number" ? null : at === first || typeof from !== "number" ? cell : cell - from));
	// What grows is shorter by its steps, what scatters by its distance from one value.
	return JSON.stringify(o).length < JSON.stringify(n).length ? { o } : { n };
}

function packWords(column: readonly (Cell | undefined)[]): Packed {
	const places = new Map<Cell, number>();
	const x = column.map((cell) => {
		if (cell === undefined) return 0;
		if (!places.has(cell)) places.set(cell, places.size + 1);
		return places.get(cell) ?? 0;
	});
	return { d: [...places.keys()], x };
}

/** Null where the text is no packed table; one that is newer has another version. */
export function readPackedTable(value: unknown): Table | null {
	if (typeof value !== "object" || value === null) return null;
	const { schemaVersion, names, columns } = value as Partial<PackedTable>;
	if (schemaVersion !== 1 || !Array.isArray(names) || typeof columns !== "object" || columns === null) return null;
	if (!names.every((name) => typeof name === "string")) return null;
	const unpacked = new Map<string, (Cell | undefined)[]>();
	for (const [path, column] of Object.entries(columns)) {
		const cells = unpackColumn(column, names.length);
		if (cells === null) return null;
		unpacked.set(path, cells);
	}
	return { names, columns: unpacked };
}

function isCell(value: unknown): value is Cell {
	return typeof value === "string" || typeof value === "number";
}

function unpackColumn(packed: unknown, length: number): (Cell | undefined)[] | null {
	if (typeof packed !== "object" || packed === null) return null;
	const { c, n, o, d, x } = packed as Partial<Record<"c" | "n" | "o" | "d" | "x", unknown>>;
	if (isCell(c)) return new Array<Cell>(length).fill(c);
	if (Array.isArray(n) && n.length === length) return unpackNumbers(n, true);
	if (Array.isArray(o) && o.length === length) return unpackNumbers(o, false);
	if (!Array.isArray(d) || !Array.isArray(x) || x.length !== length || !d.every(isCell)) return null;
	return x.map((place: unknown) => (typeof place === "number" && place > 0 ? d[place - 1] : undefined));
}

function unpackNumbers(differences: readonly unknown[], isFromLast: boolean): (Cell | undefined)[] | null {
	const cells: (Cell | undefined)[] = [];
	let from: number | null = null;
	for (const difference of differences) {
		if (difference === null) cells.push(undefined);
		else if (typeof difference === "number") {
			const cell: number = difference + (from ?? 0);
			if (isFromLast || from === null) from = cell;
			cells.push(cell);
		} else return null;
	}
	return cells;
}

type Tree = { [key: string]: Cell | Tree };

/** One record again, as it was; rows in the order of their columns. */
export function recordAt({ columns }: Table, at: number): HistoryRecord {
	const root: Tree = {};
	const rows = new Map<string, Tree>();
	for (const [path, column] of columns) {
		const cell = column[at];
		if (cell === undefined) continue;
		const [first = "", ...rest] = path.split(step);
		if (first === "rows") {
			const [series = "", kind = "", count = "", ...own] = rest;
			const key = [series, kind, count].join(step);
			const row = rows.get(key) ?? { series, kind };
			rows.set(key, row);
			plant(row, own, cell);
		} else plant(root, [first, ...rest], cell);
	}
	return { ...root, rows: [...rows.values()] } as unknown as HistoryRecord;
}

function plant(tree: Tree, path: readonly string[], cell: Cell): void {
	let at = tree;
	for (const key of path.slice(0, -1)) {
		const next = Object.hasOwn(at, key) ? at[key] : undefined;
		const child: Tree = typeof next === "object" ? next : {};
		// Keys come from files: none may reach a prototype.
		if (next === undefined) Object.defineProperty(at, key, { value: child, enumerable: true, writable: true, configurable: true });
		at = child;
	}
	const last = path.at(-1) ?? "";
	if (last !== empty) Object.defineProperty(at, last, { value: cell, enumerable: true, writable: true, configurable: true });
}
