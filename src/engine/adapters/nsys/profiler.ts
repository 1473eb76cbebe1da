// Profiles one run with Nsight Systems, separately from timed runs.
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Processes } from "../../../adapters/process/processes.ts";
import { makeFolders } from "../../../adapters/process/write-error.ts";
import type { KernelFact } from "../../core/explain/kernels.ts";
import { helpReportsArgs, kernelReport, profileArgs, statsArgs } from "../../formats/nsys/nsight.ts";
import { parseKernelTable } from "../../formats/nsys/stats-csv.ts";

export interface ProfileJob {
	command: readonly string[];
	/** Working directory; `folder` by default. */
	cwd?: string;
	folder: string;
	name: string;
	timeoutMs: number;
}

/** `sentence` says why there are no kernels. */
export interface Profile {
	files: readonly string[];
	kernels?: readonly KernelFact[];
	sentence?: string;
}

export interface Nsight {
	/** Program, e.g. `nsys`, with arguments of its own if a double needs them. */
	argv: readonly [string, ...string[]];
	processes: Processes;
}

const statsTimeoutMs = 120_000;
const helpTimeoutMs = 30_000;
const maxStatsBytes = 64 * 1024 * 1024;

/** Never throws for a failure of nsys. Its exit code is its child's or meaningless, so files decide. */
export async function profileRun(job: ProfileJob, nsys: Nsight): Promise<Profile> {
	await makeFolders(job.folder);
	const output = join(job.folder, job.name);
	const logPath = `${output}.nsys.log`;
	const record = await nsys.processes.run({
		argv: [...nsys.argv, ...profileArgs(output, job.command)],
		cwd: job.cwd ?? job.folder,
		timeoutMs: job.timeoutMs,
		logPath,
	});
	const files = await existing([`${output}.nsys-rep`, `${output}.qdrep`, `${output}.qdstrm`, logPath]);
	const without = (sentence: string): Profile => ({ sentence, files });
	if (record.state === "not-started")
		return without("Nsight Systems (nsys) is not installed, so there is no profile.");
	if (record.state === "timed-out")
		return without(`nsys did not finish within ${job.timeoutMs} ms and was killed.`);
	const report = files.find((path) => /\.(nsys-rep|qdrep)$/.test(path));
	if (report !== undefined) return readKernels(report, { output, files }, nsys);
	return without(
		files.some((path) => path.endsWith(".qdstrm"))
			? "This nsys installation lacks its importer: it kept the raw trace, which a full Nsight Systems can open."
			: `nsys wrote no report: ${record.tail.at(-1)?.slice(0, 300) ?? "it printed no reason."}`,
	);
}

async function readKernels(
	report: string,
	made: { output: string; files: readonly string[] },
	nsys: Nsight,
): Promise<Profile> {
	const help = await nsys.processes.run({
		argv: [...nsys.argv, ...helpReportsArgs],
		timeoutMs: helpTimeoutMs,
		captureBytes: 256 * 1024,
	});
	const name = kernelReport(help.stdout);
	await nsys.processes.run({
		argv: [...nsys.argv, ...statsArgs(report, { name, output: made.output })],
		timeoutMs: statsTimeoutMs,
	});
	const csv = `${made.output}_${name}.csv`;
	const files = [...made.files, ...(await existing([csv]))];
	const text = await readBounded(csv);
	if (text === null)
		return { files, sentence: `nsys stats wrote no ${basename(csv)}; the report itself is kept.` };
	const table = parseKernelTable(text);
	if (table.state === "ok" && table.kernels.length > 0) return { files, kernels: table.kernels };
	const why =
		table.state === "unknown" ? `its table could not be parsed (${table.why})` : "no kernel was traced";
	return { files, sentence: `The profile has no kernels: ${why}.` };
}

/** null: absent, empty or too large to be a summary. */
async function readBounded(path: string): Promise<string | null> {
	const bytes = await sizeOf(path);
	return bytes === 0 || bytes > maxStatsBytes ? null : readFile(path, "utf8");
}

export async function existing(paths: readonly string[]): Promise<string[]> {
	const found: string[] = [];
	for (const path of paths) if ((await sizeOf(path)) > 0) found.push(path);
	return found;
}

async function sizeOf(path: string): Promise<number> {
	return (await stat(path).catch(() => null))?.size ?? 0;
}
