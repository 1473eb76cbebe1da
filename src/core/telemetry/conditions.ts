// What the GPU's state says of runs: whether one counts, by its conditions, never by its side or result; and how base and head compare.
import type { Comparison, GpuUse, GpuWindow, PerfRun, WorkloadGpu } from "../../../generated/result.ts";
import { highest, meanOf, median } from "../stats/quantile.ts";
import { formatPercent } from "../text/units.ts";
import { type GpuProcess, type ProcessSample, spoilingReason } from "./window.ts";

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

export interface ForeignProcess {
	pid: number | null;
	name: string;
}

export interface RunConditions {
	window: GpuWindow | null;
	computeShare: number | null;
	foreignProcesses: readonly ForeignProcess[];
}

const validityLimits = {
	/** Unthrottled clocks of one workload agree within 0.1 % (H200, 196 processes); 3 % of clock is 3 % of latency. */
	clockShare: 0.03,
	/** Undisturbed processes stay within 6 % (H200, 196 processes); a process that shares the GPU halves the share. */
	computeFall: 0.2,
	/** A larger share of runs is not an incident but a property of one side. */
	incidentShare: 1 / 3,
	powerCapShare: 0.5,
} as const;

export function judgeValidity(
	run: RunConditions,
	all: readonly RunConditions[],
): { state: "valid" } | { state: "invalid"; reason: string } {
	const reason = throttled(run) ?? disturbed(run) ?? starved(run, all) ?? clockOff(run, all);
	return reason === null ? { state: "valid" } : { state: "invalid", reason };
}

function throttled({ window }: RunConditions) {
	const reason = window === null ? null : spoilingReason(window.throttleReasons);
	return reason === null ? null : `the GPU's clocks were limited by ${reason}`;
}

function disturbed({ foreignProcesses }: RunConditions) {
	const [first] = foreignProcesses;
	if (first === undefined) return null;
	const others = foreignProcesses.length === 1 ? "" : ` and ${foreignProcesses.length - 1} more`;
	return `another process used the GPU: ${first.name}${first.pid === null ? "" : ` (process ${first.pid})`}${others}`;
}

function starved(run: RunConditions, all: readonly RunConditions[]) {
	const usual = median(
		all.filter((other) => other !== run).flatMap(({ computeShare }) => computeShare ?? []),
	);
	const isLow = ({ computeShare }: RunConditions) =>
		computeShare !== null && usual > 0 && computeShare < usual * (1 - validityLimits.computeFall);
	if (run.computeShare === null || !isLow(run) || !isIncident(isLow, all)) return null;
	return `the GPU computed for ${formatPercent(run.computeShare)} of the time, in other runs for ${formatPercent(usual)}`;
}

function clockOff(run: RunConditions, all: readonly RunConditions[]) {
	const usual = median(all.flatMap(({ window }) => window?.smClockMhz?.mean ?? []));
	const isOff = ({ window }: RunConditions) => {
		if (!window?.smClockMhz || !(usual > 0) || (window.powerCapShare ?? 0) > validityLimits.powerCapShare)
			return false;
		return Math.abs(window.smClockMhz.mean / usual - 1) > validityLimits.clockShare;
	};
	const mean = run.window?.smClockMhz?.mean;
	if (mean === undefined || !isOff(run) || !isIncident(isOff, all)) return null;
	return `the GPU's clock was ${Math.round(mean)} MHz, in all runs ${Math.round(usual)} MHz`;
}

function isIncident(isApart: (run: RunConditions) => boolean, all: readonly RunConditions[]) {
	return all.filter(isApart).length <= all.length * validityLimits.incidentShare;
}

export function foreignProcessesOf(readings: readonly ProcessSample[]): ForeignProcess[] {
	const found = new Map<string, ForeignProcess>();
	for (const { processes } of readings) {
		for (const { pid, name } of untrusted(processes))
			found.set(`${pid} ${name}`, { pid, name: name || "a process" });
	}
	return [...found.values()];
}

/** In a container, our process cannot be identified by number: the newest of the unknown is ours. */
function untrusted(processes: readonly GpuProcess[]) {
	const foreign = processes.filter(({ owner }) => owner === "foreign");
	const unknown = processes.filter(({ owner }) => owner === "unknown");
	const oursIsSeen = processes.some(({ owner }) => owner === "ours");
	return [...foreign, ...(oursIsSeen ? unknown : unknown.slice(0, -1))];
}
