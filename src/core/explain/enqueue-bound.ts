// Detects workloads that are limited by the CPU, which launches kernels, and not by the GPU.
import type { PerfRun } from "../schema/result.ts";

/** One sentence, where this limits most runs of an arm. */
export function enqueueNotes(runs: readonly PerfRun[], { cudaGraph }: { cudaGraph: boolean }): string[] {
	const bound = (["base", "head"] as const).filter((arm) => isBound(runs.filter((run) => run.arm === arm && run.state === "ok")));
	if (bound.length === 0) return [];
	const whose = bound.length === 2 || runs.every((run) => run.arm === bound[0]) ? "" : ` in the ${bound[0]}`;
	const what = `Launching the kernels takes the CPU about as long as running them takes the GPU${whose}, so that the CPU's speed and noise are measured as well.`;
	const advice = cudaGraph
		? "Check that this engine runs as a CUDA graph, or time a larger batch."
		: "`measure.cuda-graph: true` launches them all at once.";
	return [`${what} ${advice}`];
}

function isBound(runs: readonly PerfRun[]): boolean {
	return runs.filter((run) => run.enqueueBound === true).length * 2 > runs.length;
}
