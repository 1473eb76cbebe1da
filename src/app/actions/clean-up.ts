// The post step: removes what the main step left, however it ended.

import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { getState, warning } from "@actions/core";
import { lockFolder } from "../../adapters/files/lock.ts";
import { removeLeftWorktrees } from "../../adapters/git/worktree.ts";
import { childEnvironment, readEnvironment, readWorkflowRun } from "../../adapters/github/env.ts";
import { readPublishInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { reportFiles } from "../../stages/report.ts";
import { githubPublisher } from "../publish/publish-run.ts";
import { uploadFolder } from "../publish/upload.ts";

/** Never fails: the main step has set the outcome. */
export async function cleanUp(): Promise<void> {
	const out = getState("out");
	if (out === "") return;
	const isPublished = getState("published") === "true";
	await attempt("The worktrees could not be removed", () => removeTraces(out));
	if (await exists(out)) {
		await attempt("The lock of the output folder could not be removed", () => removeLock(out));
		const hasResult = await exists(join(out, reportFiles.result));
		if (hasResult) log(`trtgate: the result is at ${join(out, reportFiles.result)}`);
		else if (!isPublished) warning(`trtgate ended before it could write a result. Its logs are in ${join(out, "logs")}.`);
		if (!isPublished) await attempt("What the run left could not be uploaded", () => uploadWhatIsLeft(out));
	} else warning("trtgate ended before it could write anything.");
}

async function attempt(what: string, work: () => Promise<void>): Promise<void> {
	try {
		await work();
	} catch (error) {
		log(`${what}: ${error instanceof Error ? error.message : String(error)}`);
	}
}

async function removeTraces(out: string): Promise<void> {
	const processes = createProcesses({ env: childEnvironment() });
	try {
		await removeLeftWorktrees(join(out, "worktrees"), processes);
		await rm(join(out, "scratch"), { recursive: true, force: true });
	} finally {
		await processes.killAll();
	}
}

/** Removes the lock of a main step that was killed; a running owner keeps its lock. */
async function removeLock(out: string): Promise<void> {
	await (await lockFolder(out)).release();
}

/** The main step was cancelled, or ended before it published: what it measured until then is kept with the run. */
async function uploadWhatIsLeft(outFolder: string): Promise<void> {
	const run = readWorkflowRun();
	if (run === null) return;
	const inputs = readPublishInputs();
	const { artifacts } = githubPublisher(run, inputs, readEnvironment().temp);
	const { published } = await uploadFolder({ outFolder, configPath: getState("config") || "trtgate.yml", inputs, run }, artifacts);
	for (const one of published) {
		if (one.state === "done")
			log(`uploaded what the run left: ${[one.what, one.url, one.note].filter((part) => part !== undefined).join(", ")}`);
		else if (one.state === "failed") log(`no ${one.what}: ${one.fault.message} ${one.fault.fix} [${one.fault.code}]`);
	}
}

function exists(path: string): Promise<boolean> {
	return access(path).then(
		() => true,
		() => false,
	);
}
