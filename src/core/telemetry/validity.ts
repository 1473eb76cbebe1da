// Judges whether a run counts: by its conditions, never by its side or result.
import type { GpuWindow } from "../../../generated/result.ts";
import { median } from "../stats/quantile.ts";
import { formatPercent } from "../text/units.ts";
import type { GpuProcess, ProcessSample } from "./sample.ts";
import { spoilingReason } from "./window.ts";

export interface ForeignProcess {
	pid: number | null;
	name: string;
}

export interface RunConditions {
	window: GpuWindow | null;
	/** Iterations × median compute time ÷ wall time; null without a watched GPU. */
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

/** `all` includes `run`. */
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
