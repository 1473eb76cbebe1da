// Readings of a GPU, and summaries of those of one period.
import type { GpuUse, GpuWindow } from "../../../generated/result.ts";
import { highest, meanOf } from "../stats/quantile.ts";

/** About ten a second; null if not reported. */
export interface TelemetrySample {
	atMs: number;
	smClockMhz: number | null;
	memoryClockMhz: number | null;
	powerW: number | null;
	temperatureC: number | null;
	memoryUsedBytes: number | null;
	kernelTime: number | null;
	memoryTime: number | null;
	eventReasons: bigint | null;
}

/** Hardware counters since the previous reading, 0 to 1. */
export interface UseSample {
	atMs: number;
	smUtilisation: number | null;
	memoryBandwidth: number | null;
	smOccupancy: number | null;
	tensorActivity: number | null;
}

export interface ProcessSample {
	atMs: number;
	processes: readonly GpuProcess[];
}

export interface GpuProcess {
	pid: number | null;
	name: string;
	memoryBytes: number | null;
	/** resident: there and idle before we began. */
	owner: "ours" | "resident" | "foreign" | "unknown";
}

export interface GpuTrace {
	samples: readonly TelemetrySample[];
	use: readonly UseSample[];
	processes: readonly ProcessSample[];
	source?: "nvidia-smi" | "tegrastats";
}

/** Bits of nvmlClocksEventReasons (NVML API reference, "Clocks Event Reasons"); bit 0x1 is idleness. */
const reasonBits: readonly (readonly [bigint, string])[] = [
	[0x2n, "applications-clocks"],
	[0x4n, "sw-power-cap"],
	[0x8n, "hw-slowdown"],
	[0x10n, "sync-boost"],
	[0x20n, "sw-thermal"],
	[0x40n, "hw-thermal"],
	[0x80n, "hw-power-brake"],
	[0x100n, "display-clocks"],
];

const idleBit = 0x1n;
const powerCapBit = 0x4n;
const known = reasonBits.reduce((mask, [bit]) => mask | bit, idleBit);

/** The power cap is not one: large matrix products on an H200 were under it all the time (691 W of 700). */
const spoiling: ReadonlyMap<string, string> = new Map([
	["hw-slowdown", "a hardware slowdown"],
	["sw-thermal", "a thermal slowdown by the driver"],
	["hw-thermal", "a thermal slowdown by the hardware"],
	["hw-power-brake", "the power brake of the machine"],
]);

export function reasonNames(mask: bigint): string[] {
	const names = reasonBits.filter(([bit]) => (mask & bit) !== 0n).map(([, name]) => name);
	const rest = BigInt.asUintN(64, mask & ~known);
	for (let index = 0n; index < 64n; index += 1n) if ((rest >> index) & 1n) names.push(`bit-${index}`);
	return names;
}

export function spoilingReason(names: readonly string[]): string | null {
	return spoiling.get(names.find((name) => spoiling.has(name)) ?? "") ?? null;
}

/** Counters report about the second before. */
const useLagMs = 500;

export function gpuWindow(trace: GpuTrace, fromMs: number, toMs: number): GpuWindow | null {
	const samples = between(trace.samples, fromMs, toMs);
	if (samples.length === 0) return null;
	// The idle clock is not the one that the work ran at.
	const busy = samples.filter((sample) => ((sample.eventReasons ?? 0n) & idleBit) === 0n);
	const processes = between(trace.processes, fromMs, toMs);
	const mask = samples.reduce((seen, sample) => seen | (sample.eventReasons ?? 0n), 0n);
	const range = (key: "smClockMhz" | "memoryClockMhz" | "powerW" | "temperatureC") =>
		rangeOf(busy.map((sample) => sample[key]));
	return {
		samples: samples.length,
		smClockMhz: range("smClockMhz"),
		memoryClockMhz: range("memoryClockMhz"),
		powerW: range("powerW"),
		temperatureC: range("temperatureC"),
		memoryUsedBytes: highest(samples.map((sample) => sample.memoryUsedBytes)),
		ownMemoryBytes: memoryOf(processes, (process) => process.owner === "ours"),
		otherMemoryBytes: memoryOf(processes, (process) => process.owner !== "ours"),
		use: counted(between(trace.use, fromMs + useLagMs, toMs + useLagMs)) ?? sampled(busy, trace.source),
		throttleReasons: reasonNames(mask),
		powerCapShare: meanOf(
			busy.map(({ eventReasons: is }) => (is === null ? null : Number((is & powerCapBit) !== 0n))),
		),
	};
}

function rangeOf(values: readonly (number | null)[]) {
	const known = values.filter((value) => value !== null);
	const [mean, max] = [meanOf(known), highest(known)];
	if (mean === null || max === null) return null;
	return { mean, min: known.reduce((a, b) => Math.min(a, b)), max };
}

/** null if a process hides its memory, or none is known as ours and one might be. */
function memoryOf(readings: readonly ProcessSample[], belongs: (process: GpuProcess) => boolean) {
	const isComplete = readings.every(({ processes }) => {
		const isKnown = processes.every(({ memoryBytes }) => memoryBytes !== null);
		return (
			isKnown &&
			(processes.some(({ owner }) => owner === "ours") || processes.every(({ owner }) => owner !== "unknown"))
		);
	});
	if (!isComplete) return null;
	return highest(
		readings.map(({ processes }) =>
			processes.filter(belongs).reduce((sum, process) => sum + (process.memoryBytes ?? 0), 0),
		),
	);
}

function counted(readings: readonly UseSample[]): GpuUse | null {
	const mean = (key: Exclude<keyof UseSample, "atMs">) => meanOf(readings.map((reading) => reading[key]));
	const [smUtilisation, memoryBandwidth] = [mean("smUtilisation"), mean("memoryBandwidth")];
	if (smUtilisation === null && memoryBandwidth === null) return null;
	const [smOccupancy, tensorActivity] = [mean("smOccupancy"), mean("tensorActivity")];
	return { source: "gpm", smUtilisation, memoryBandwidth, smOccupancy, tensorActivity };
}

function sampled(busy: readonly TelemetrySample[], source: GpuTrace["source"] = "nvidia-smi") {
	const smUtilisation = meanOf(busy.map((sample) => sample.kernelTime));
	const memoryBandwidth = meanOf(busy.map((sample) => sample.memoryTime));
	return smUtilisation === null && memoryBandwidth === null
		? null
		: { source, smUtilisation, memoryBandwidth };
}

export function between<Reading extends Pick<UseSample, "atMs">>(
	readings: readonly Reading[],
	fromMs: number,
	toMs: number,
): readonly Reading[] {
	return readings.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
}
