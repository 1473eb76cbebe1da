// Reads rows of nvidia-smi: samples, processes, and dmon's hardware counters.
import type { TelemetrySample, UseSample } from "../../core/telemetry/window.ts";
import type { QueryField } from "./query.ts";

const mebibyte = 1024 * 1024;
/** NVML's messages for a failed GPU or driver, in a cell or instead of a row. */
const lost =
	/GPU is lost|GPU requires reset|fallen off the bus|Unable to determine the device handle|Failed to initialize NVML|NVIDIA-SMI has failed/i;

export function parseSampleLine(
	line: string,
	fields: readonly QueryField[],
	atMs: number,
):
	| { state: "sample"; sample: TelemetrySample }
	| { state: "skipped"; why: string }
	| { state: "lost"; why: string } {
	if (line.trim() === "") return { state: "skipped", why: "a blank line" };
	const cells = splitCells(line);
	if (lost.test(line)) {
		const message = cells.length === fields.length ? cells.find((cell) => lost.test(cell)) : line;
		return { state: "lost", why: unbracket(message ?? line).slice(0, 200) };
	}
	if (cells.length !== fields.length)
		return { state: "skipped", why: `${cells.length} columns where ${fields.length} were expected` };
	const sample = sampleOf(new Map(fields.map(({ key }, index) => [key, cells[index]])), atMs);
	if (Object.values(sample).some((value) => value !== null && value !== atMs))
		return { state: "sample", sample };
	const none = cells.find((cell) => cellText(cell) === null && cell.trim() !== "");
	return { state: "skipped", why: `no value in any column, but ${unbracket(none ?? "nothing")}` };
}

function sampleOf(cells: ReadonlyMap<string, string | undefined>, atMs: number) {
	const value = (key: string) => cellNumber(cells.get(key));
	return {
		atMs,
		smClockMhz: value("clocks.sm"),
		memoryClockMhz: value("clocks.mem"),
		powerW: value("power.draw"),
		temperatureC: value("temperature.gpu"),
		memoryUsedBytes: cellMebibytes(cells.get("memory.used")),
		kernelTime: fraction(value("utilization.gpu")),
		memoryTime: fraction(value("utilization.memory")),
		eventReasons: cellMask(cells.get("reasons")),
	};
}

/** Readings above 100 % exist and mean 100 %. */
function fraction(percent: number | null) {
	return percent === null ? null : Math.min(1, Math.max(0, percent / 100));
}

export interface AppRow {
	/** Of the whole GPU, even if the process runs on a slice. */
	gpuUuid: string;
	pid: number | null;
	name: string;
	memoryBytes: number | null;
}

/** A process name may contain a comma, so rows are read from both ends. */
export function parseAppLine(line: string): AppRow | null {
	const cells = splitCells(line);
	const [, gpuUuid, pid] = cells;
	if (cells.length < 5 || gpuUuid === undefined || !/^(GPU|MIG)-/.test(gpuUuid)) return null;
	const number = cellNumber(pid);
	return {
		gpuUuid,
		pid: number !== null && Number.isSafeInteger(number) && number > 0 ? number : null,
		name: cellText(cells.slice(3, -1).join(", ")) ?? "",
		memoryBytes: cellMebibytes(cells.at(-1)),
	};
}

export function dmonParser() {
	let names: string[] = [];
	return {
		push(line: string) {
			const cells = line.replace("#", " ").trim().split(/\s+/);
			// The second header line has units.
			if (line.trimStart().startsWith("#")) {
				if (cells.includes("gpu")) names = cells;
				return null;
			}
			if (names.length === 0 || cells.length !== names.length) return null;
			return new Map(names.map((name, index) => [name, cells[index] ?? ""]));
		},
		columns: () => names,
	};
}

export function hasGpm(columns: readonly string[]): boolean {
	return ["smutil", "smocc", "mmaact", "dram"].some((name) => columns.includes(name));
}

/** The first row has dashes, as a rate needs two readings. */
export function useSampleOf(row: ReadonlyMap<string, string>, atMs: number): UseSample | null {
	const percent = (column: string) => fraction(cellNumber(row.get(column)));
	const [smUtilisation, memoryBandwidth] = [percent("smutil"), percent("dram")];
	if (smUtilisation === null && memoryBandwidth === null) return null;
	return {
		atMs,
		smUtilisation,
		memoryBandwidth,
		smOccupancy: percent("smocc"),
		tensorActivity: percent("mmaact"),
	};
}

function unbracket(text: string) {
	return text.trim().replace(/^\[|\]$/g, "");
}

/** `[N/A]`, `[Not Supported]`, bare `N/A`, `-`; `ERR!` and `Unknown Error` on failure. */
export function cellText(text = ""): string | null {
	const trimmed = text.trim();
	const isNone =
		/^(?:|-|\[.*|N\/A|ERR!|(?:Unknown|Insufficient|Not) \w+)$/is.test(trimmed) || lost.test(trimmed);
	return isNone ? null : trimmed;
}

export function cellNumber(text: string | undefined): number | null {
	const match = /^(-?\d+(?:\.\d+)?)(?: ?(?:%|MiB|MHz|W|C|us))?$/.exec(cellText(text) ?? "");
	const value = match ? Number(match[1]) : NaN;
	return Number.isFinite(value) ? value : null;
}

export function cellMebibytes(text: string | undefined): number | null {
	const value = cellNumber(text);
	return value === null ? null : value * mebibyte;
}

export function cellMask(text: string | undefined): bigint | null {
	const trimmed = text?.trim() ?? "";
	return /^0x[0-9a-f]{1,16}$/i.test(trimmed) ? BigInt(trimmed) : null;
}

/** nvidia-smi quotes nothing. */
export function splitCells(line: string): string[] {
	return line.split(/, ?/);
}
