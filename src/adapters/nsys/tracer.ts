// Runs a command under the profiler that is asked for, once it is known where that is installed.
import type { KernelRow } from "../../formats/nsys/stats-csv.ts";
import type { Processes } from "../process/processes.ts";
import { findNsight, type NsightTool } from "./find.ts";
import { lookIntoKernel } from "./ncu.ts";
import { type ProfileJob, profileRun } from "./profiler.ts";

export interface Traced {
	files: readonly string[];
	kernels?: readonly KernelRow[];
	/** What is not there, and why. */
	sentence?: string;
}

const absent: Readonly<Record<NsightTool, string>> = {
	nsys: "Nsight Systems (nsys) is not installed, so there is no profile: it is not on PATH, in /opt/nvidia/nsight-systems or /usr/local/cuda.",
	ncu: "Nsight Compute (ncu) is not installed, so no kernel was looked into: it is not on PATH, in /opt/nvidia/nsight-compute or /usr/local/cuda.",
};

/** `root` stands in for `/` where the installers' folders are looked for. */
export function nsightTracer(world: {
	processes: Processes;
	root?: string;
}): (job: ProfileJob & { tool: NsightTool; kernel?: string }) => Promise<Traced> {
	const programs = new Map<NsightTool, Promise<string | null>>();
	const programOf = (tool: NsightTool): Promise<string | null> => {
		const program = programs.get(tool) ?? findNsight(tool, world);
		programs.set(tool, program);
		return program;
	};
	return async (job) => {
		const program = await programOf(job.tool);
		if (program === null) return { files: [], sentence: absent[job.tool] };
		const nsight = { argv: [program] as const, processes: world.processes };
		return job.tool === "nsys" ? profileRun(job, nsight) : lookIntoKernel(job, nsight);
	};
}
