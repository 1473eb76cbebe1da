// Who decides, as git knows them.
import { gitIn, succeeded } from "../adapters/git/run-git.ts";
import { ownProcesses } from "./own-processes.ts";

export async function gitName(cwd: string): Promise<string | null> {
	const read = await gitIn(cwd, ownProcesses())(["config", "user.name"]).catch(() => null);
	return read !== null && succeeded(read) ? read.stdout.trim() || null : null;
}
