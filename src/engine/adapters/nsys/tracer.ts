// Finds NVIDIA's profilers and runs a command under the requested one.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Processes } from "../../../adapters/process/processes.ts";
import { makeFolders } from "../../../adapters/process/write-error.ts";
import { diagnoseNcu, ncuArgs } from "../../formats/nsys/nsight.ts";
import { existing, type Nsight, type Profile, type ProfileJob, profileRun } from "./profiler.ts";

type NsightTool = "nsys" | "ncu";

/** A folder with one subfolder per version, and the path of the program in each of them. */
interface InstallPlace {
	parent: string;
	folders: RegExp;
	program: string;
}

/** The installers' own folders, then the CUDA toolkits, whose `bin` has a script that starts the newest. */
const usualPlaces: Readonly<Record<NsightTool, readonly InstallPlace[]>> = {
	nsys: [
		{ parent: "opt/nvidia/nsight-systems", folders: /^\d/, program: "bin/nsys" },
		{ parent: "opt/nvidia/nsight-systems-cli", folders: /^\d/, program: "bin/nsys" },
		{ parent: "usr/local", folders: /^cuda/, program: "bin/nsys" },
	],
	ncu: [
		{ parent: "opt/nvidia/nsight-compute", folders: /^\d/, program: "ncu" },
		{ parent: "usr/local", folders: /^cuda/, program: "bin/ncu" },
	],
};

const probeTimeoutMs = 30_000;

/** The program to start; null if none starts. `root` replaces `/`. */
export async function findNsight(
	tool: NsightTool,
	{ processes, root = "/" }: { processes: Processes; root?: string },
) {
	const lists = await Promise.all(usualPlaces[tool].map((place) => installed(place, root)));
	for (const program of [tool, ...lists.flat()]) {
		const { state } = await processes.run({ argv: [program, "--version"], timeoutMs: probeTimeoutMs });
		if (state !== "not-started") return program;
	}
	return null;
}

async function installed({ parent, folders, program }: InstallPlace, root: string): Promise<string[]> {
	const names = await readdir(join(root, parent)).catch(() => []);
	return names
		.filter((name) => folders.test(name))
		.sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
		.map((name) => join(root, parent, name, program));
}

const absent: Readonly<Record<NsightTool, string>> = {
	nsys: "Nsight Systems (nsys) is not installed, so there is no profile: it is not on PATH, in /opt/nvidia/nsight-systems or /usr/local/cuda.",
	ncu: "Nsight Compute (ncu) is not installed, so no kernel was profiled: it is not on PATH, in /opt/nvidia/nsight-compute or /usr/local/cuda.",
};

export function nsightTracer(world: {
	processes: Processes;
	root?: string;
}): (job: ProfileJob & { tool: NsightTool; kernel?: string }) => Promise<Profile> {
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

const launches = { one: 3, first: 20 } as const;

const maxLogBytes = 1024 * 1024;

export async function lookIntoKernel(job: ProfileJob & { kernel?: string }, ncu: Nsight): Promise<Profile> {
	await makeFolders(job.folder);
	const output = join(job.folder, job.name);
	const logPath = `${output}.ncu.log`;
	const of =
		job.kernel === undefined ? { launches: launches.first } : { kernel: job.kernel, launches: launches.one };
	const record = await ncu.processes.run({
		argv: [...ncu.argv, ...ncuArgs({ output, ...of, command: job.command })],
		cwd: job.cwd ?? job.folder,
		timeoutMs: job.timeoutMs,
		logPath,
		logCapBytes: maxLogBytes,
	});
	const files = await existing([`${output}.ncu-rep`, logPath]);
	if (record.state === "not-started")
		return { files, sentence: "Nsight Compute (ncu) does not start, so no kernel was profiled." };
	if (record.state === "timed-out")
		return { files, sentence: `ncu did not finish within ${job.timeoutMs} ms and was killed.` };
	if (files.some((path) => path.endsWith(".ncu-rep"))) return { files };
	const log = await readFile(logPath, "utf8").catch(() => record.tail.join("\n"));
	return { files, sentence: diagnoseNcu(log) };
}
