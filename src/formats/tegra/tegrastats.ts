// Reads tegrastats, whose fields differ by board, JetPack and user.
import type { TelemetrySample } from "../../core/telemetry/window.ts";
import { type GpuChoice, knownOnly } from "../nvidia-smi/gpus.ts";

/** Best first: Thor, AGX Orin, TX2 and Xavier, Orin NX and Nano, Nano. */
const gpuRails = ["VDD_GPU", "VDD_GPU_SOC", "VDD_SYS_GPU", "VDD_CPU_GPU_CV", "POM_5V_GPU", "GPU"] as const;
const mebibyte = 1024 * 1024;
const idle = 1n;
const offC = -256;

export function parseTegrastats(line: string, atMs: number): TelemetrySample | null {
	const used = numberIn(/\bRAM (\d{1,9})\/\d{1,9}MB/, line);
	if (used === null) return null;
	const gpu = loadOf("GR3D_FREQ", line);
	const memory = loadOf("EMC_FREQ", line);
	return {
		atMs,
		smClockMhz: gpu.clockMhz,
		memoryClockMhz: memory.clockMhz,
		powerW: gpuPowerOf(line)?.watts ?? null,
		temperatureC: temperatureOf("gpu", line) ?? temperatureOf("tj", line),
		memoryUsedBytes: used * mebibyte,
		kernelTime: gpu.share,
		memoryTime: memory.share,
		// A powered-down GPU has clocks of 0 and, on Thor, no percentage.
		eventReasons: gpu.share === 0 || gpu.clockMhz === 0 ? idle : 0n,
	};
}

/** `63%`, `7%@114`, `12%@[1300,1300]`, `@[1000,1000,1000]`: kernels may use any cluster, so the fastest counts. */
function loadOf(field: string, line: string) {
	const found = new RegExp(`\\b${field} (\\d{1,3})?%?(?:@\\[?(\\d{1,6}(?:,\\d{1,6}){0,15}))?`).exec(line);
	const [percent, clocks] = [found?.[1], found?.[2]];
	return {
		share: percent === undefined ? null : Number(percent) / 100,
		clockMhz: clocks === undefined ? null : Math.max(...clocks.split(",").map(Number)),
	};
}

/** `2390mW/2390mW`, with a third figure from JetPack 7 on, without units on JetPack 4; the first is current. */
export function gpuPowerOf(line: string): { rail: string; watts: number } | null {
	for (const rail of gpuRails) {
		const milliwatts = numberIn(new RegExp(` ${rail} (\\d{1,7})(?:mW)?/\\d{1,7}`), line);
		if (milliwatts !== null) return { rail, watts: milliwatts / 1000 };
	}
	return null;
}

function temperatureOf(sensor: string, line: string) {
	const celsius = numberIn(new RegExp(`\\b${sensor}@(-?\\d{1,3}(?:\\.\\d{1,4})?)C`, "i"), line);
	return celsius === offC ? null : celsius;
}

function numberIn(pattern: RegExp, line: string) {
	const text = pattern.exec(line)?.[1];
	return text === undefined ? null : Number(text);
}

export interface TegraBoard {
	/** null if the container hides it. */
	model: string | null;
	/** Linux for Tegra, `36.4.4`. */
	l4t: string | null;
	powerMode: string | null;
	gpuClock: { minMhz: number; maxMhz: number } | null;
}

export interface Device {
	choice: GpuChoice;
	/** Newest CUDA that the driver runs; null if it does not report it. */
	cuda: string | null;
	board?: TegraBoard;
}

/** none: nvidia-smi answers and shows no such GPU. unknown: it is not there, or does not answer. */
export type DeviceRead = { state: "found"; device: Device } | { state: "none" } | { state: "unknown" };

export function parseTegraRelease(text: string): string | null {
	const found = /^# R(\d{1,3}) \(release\), REVISION: (\d{1,3}(?:\.\d{1,3}){0,2})/m.exec(text);
	return found === null ? null : `${found[1]}.${found[2]}`;
}

/** `nvpmodel -q` may print a warning first. */
export function parsePowerMode(text: string): string | null {
	return /^NV Power Mode:\s*(\S{1,60})\s*$/m.exec(text)?.[1] ?? null;
}

/** `17000000.gpu`, and by chip before JetPack 6. */
export function isGpuDevice(name: string): boolean {
	return /\.(gpu|ga10b|gv11b|gp10b|gm20b)$/.test(name);
}

/** Fixed clocks (jetson_clocks) differ from clocks that follow the load. */
export function boardFingerprint({ model, l4t, powerMode, gpuClock }: TegraBoard): Record<string, string> {
	const { minMhz, maxMhz } = gpuClock ?? { minMhz: 0, maxMhz: 0 };
	const clock = minMhz === maxMhz ? `${maxMhz} MHz, fixed` : `up to ${maxMhz} MHz`;
	return knownOnly({ board: model, l4t, powerMode, gpuClock: gpuClock && clock });
}
