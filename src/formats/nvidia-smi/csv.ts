// Reads the stream of samples that nvidia-smi prints, line by line, whatever becomes of the GPU meanwhile.
import type { TelemetrySample } from "../../core/telemetry/sample.ts";
import { cellMask, cellNumber, readCell, splitCells } from "./cell.ts";
import type { AskedField } from "./fields.ts";

export type SampleLine =
	| { state: "sample"; sample: TelemetrySample }
	/** Not a row of ours: blank, half a row at the end, or a message. */
	| { state: "skipped"; why: string }
	/** The GPU or its driver is gone: no later row will be better. */
	| { state: "lost"; why: string };

const mebibyte = 1024 * 1024;
/** Messages of a driver or GPU that has failed; they stand where a row should. */
const fatal =
	/GPU is lost|GPU requires reset|fallen off the bus|Failed to initialize NVML|NVIDIA-SMI has failed|Unable to determine the device handle/i;

export function parseSampleLine(line: string, fields: readonly AskedField[], atMs: number): SampleLine {
	if (line.trim() === "") return { state: "skipped", why: "a blank line" };
	const cells = splitCells(line);
	if (cells.length !== fields.length) {
		if (fatal.test(line)) return { state: "lost", why: line.trim().slice(0, 200) };
		return { state: "skipped", why: `${cells.length} columns where ${fields.length} were asked for` };
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
