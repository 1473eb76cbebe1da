// Spells the command lines of Nsight Systems, and of Nsight Compute for those who ask for it.

export interface ProfileArgs {
	/** Path of the report without its ending. */
	output: string;
	/** The program and its arguments. */
	command: readonly string[];
}

/**
 * Never `osrt`: trtexec reads its libraries so slowly under it that a report grew from 2.4 to 155 MB. Sampling and
 * context switches off, both, as containers forbid them. Graph nodes apart, or a CUDA graph is one block without
 * kernels. `stop`, as nsys would else end trtexec at the end of the range, before its summary.
 */
export function profileArgs({ output, command }: ProfileArgs): string[] {
	return [
		"profile",
		`--output=${output}`,
		"--force-overwrite=true",
		"--trace=cuda,nvtx",
		"--sample=none",
		"--cpuctxsw=none",
		"--capture-range=cudaProfilerApi",
		"--capture-range-end=stop",
		"--cuda-graph-trace=node",
		...command,
	];
}

/** Reports by what they hold, each with its names: since 2023.1, and before. */
export const statsReports = {
	kernels: ["cuda_gpu_kern_sum", "gpukernsum"],
	memory: ["cuda_gpu_mem_size_sum", "gpumemsizesum"],
	ranges: ["nvtx_sum", "nvtxsum"],
} as const;

export type StatsReport = keyof typeof statsReports;

/** Writes `<output>_<name>.csv`. Forced, as nsys refuses a database that is older than its report. */
export function statsArgs(report: string, options: { name: string; output: string }): string[] {
	return ["stats", "-q", "--force-export=true", "--format", "csv", "--output", options.output, "--report", options.name, report];
}

export const helpReportsArgs: readonly string[] = ["stats", "--help-reports"];

/** The name that this version knows a report by, of its `--help-reports`; the newest where that says nothing. */
export function chooseReport(report: StatsReport, help: string): string {
	const names = statsReports[report];
	return names.find((name) => new RegExp(`^\\s*${name}\\b`, "m").test(help)) ?? names[0];
}

export interface NcuArgs {
	output: string;
	/** The one kernel to look at, as nsys names it; absent: whatever runs first. */
	kernel?: string;
	launches: number;
	command: readonly string[];
}

/** Replays kernels and needs the right to read counters: only where somebody asks. Leaves the clocks alone. */
export function ncuArgs({ output, kernel, launches, command }: NcuArgs): string[] {
	return [
		"--set",
		"basic",
		"--clock-control",
		"none",
		...(kernel === undefined ? [] : ["--kernel-name", kernelFilter(kernel)]),
		"--launch-count",
		String(launches),
		"--force-overwrite",
		"--export",
		output,
		...command,
	];
}

/**
 * ncu filters by the function's bare name, nsys tells it with result, namespaces, template arguments and parameters:
 * `void genericReformat::copyPackedKernel<float, …>(unsigned int, …)`.
 */
function kernelFilter(kernel: string): string {
	const start = kernel.replaceAll("(anonymous namespace)::", "").split(/[<(]/, 1)[0] ?? "";
	const name = /[^\s:]*$/.exec(start.trimEnd())?.[0] ?? "";
	return `regex:^${name.replace(/[^\w]/g, "\\$&")}$`;
}
