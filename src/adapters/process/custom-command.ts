// Runs a command of the user's own on one output: tensors as .npy files, the case as JSON on stdin.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodeNpy } from "../../formats/tensor/npy.ts";
import { type CommandAnswer, parseCommandAnswer } from "../../golden/core/compare/check-output.ts";
import type { CommandJob, CustomCommands, Shell } from "../../ports/world.ts";
import { isProgram } from "./exec.ts";
import { describeFailure } from "./failure.ts";
import type { Processes } from "./processes.ts";
import { messageOf } from "./spawn.ts";
import { makeFolders } from "./write-error.ts";

const captureBytes = 1024 * 1024;
const shownLines = 3;

export function customCommands(processes: Processes): CustomCommands {
	return {
		async run(job) {
			let folder: string | null = null;
			try {
				await makeFolders(job.scratchFolder);
				folder = await mkdtemp(join(job.scratchFolder, "custom-"));
				return await runIn(folder, job, processes);
			} catch (error) {
				return { state: "failed", message: messageOf(error) };
			} finally {
				if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => {});
			}
		},
	};
}

async function runIn(
	folder: string,
	{ command, cwd, about, expected, got }: CommandJob,
	processes: Processes,
): Promise<CommandAnswer> {
	const paths = [join(folder, "expected.npy"), join(folder, "got.npy")] as const;
	await writeFile(paths[0], encodeNpy(expected));
	await writeFile(paths[1], encodeNpy(got));
	const [program, ...args] = command.command;
	const record = await processes.run({
		argv: [program, ...args, ...paths],
		cwd,
		stdin: `${JSON.stringify({ ...about, expected: paths[0], got: paths[1] })}\n`,
		timeoutMs: command.timeoutMs,
		captureBytes,
		tailLines: shownLines,
	});
	const { state, exitCode, signal, problem, tail } = record;
	const output = tail.length === 0 ? "" : `; its output: ${tail.join(" / ")}`;
	const failed = (message: string): CommandAnswer => ({ state: "failed", message });
	if (state === "exited" && exitCode !== null) {
		const answer = parseCommandAnswer(record.stdout, exitCode);
		return answer.state === "answered" ? answer : failed(answer.message + output);
	}
	if (state === "not-started") return failed(`it did not start: ${problem}`);
	if (state === "aborted") return failed("it was stopped with the run");
	if (state === "timed-out")
		return failed(`it took longer than ${command.timeoutMs / 1000} s and was killed${output}`);
	return failed(`it was ended by ${signal ?? "a signal"}${output}`);
}

/** Ends at the first command that fails, as a workflow's `run` step does. */
export function userShell(
	processes: Processes,
	lend: (names: readonly string[]) => Record<string, string> = () => ({}),
): Shell {
	return {
		async run({ command, env }, { cwd, logPath, timeoutMs, what = "The prepare command", variables }) {
			const record = await processes.run({
				argv: shellArgv(command),
				cwd,
				logPath,
				timeoutMs,
				env: { ...lend(env), ...variables },
			});
			if (record.state === "exited" && record.exitCode === 0) return { state: "done" };
			return {
				state: "failed",
				failure: describeFailure(record, { what, timeoutMs }),
			};
		},
	};
}

function shellArgv(command: string): [string, ...string[]] {
	const bash = ["/bin/bash", "/usr/bin/bash"].find(isProgram);
	return bash === undefined
		? ["sh", "-e", "-c", command]
		: [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", command];
}
