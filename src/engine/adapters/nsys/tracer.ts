// Finds NVIDIA's profilers and runs a command under one of them, separately from timed runs.

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Processes } from "../../../adapters/process/processes.ts";
import { makeFolders } from "../../../adapters/process/write-error.ts";
import type { Trace, TracedCommand } from "../../../ports/backend.ts";
import {
	diagnoseNcu,
	helpReportsArgs,
	kernelReport,
	ncuArgs,
	parseKernelTable,
	profileArgs,
	statsArgs,
} from "../../formats/nsys/nsight.ts";

interface Nsight {
	/** Program, e.g. `nsys`, with arguments of its own if a double needs them. */
	argv: readonly [string, ...string[]];
	processes: Processes;
}

/** Each version has a folder below these. */
const toolkits = { parent: "usr/local", folders: /^cuda/ };
const tools = {
	nsys: {
		title: "Nsight Systems (nsys)",
		lacks: "there is no profile",
		places: [
			{ parent: "opt/nvidia/nsight-systems", folders: /^\d/, program: "bin/nsys" },
			{ parent: "opt/nvidia/nsight-systems-cli", folders: /^\d/, program: "bin/nsys" },
			{ ...toolkits, program: "bin/nsys" },
		],
		reports: ["nsys-rep", "qdrep", "qdstrm"],
		logCapBytes: undefined,
	},
	ncu: {
		title: "Nsight Compute (ncu)",
		lacks: "no kernel was profiled",
		places: [
			{ parent: "opt/nvidia/nsight-compute", folders: /^\d/, program: "ncu" },
			{ ...toolkits, program: "bin/ncu" },
		],
		reports: ["ncu-rep"],
		logCapBytes: 1024 * 1024,
	},
} as const;

const probeTimeoutMs = 30_000;
const statsTimeoutMs = 120_000;
const maxStatsBytes = 64 * 1024 * 1024;

export async function findNsight(
	tool: TracedCommand["tool"],
	{ processes, root = "/" }: { processes: Processes; root?: string },
): Promise<string | null> {
	const lists = tools[tool].places.map(async ({ parent, folders, program }) => {
		const names = await readdir(join(root, parent)).catch(() => []);
		return names
			.filter((name) => folders.test(name))
			.sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
			.map((name) => join(root, parent, name, program));
	});
	for (const program of [tool, ...(await Promise.all(lists)).flat()]) {
		const { state } = await processes.run({ argv: [program, "--version"], timeoutMs: probeTimeoutMs });
		if (state !== "not-started") return program;
	}
	return null;
}

export function nsightTracer(world: {
	processes: Processes;
	root?: string;
}): (job: TracedCommand) => Promise<Trace> {
	const programs = new Map<TracedCommand["tool"], Promise<string | null>>();
	return async ({ tool, ...job }) => {
		const finding = programs.get(tool) ?? findNsight(tool, world);
		programs.set(tool, finding);
		const program = await finding;
		if (program !== null) return traceRun(tool, job, { argv: [program], processes: world.processes });
		const { title, lacks, places } = tools[tool];
		const sentence = `${title} is not installed, so ${lacks}: it is not on PATH, in /${places[0].parent} or /usr/local/cuda.`;
		return { files: [], sentence };
	};
}

/** Never throws for a failure of the profiler; its exit code is meaningless, so files decide. */
export async function traceRun(
	tool: TracedCommand["tool"],
	job: Omit<TracedCommand, "tool">,
	nsight: Nsight,
): Promise<Trace> {
	const { title, lacks, reports, logCapBytes } = tools[tool];
	const { folder, name, command, kernel, cwd, timeoutMs } = job;
	await makeFolders(folder);
	const output = join(folder, name);
	const logPath = `${output}.${tool}.log`;
	const args = tool === "nsys" ? profileArgs(output, command) : ncuArgs({ output, kernel, command });
	const limits = { timeoutMs, logPath, logCapBytes };
	const record = await nsight.processes.run({ argv: [...nsight.argv, ...args], cwd, ...limits });
	const files = await existing([...reports.map((kind) => `${output}.${kind}`), logPath]);
	const without = (sentence: string) => ({ files, sentence });
	if (record.state === "not-started") return without(`${title} does not start, so ${lacks}.`);
	if (record.state === "timed-out")
		return without(`${tool} did not finish within ${timeoutMs} ms and was killed.`);
	const report = files.find((path) => /\.(nsys-rep|qdrep|ncu-rep)$/.test(path));
	if (report !== undefined)
		return tool === "nsys" ? readKernels(report, { output, files }, nsight) : { files };
	if (tool === "ncu")
		return without(diagnoseNcu(await readFile(logPath, "utf8").catch(() => record.tail.join("\n"))));
	return without(
		files.some((path) => path.endsWith(".qdstrm"))
			? "This nsys installation lacks its importer: it kept the raw trace, which a full Nsight Systems can open."
			: `nsys wrote no report: ${record.tail.at(-1)?.slice(0, 300) ?? "it printed no reason."}`,
	);
}

async function readKernels(
	report: string,
	made: { output: string; files: readonly string[] },
	{ argv, processes }: Nsight,
) {
	const help = await processes.run({
		...{ argv: [...argv, ...helpReportsArgs], timeoutMs: probeTimeoutMs, captureBytes: 256 * 1024 },
	});
	const name = kernelReport(help.stdout);
	const stats = statsArgs(report, { name, output: made.output });
	await processes.run({ argv: [...argv, ...stats], timeoutMs: statsTimeoutMs });
	const csv = `${made.output}_${name}.csv`;
	const bytes = await sizeOf(csv);
	const files = bytes === 0 ? made.files : [...made.files, csv];
	// A summary is never that large.
	if (bytes === 0 || bytes > maxStatsBytes)
		return { files, sentence: `nsys stats wrote no ${basename(csv)}; the report itself is kept.` };
	const table = parseKernelTable(await readFile(csv, "utf8"));
	if (table.state === "ok" && table.kernels.length > 0) return { files, kernels: table.kernels };
	const why =
		table.state === "unknown" ? `its table could not be parsed (${table.why})` : "no kernel was traced";
	return { files, sentence: `The profile has no kernels: ${why}.` };
}

async function existing(paths: readonly string[]) {
	const sizes = await Promise.all(paths.map(sizeOf));
	return paths.filter((_, at) => sizes[at] !== 0);
}

async function sizeOf(path: string) {
	return (await stat(path).catch(() => null))?.size ?? 0;
}
