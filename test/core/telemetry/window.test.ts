import { expect, it } from "vitest";
import { foreignProcessesOf } from "../../../src/core/telemetry/conditions.ts";
import {
	type GpuProcess,
	gpuWindow,
	reasonNames,
	type TelemetrySample,
} from "../../../src/core/telemetry/window.ts";

function sample(atMs: number, over: Partial<TelemetrySample> = {}): TelemetrySample {
	return {
		...{ atMs, smClockMhz: 1980, memoryClockMhz: 3201, powerW: 126, temperatureC: 32 },
		...{ memoryUsedBytes: 1000, kernelTime: 0.5, memoryTime: 0.1, eventReasons: 0n, ...over },
	};
}

const process = (
	owner: GpuProcess["owner"],
	pid: number | null,
	memoryBytes: number | null = 10,
): GpuProcess => ({ pid, name: "x", memoryBytes, owner });

const windowOf = (samples: TelemetrySample[], fromMs: number, toMs: number) =>
	gpuWindow({ samples, use: [], processes: [] }, fromMs, toMs);

it("gpuWindow leaves the clocks of an idle GPU out, and keeps its memory", () => {
	const samples = [
		sample(0, { smClockMhz: 345, eventReasons: 1n, memoryUsedBytes: 9000 }),
		sample(100),
		sample(200, { smClockMhz: 1500, eventReasons: 0x24n }),
	];
	expect(windowOf(samples, 0, 200)).toMatchObject({
		samples: 3,
		smClockMhz: { mean: 1740, min: 1500, max: 1980 },
		memoryUsedBytes: 9000,
		throttleReasons: ["sw-power-cap", "sw-thermal"],
		powerCapShare: 0.5,
		use: { source: "nvidia-smi", smUtilisation: 0.5, memoryBandwidth: 0.1 },
	});
});

it("gpuWindow is empty if nothing was read, and null if nothing is reported", () => {
	expect(windowOf([sample(0)], 1, 5)).toBeNull();
	const unknown = { smClockMhz: null, powerW: null, memoryUsedBytes: null };
	const dumb = sample(0, { ...unknown, kernelTime: null, memoryTime: null, eventReasons: null });
	const none = { ...unknown, use: null, powerCapShare: null, throttleReasons: [] };
	expect(windowOf([dumb], 0, 0)).toMatchObject(none);
});

it("gpuWindow prefers the hardware's counters, which cover the second before", () => {
	const rest = { memoryBandwidth: 0.02, smOccupancy: 0.08, tensorActivity: 0.16 };
	const use = (atMs: number, smUtilisation: number) => ({ atMs, smUtilisation, ...rest });
	const trace = {
		samples: [sample(1000)],
		use: [use(1200, 0.1), use(2200, 0.4), use(3200, 0.6), use(4200, 0.9)],
		processes: [],
	};
	expect(gpuWindow(trace, 1000, 3000)?.use).toEqual({ source: "gpm", smUtilisation: 0.5, ...rest });
});

it("gpuWindow tells our memory from others' only if every process reports it", () => {
	const memory = (...processes: GpuProcess[]) => {
		const trace = { samples: [sample(0)], use: [], processes: [{ atMs: 0, processes }] };
		const { ownMemoryBytes, otherMemoryBytes } = gpuWindow(trace, 0, 1) ?? {};
		return [ownMemoryBytes, otherMemoryBytes];
	};
	expect(memory(process("ours", 1, 100), process("foreign", 2, 7))).toEqual([100, 7]);
	expect(memory(process("ours", 1, 100), process("foreign", 2, null))).toEqual([null, null]);
	expect(memory(process("ours", 1, 100), process("unknown", 2, 7))).toEqual([100, 7]);
	expect(memory(process("unknown", 1, 100))[0]).toBeNull();
});

it("reasonNames names NVML's bits, and numbers those it does not know", () => {
	expect(reasonNames(0x1ffn)).toEqual([
		...["applications-clocks", "sw-power-cap", "hw-slowdown", "sync-boost", "sw-thermal", "hw-thermal"],
		...["hw-power-brake", "display-clocks"],
	]);
	expect(reasonNames(0x1n)).toEqual([]);
	expect(reasonNames(0x8000000000000200n)).toEqual(["bit-9", "bit-63"]);
});

it.each([
	["each foreign process once, and no resident one", "ours 1, resident 2, foreign 3", [3]],
	["none for one unknown process, which is ours", "unknown 8", []],
	["the older of two unknown processes", "unknown 8, unknown 9", [8]],
	["an unknown process beside ours", "ours 1, unknown 9", [9]],
])("foreignProcessesOf returns %s", (_, listed, pids) => {
	const processes = listed.split(", ").map((each) => {
		const [owner, pid] = each.split(" ");
		return process(owner as GpuProcess["owner"], Number(pid));
	});
	const readings = [1, 2].map((atMs) => ({ atMs, processes }));
	expect(foreignProcessesOf(readings).map(({ pid }) => pid)).toEqual(pids);
});
