// The post step: ends with nothing of ours left running or lying about, whatever became of the main step.
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { getState, info, warning } from "@actions/core";
import { reportFiles } from "../stages/report.ts";

export async function cleanUp(): Promise<void> {
	const out = getState("out");
	if (out === "") return;
	for (const name of ["scratch", "worktrees"]) await rm(join(out, name), { recursive: true, force: true });
	const hasResult = await access(join(out, reportFiles.result)).then(
		() => true,
		() => false,
	);
	if (hasResult) info(`trtgate: the result is at ${join(out, reportFiles.result)}`);
	else warning(`trtgate ended before it could write a result. Its logs are in ${join(out, "logs")}.`);
}
