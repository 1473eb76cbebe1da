// Reads the rows that nvidia-smi prints while it runs: samples, processes, and dmon's hardware counters.
import type { TelemetrySample, UseSample } from "../../core/telemetry/sample.ts";
import type { QueryField } from "./query.ts";

type SampleLine =
	| { state: "sample"; sample: TelemetrySample }
	/** Not a row: blank, incomplete at the end, or a message. */
	| { state: "skipped"; why: string }
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
function fraction(percent: number | null): number | null {
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

interface DmonParser {
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
const gpmColumns = {
	smUtilisation: "smutil",
	smOccupancy: "smocc",
	tensorActivity: "mmaact",
	memoryBandwidth: "dram",
} as const;

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

/** What nvidia-smi prints where it has no value: `[N/A]`, `[Not Supported]`, bare `N/A`, `-`; `ERR!` and `Unknown Error` on failure. */
type Cell =
	| { state: "value"; text: string }
	| { state: "none"; why: string }
	| { state: "lost"; why: string };

/** Not a missing value: the GPU no longer responds (NVML's error strings). */
const losses = /GPU is lost|GPU requires reset|fallen off the bus|Unable to determine the device handle/i;

export function readCell(text: string): Cell {
	const trimmed = text.trim();
	if (losses.test(trimmed)) return { state: "lost", why: unbracket(trimmed) };
	if (
		trimmed === "" ||
		trimmed === "-" ||
		trimmed.startsWith("[") ||
		/^(N\/A|ERR!|(Unknown|Insufficient|Not) \w+)$/i.test(trimmed)
	)
		return { state: "none", why: unbracket(trimmed) };
	return { state: "value", text: trimmed };
}

function unbracket(text: string): string {
	return text.replace(/^\[|\]$/g, "");
}

/** A finite number, a unit behind it allowed; null for every other cell. */
export function cellNumber(text: string | undefined): number | null {
	if (text === undefined) return null;
	const cell = readCell(text);
	const match =
		cell.state === "value" ? /^(-?\d+(?:\.\d+)?)(?: ?(?:%|MiB|MHz|W|C|us))?$/.exec(cell.text) : null;
	const value = match ? Number(match[1]) : Number.NaN;
	return Number.isFinite(value) ? value : null;
}

/** The cell's text, or null where it has none. */
export function cellText(text: string | undefined): string | null {
	const cell = readCell(text ?? "");
	return cell.state === "value" ? cell.text : null;
}

/** A 64-bit mask, `0x0000000000000004`. */
export function cellMask(text: string | undefined): bigint | null {
	const trimmed = text?.trim() ?? "";
	return /^0x[0-9a-f]{1,16}$/i.test(trimmed) ? BigInt(trimmed) : null;
}

/** Cells of one line. nvidia-smi quotes nothing; its separator is comma and space. */
export function splitCells(line: string): string[] {
	return line.split(/, ?/);
}
