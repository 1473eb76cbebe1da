// Finds the foreign processes on the GPU.
import type { GpuProcess, ProcessSample } from "./sample.ts";
import type { ForeignProcess } from "./validity.ts";

/** Each process once, over all readings. */
export function foreignProcessesOf(readings: readonly ProcessSample[]): ForeignProcess[] {
	const found = new Map<string, ForeignProcess>();
	for (const { processes } of readings) {
		for (const { pid, name, memoryBytes } of untrusted(processes))
			found.set(`${pid} ${name}`, { pid, name: name || "a process", memoryBytes });
	}
	return [...found.values()];
}

/**
 * One run is at work at a time. In a container the driver numbers processes as the host does, and ours cannot be identified by
 * number: then one of the unknown is ours, and all but one are foreign processes. The driver lists the oldest first.
 */
function untrusted(processes: readonly GpuProcess[]): readonly GpuProcess[] {
	const foreign = processes.filter(({ owner }) => owner === "foreign");
	const unknown = processes.filter(({ owner }) => owner === "unknown");
	const oursIsSeen = processes.some(({ owner }) => owner === "ours");
	return [...foreign, ...(oursIsSeen ? unknown : unknown.slice(0, -1))];
}
