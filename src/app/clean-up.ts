// The post step: ends with nothing of ours left running or lying about, whatever became of the main step.
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { getState, info, warning } from "@actions/core";
import { removeLeftWorktrees } from "../adapters/git/worktree.ts";
import { childEnvironment } from "../adapters/github/env.ts";
import { createProcesses } from "../adapters/process/processes.ts";
import { reportFiles } from "../stages/report.ts";

export async function cleanUp(): Promise<void> {
	const out = getState("out");
	if (out === "") return;
	await rm(join(out, "scratch"), { recursive: true, force: true });
	// On a runner that stays, the clone would else remember worktrees that are gone.
	await removeLeftWorktrees(join(out, "worktrees"), createProcesses({ env: childEnvironment() }));
	const hasResult = await access(join(out, reportFiles.result)).then(
		() => true,
		() => false,
	);
	if (hasResult) info(`trtgate: the result is at ${join(out, reportFiles.result)}`);
	else warning(`trtgate ended before it could write a result. Its logs are in ${join(out, "logs")}.`);
}
