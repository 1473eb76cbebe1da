// Child processes and git of a command that opens no run. Apart from the environment, because help and preflight start none.

import { gitIn, succeeded } from "../adapters/git/run-git.ts";
import { createProcesses, type Processes } from "../adapters/process/processes.ts";
import { childEnvironment } from "../host/adapters/github/env.ts";

export function ownProcesses(): Processes {
	return createProcesses({ env: childEnvironment() });
}

export async function gitName(cwd: string): Promise<string | null> {
	const read = await gitIn(cwd, ownProcesses())(["config", "user.name"]).catch(() => null);
	return read !== null && succeeded(read) ? read.stdout.trim() || null : null;
}
