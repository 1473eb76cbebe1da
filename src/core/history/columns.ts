// Records as columns: small in memory, and quick to search for one field of all records.
import type { HistoryRecord } from "../../../generated/history.ts";

export type Cell = string | number;

/** Several records: one value of each column for each record, undefined where the record has none. */
export interface Table {
	/** File names of the records. */
	names: readonly string[];
	columns: ReadonlyMap<string, readonly (Cell | undefined)[]>;
}

/** Joins the steps of a path; no key can hold it. */
export const step = "\u0001";

/** A step of a path; a tree of them is faster to look up than whole paths. */
interface Place {
	path: string;
	column?: (Cell | undefined)[];
	below: Map<string, Place>;
}

function placeBelow({ path, below }: Place, key: string): Place {
	const known = below.get(key);
	if (known !== undefined) return known;
	const place = { path: path === "" ? key : `${path}${step}${key}`, below: new Map<string, Place>() };
	below.set(key, place);
	return place;
}

export function tableOf(records: readonly { name: string; record: HistoryRecord }[]): Table {
	const columns = new Map<string, (Cell | undefined)[]>();
	const put = (value: unknown, place: Place, at: number): void => {
		if (typeof value === "object" && value !== null) {
			for (const [key, child] of Object.entries(value)) put(child, placeBelow(place, key), at);
		} else if (typeof value === "string" || typeof value === "number") {
			if (place.column === undefined) {
				place.column = new Array<Cell | undefined>(records.length).fill(undefined);
				columns.set(place.path, place.column);
			}
			place.column[at] = value;
		}
	};
	const top: Place = { path: "", below: new Map() };
	for (const [at, { record }] of records.entries()) {
		const { rows, ...rest } = record;
		put(rest, top, at);
		// Rows are found by what they are about, not by their place, so that one that comes or goes moves no other.
		const seen = new Map<string, number>();
		for (const { series, kind, ...row } of rows) {
			const key = `${series}${step}${kind}`;
			const count = seen.get(key) ?? 0;
			seen.set(key, count + 1);
			put(row, placeBelow(placeBelow(top, "rows"), `${key}${step}${count}`), at);
		}
	}
	return { names: records.map(({ name }) => name), columns };
}
