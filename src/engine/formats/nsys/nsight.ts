// Command lines of Nsight Systems and Nsight Compute, and reasons why Nsight Compute left no report.

/**
 * Never `osrt`: tracing how trtexec reads its libraries grew a report from 2.4 to 155 MB. Sampling and context switches
 * are off because containers forbid them. Without node tracing a CUDA graph is one block without kernels. `stop`
 * keeps nsys from ending trtexec at the end of the range, before its summary.
 */
export function profileArgs(output: string, command: readonly string[]): string[] {
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

/** Writes `<output>_<name>.csv`. Forced, because nsys rejects a database that is older than its report. */
export function statsArgs(report: string, { name, output }: { name: string; output: string }): string[] {
	const format = ["--force-export=true", "--format", "csv"];
	return ["stats", "-q", ...format, "--output", output, "--report", name, report];
}

export const helpReportsArgs: readonly string[] = ["stats", "--help-reports"];

/** The name of the kernel report in this version: the first since 2023.1, the second before. */
export function kernelReport(help: string): string {
	return /^\s*gpukernsum\b/m.test(help) && !/^\s*cuda_gpu_kern_sum\b/m.test(help)
		? "gpukernsum"
		: "cuda_gpu_kern_sum";
}

export interface NcuArgs {
	output: string;
	/** The one kernel to profile, as nsys names it; absent: the first that runs. */
	kernel?: string;
	launches: number;
	command: readonly string[];
}

/** Replays kernels and needs permission to read counters, so it is optional. Leaves the clocks alone. */
export function ncuArgs({ output, kernel, launches, command }: NcuArgs): string[] {
	return [
		...["--set", "basic", "--clock-control", "none"],
		...(kernel === undefined ? [] : ["--kernel-name", kernelFilter(kernel)]),
		...["--launch-count", String(launches), "--force-overwrite", "--export", output],
		...command,
	];
}

/**
 * ncu filters by the bare function name; nsys prints it with result type, namespaces, template arguments and parameters:
 * `void genericReformat::copyPackedKernel<float, …>(unsigned int, …)`.
 */
function kernelFilter(kernel: string): string {
	const start = kernel.replaceAll("(anonymous namespace)::", "").split(/[<(]/, 1)[0] ?? "";
	const name = /[^\s:]*$/.exec(start.trimEnd())?.[0] ?? "";
	return `regex:^${name.replace(/[^\w]/g, "\\$&")}$`;
}

const forbidden = /ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters/i;
const busy =
	/another (?:tool|process|instance).*(?:profil|counter)|ERR_NVCMPT_BUSY|driver resource .*unavailable/i;
const fault = /^==(?:ERROR|WARNING)==\s*(.+)$/gm;
const maxChars = 300;

/** Returns one or two sentences; the second is the fix. */
export function diagnoseNcu(log: string): string {
	if (forbidden.test(log)) {
		return "ncu has no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM). Load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run the runner's container with --cap-add=SYS_ADMIN.";
	}
	if (/No kernels were profiled/i.test(log))
		return "ncu saw no launch of the selected kernel and wrote no report.";
	if (busy.test(log)) {
		return "ncu could not access the GPU's counters because another tool uses them. Stop DCGM's profiling (dcgmi profile --pause) or the other profiler.";
	}
	const lastLine = log.trim().split(/\r?\n/).at(-1)?.trim();
	const reason = [...log.matchAll(fault)].at(-1)?.[1] ?? lastLine;
	return `ncu wrote no report: ${reason ? reason.slice(0, maxChars) : "it printed no reason."}`;
}
