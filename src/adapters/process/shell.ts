// Runs the user's own prepare command by the shell, the only place where a shell is used.
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { Shell } from "../../ports/world.ts";
import { describeFailure } from "./failure.ts";
import type { Processes } from "./processes.ts";

/** The shell ends at the first command that fails, as it does in a workflow's `run` step. */
export function userShell(processes: Processes, lend: (names: readonly string[]) => Record<string, string> = () => ({})): Shell {
	return {
		async run({ command, env }, { cwd, logPath, timeoutMs }) {
			const argv = await shellArgv(command);
			const record = await processes.run({ argv, cwd, logPath, timeoutMs, env: lend(env) });
			if (record.state === "exited" && record.exitCode === 0) return { state: "done" };
			return { state: "failed", failure: describeFailure(record, { what: "The prepare command", timeoutMs }) };
		},
	};
}

async function shellArgv(command: string): Promise<[string, ...string[]]> {
	for (const bash of ["/bin/bash", "/usr/bin/bash"]) {
		if (await isProgram(bash)) return [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", command];
	}
	return ["sh", "-e", "-c", command];
}

async function isProgram(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
