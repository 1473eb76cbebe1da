// Reads rows of nvidia-smi: samples, processes, and dmon's hardware counters.
import type { TelemetrySample, UseSample } from "../../core/telemetry/window.ts";

/** Names, newest first: the first that the driver lists is queried. */
type SmiField = readonly [key: string, ...names: string[]];

/** `clocks_throttle_reasons` became `clocks_event_reasons` with driver 530. */
export const sampleFields: readonly SmiField[] = [
	["clocks.sm", "clocks.sm", "clocks.current.sm"],
	["clocks.mem", "clocks.mem", "clocks.current.memory"],
	["power.draw"],
	["temperature.gpu"],
	["memory.used"],
	["utilization.gpu"],
	["utilization.memory"],
	["reasons", "clocks_event_reasons.active", "clocks_throttle_reasons.active"],
];

export const inventoryFields: readonly SmiField[] = [
	["index"],
	["uuid", "uuid", "gpu_uuid"],
	["name", "name", "gpu_name"],
	["driver_version"],
	["compute_cap"],
	["memory.total"],
	["power.limit"],
	["enforced.power.limit"],
	["mig.mode.current"],
	["ecc.mode.current"],
	["display_active"],
];

export interface QueryField {
	key: string;
	name: string;
}

/** Lines of `"name"` or `"name" or "alias"`. */
export function parseHelpFields(help: string): ReadonlySet<string> {
	const lines = help.split(/\r?\n/).filter((line) => /^"[^"\s]+"(\s+or\s+"[^"\s]+")*\s*$/.test(line));
	return new Set(lines.flatMap((line) => [...line.matchAll(/"([^"\s]+)"/g)].map(([, name = ""]) => name)));
}

/** A single unknown field would fail the whole query. */
export function chooseFields(wanted: readonly SmiField[], offered: ReadonlySet<string>): QueryField[] {
	return wanted.flatMap(([key, ...names]) => {
		const name = (names.length === 0 ? [key] : names).find((candidate) => offered.has(candidate));
		return name === undefined ? [] : [{ key, name }];
	});
}

export const helpArgs: readonly string[] = ["--help-query-gpu"];
export const listArgs: readonly string[] = ["-L"];

interface ListOptions {
	gpu?: string;
	everyMs?: number;
}

export function queryArgs(fields: readonly QueryField[], options: ListOptions = {}): string[] {
	return listing(`--query-gpu=${fields.map(({ name }) => name).join(",")}`, options);
}

export function appsArgs(options: ListOptions = {}): string[] {
	return listing("--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory", options);
}

/** From Hopper on: SM utilisation, SM occupancy, any tensor pipe and DRAM bandwidth (nvmlGpmMetricId_t). */
export function gpmArgs(gpu: string): string[] {
	return ["dmon", "-i", gpu, "-s", "u", "-d", "1", "--gpm-metrics=2,3,5,10"];
}

function listing(query: string, { gpu, everyMs }: ListOptions) {
	return [
		...(gpu === undefined ? [] : ["-i", gpu]),
		query,
		"--format=csv,noheader,nounits",
		...(everyMs === undefined ? [] : ["-lms", String(everyMs)]),
	];
}

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
