// Reads the rows that nvidia-smi prints while it runs: samples, processes, and dmon's hardware counters.
import type { TelemetrySample, UseSample } from "../../core/telemetry/sample.ts";
import { cellMask, cellNumber, cellText, readCell, splitCells } from "./cell.ts";
import type { QueryField } from "./query.ts";

export type SampleLine =
	| { state: "sample"; sample: TelemetrySample }
	/** Not a row: blank, incomplete at the end, or a message. */
	| { state: "skipped"; why: string }
	/** The GPU or its driver failed: later rows will not recover. */
	| { state: "lost"; why: string };

const mebibyte = 1024 * 1024;
/** Messages of a driver or GPU that has failed; they are printed instead of a row. */
const fatal =
	/GPU is lost|GPU requires reset|fallen off the bus|Failed to initialize NVML|NVIDIA-SMI has failed|Unable to determine the device handle/i;

export function parseSampleLine(line: string, fields: readonly QueryField[], atMs: number): SampleLine {
	if (line.trim() === "") return { state: "skipped", why: "a blank line" };
	const cells = splitCells(line);
	if (cells.length !== fields.length) {
		if (fatal.test(line)) return { state: "lost", why: line.trim().slice(0, 200) };
		return { state: "skipped", why: `${cells.length} columns where ${fields.length} were expected` };
	}
	let none = "";
	for (const cell of cells) {
		const read = readCell(cell);
		if (read.state === "lost") return { state: "lost", why: read.why };
		if (read.state === "none" && none === "") none = read.why;
	}
	const sample = sampleOf(new Map(fields.map(({ key }, index) => [key, cells[index]])), atMs);
	if (Object.values(sample).every((value) => value === null || value === atMs)) {
		return fatal.test(line)
			? { state: "lost", why: line.trim().slice(0, 200) }
			: { state: "skipped", why: `no value in any column, but ${none || "nothing"}` };
	}
	return { state: "sample", sample };
}

function sampleOf(cells: ReadonlyMap<string, string | undefined>, atMs: number): TelemetrySample {
	const value = (key: string): number | null => cellNumber(cells.get(key));
	const memoryMib = value("memory.used");
	return {
		atMs,
		smClockMhz: value("clocks.sm"),
		memoryClockMhz: value("clocks.mem"),
		powerW: value("power.draw"),
		temperatureC: value("temperature.gpu"),
		memoryUsedBytes: memoryMib === null ? null : memoryMib * mebibyte,
		kernelTime: fraction(value("utilization.gpu")),
		memoryTime: fraction(value("utilization.memory")),
		eventReasons: cellMask(cells.get("reasons")),
	};
}

/** nvidia-smi counts in percent; readings above 100 exist and mean 100. */
export function fraction(percent: number | null): number | null {
	return percent === null ? null : Math.min(1, Math.max(0, percent / 100));
}

export interface AppRow {
	/** Of the whole GPU, also where the process runs on a slice of it. */
	gpuUuid: string;
	/** As the driver numbers it: in a container, the host's number. */
	pid: number | null;
	/** "" where the driver does not report it. */
	name: string;
	memoryBytes: number | null;
}

/** null: not a row. A process may have a comma in its name, so the row is read from both ends. */
export function parseAppLine(line: string): AppRow | null {
	const cells = splitCells(line);
	const [, gpuUuid, pid] = cells;
	if (cells.length < 5 || gpuUuid === undefined || !/^(GPU|MIG)-/.test(gpuUuid)) return null;
	const number = cellNumber(pid);
	const memoryMib = cellNumber(cells.at(-1));
	return {
		gpuUuid,
		pid: number !== null && Number.isSafeInteger(number) && number > 0 ? number : null,
		name: cellText(cells.slice(3, -1).join(", ")) ?? "",
		memoryBytes: memoryMib === null ? null : memoryMib * mebibyte,
	};
}

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

/** null where the row has no value: the first one has dashes, as a rate needs two readings. */
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
