// Reads `nvidia-smi dmon`: columns of text under a header that is repeated and differs by driver.
import type { UseSample } from "../../core/telemetry/sample.ts";
import { cellNumber } from "./cell.ts";
import { fraction } from "./csv.ts";

export interface DmonParser {
	/** A row by the names of its columns, or null for headers and what is no row. */
	push(line: string): ReadonlyMap<string, string> | null;
	/** Names in the last header; empty before one came. */
	columns(): readonly string[];
}

export function dmonParser(): DmonParser {
	let names: string[] = [];
	return {
		push(line) {
			const cells = line.trim().split(/\s+/);
			// The first of the two header lines names the columns, the second their units.
			if (line.trimStart().startsWith("#")) {
				if (/(^|\s)gpu(\s|$)/.test(line)) names = line.replace("#", " ").trim().split(/\s+/);
				return null;
			}
			if (names.length === 0 || cells.length !== names.length) return null;
			return new Map(names.map((name, index) => [name, cells[index] ?? ""]));
		},
		columns: () => names,
	};
}

/** Names of the columns of GPM metrics, as driver 580 prints them. */
const gpmColumns = { smUtilisation: "smutil", smOccupancy: "smocc", tensorActivity: "mmaact", memoryBandwidth: "dram" } as const;

export function hasGpm(columns: readonly string[]): boolean {
	return Object.values(gpmColumns).some((name) => columns.includes(name));
}

/** null where the row tells nothing: the first after the start has dashes, as a rate needs two readings. */
export function useSampleOf(row: ReadonlyMap<string, string>, atMs: number): UseSample | null {
	const percent = (column: string): number | null => fraction(cellNumber(row.get(column)));
	const sample = {
		atMs,
		smUtilisation: percent(gpmColumns.smUtilisation),
		memoryBandwidth: percent(gpmColumns.memoryBandwidth),
		smOccupancy: percent(gpmColumns.smOccupancy),
		tensorActivity: percent(gpmColumns.tensorActivity),
	};
	return sample.smUtilisation === null && sample.memoryBandwidth === null ? null : sample;
}
