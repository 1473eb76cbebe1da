// Compares the GPU's state for base and head.
import type { Comparison, GpuUse, PerfRun, WorkloadGpu } from "../../../generated/result.ts";
import { formatPercent } from "../text/units.ts";
import { highest, meanOf } from "./window.ts";

/** Three times the difference between undisturbed runs of one engine. */
export const equalClocks = 0.003;

export function workloadGpu(runs: readonly PerfRun[], estimate: number | null): WorkloadGpu | null {
	const [base, head] = [summarizeGpu(runs, "base"), summarizeGpu(runs, "head")];
	return base === null && head === null ? null : { base, head, cycles: inCycles(base, head, estimate) };
}

function summarizeGpu(runs: readonly PerfRun[], arm: PerfRun["arm"]) {
	const windows = runs.flatMap((run) =>
		run.arm === arm && run.state === "ok" && run.gpu !== undefined ? [run.gpu] : [],
	);
	if (windows.length === 0) return null;
	const mean = (key: "smClockMhz" | "memoryClockMhz" | "powerW" | "temperatureC") =>
		meanOf(windows.map((window) => window[key]?.mean ?? null));
	return {
		runs: windows.length,
		smClockMhz: mean("smClockMhz"),
		memoryClockMhz: mean("memoryClockMhz"),
		powerW: mean("powerW"),
		temperatureC: mean("temperatureC"),
		memoryUsedBytes: highest(windows.map((window) => window.memoryUsedBytes)),
		use: useOf(windows.flatMap((window) => window.use ?? [])),
		throttleReasons: [...new Set(windows.flatMap((window) => window.throttleReasons))].sort(),
		powerCapShare: meanOf(windows.map((window) => window.powerCapShare ?? null)),
	};
}

function useOf(all: readonly GpuUse[]) {
	const source = all.find((use) => use.source === "gpm")?.source ?? all[0]?.source;
	if (source === undefined) return null;
	const uses = all.filter((use) => use.source === source);
	const keys = ["smUtilisation", "memoryBandwidth", ...(source === "gpm" ? counterKeys : [])] as const;
	const means = keys.map((key) => [key, meanOf(uses.map((use) => use[key] ?? null))]);
	return { source, ...Object.fromEntries(means) } as GpuUse;
}

const counterKeys = ["smOccupancy", "tensorActivity"] as const;

export function clockNotes(
	gpu: WorkloadGpu,
	latency: Pick<Comparison, "verdict" | "estimate" | "minimalEffect">,
): string[] {
	const [from, to] = [gpu.base?.smClockMhz ?? null, gpu.head?.smClockMhz ?? null];
	if (from === null || to === null || gpu.cycles === null || latency.estimate === null) return [];
	if (Math.abs(to / from - 1) <= equalClocks)
		return [`The GPU clock was the same for base and head: ${Math.round(to)} MHz.`];
	const cycles = formatPercent(gpu.cycles, { sign: true });
	const clocks = `The GPU ran at ${Math.round(from)} MHz for the base and at ${Math.round(to)} MHz for the head`;
	if (latency.verdict !== "regressed" && latency.verdict !== "improved")
		return [`${clocks}; counted in its cycles, the change is ${cycles}.`];
	const holds =
		Math.sign(gpu.cycles) === Math.sign(latency.estimate) && Math.abs(gpu.cycles) >= latency.minimalEffect;
	return [
		holds
			? `Confirmed in GPU cycles (${cycles}): ${clocks.slice(0, 1).toLowerCase() + clocks.slice(1)}.`
			: `${clocks}; counted in its cycles, the change is only ${cycles}: the clock explains it, not the engine's work.`,
	];
}

interface Clocked {
	smClockMhz: number | null;
}

/** Change in time × SM clock, from `ratio`, the change in time. */
export function inCycles(base: Clocked | null, head: Clocked | null, ratio: number | null): number | null {
	const [from, to] = [base?.smClockMhz ?? 0, head?.smClockMhz ?? 0];
	if (ratio === null || !(from > 0) || !(to > 0)) return null;
	return (1 + ratio) * (to / from) - 1;
}
