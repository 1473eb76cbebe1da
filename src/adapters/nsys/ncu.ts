// Profiles one kernel with Nsight Compute, if the config enables it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { diagnoseNcu, ncuArgs } from "../../formats/nsys/nsight.ts";
import { makeFolders } from "../process/folder.ts";
import { existing, type Nsight, type ProfileJob } from "./profiler.ts";

/** Each launch is replayed some ten times, with the GPU's memory saved and restored. */
const launches = { one: 3, first: 20 } as const;

const maxLogBytes = 1024 * 1024;

/** Never throws for what ncu does. `sentence` explains a missing report. */
export async function lookIntoKernel(
	job: ProfileJob & { kernel?: string },
	ncu: Nsight,
): Promise<{ files: readonly string[]; sentence?: string }> {
	await makeFolders(job.folder);
	const output = join(job.folder, job.name);
	const logPath = `${output}.ncu.log`;
	const of = job.kernel === undefined ? { launches: launches.first } : { kernel: job.kernel, launches: launches.one };
	const record = await ncu.processes.run({
		argv: [...ncu.argv, ...ncuArgs({ output, ...of, command: job.command })],
		...(job.env === undefined ? {} : { env: job.env }),
		cwd: job.cwd ?? job.folder,
		timeoutMs: job.timeoutMs,
		logPath,
		logCapBytes: maxLogBytes,
	});
	const files = await existing([`${output}.ncu-rep`, logPath]);
	if (record.state === "not-started") return { files, sentence: "Nsight Compute (ncu) does not start, so no kernel was profiled." };
	if (record.state === "timed-out") return { files, sentence: `ncu did not finish within ${job.timeoutMs} ms and was killed.` };
	if (files.some((path) => path.endsWith(".ncu-rep"))) return { files };
	const log = await readFile(logPath, "utf8").catch(() => record.tail.join("\n"));
	return { files, sentence: diagnoseNcu(log) };
}
