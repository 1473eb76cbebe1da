// Says why Nsight Compute left no report, of what it printed.

const forbidden = /ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters/i;
const fault = /^==(?:ERROR|WARNING)==\s*(.+)$/gm;
const mostChars = 300;

/** One sentence or two, the second with what to do. */
export function diagnoseNcu(log: string): string {
	if (forbidden.test(log)) {
		return "ncu may not read the GPU's performance counters here (ERR_NVGPUCTRPERM). Load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run the runner's container with --cap-add=SYS_ADMIN.";
	}
	if (/No kernels were profiled/i.test(log)) return "ncu saw no launch of the kernel that it was to look into, and wrote no report.";
	if (/another (?:tool|process|instance).*(?:profil|counter)|ERR_NVCMPT_BUSY|driver resource .*unavailable/i.test(log)) {
		return "ncu could not take the GPU's counters: another tool has them. Stop DCGM's profiling (dcgmi profile --pause) or the other profiler.";
	}
	const said = [...log.matchAll(fault)].at(-1)?.[1] ?? lastLine(log);
	return `ncu wrote no report: ${said === undefined ? "it said nothing." : said.slice(0, mostChars)}`;
}

function lastLine(log: string): string | undefined {
	return log
		.split(/\r?\n/)
		.filter((line) => line.trim() !== "")
		.at(-1)
		?.trim();
}
