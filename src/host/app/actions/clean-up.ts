// The post step: cleans up after the main step, however it ended.

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { getState, warning } from "@actions/core";
import { lockFolder } from "../../../adapters/files/store.ts";
import { removeLeftWorktrees } from "../../../adapters/git/worktree.ts";
import { readInputText } from "../../../adapters/process/input-file.ts";
import { messageOf } from "../../../adapters/process/spawn.ts";
import { checkOutFolder, type OutRoots, outRoots } from "../../../app/out-folder.ts";
import { ownProcesses } from "../../../app/own-processes.ts";
import { recordError, ToolError } from "../../../core/errors.ts";
import { inputKinds } from "../../../core/input-kind.ts";
import { parseResult } from "../../../core/report/parse-result.ts";
import { reportFiles } from "../../../stages/report.ts";
import { readEnvironment } from "../../adapters/github/env.ts";
import { readPublishInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { describePublished, publishNoResult, publishResult } from "../publish/publish-result.ts";
import { planPublish, takeBack, uploadFolder } from "../publish/publish-run.ts";
import { readRun } from "./workflow-run.ts";

/** Never fails: the main step has set the outcome. */
export async function cleanUp(): Promise<void> {
	const out = getState("out");
	if (out === "") return;
	const roots = outRoots(readEnvironment(), process.cwd());
	const isPublished = getState("published") === "true";
	// The change may have replaced it meanwhile.
	const isOurs = await attempt("The output folder is left as it is", () => checkOutFolder(out, roots));
	if (isOurs) await attempt("The worktrees could not be removed", () => removeTraces(out));
	const hasFolder = isOurs && existsSync(out);
	// If the owner still runs, it keeps its lock.
	if (hasFolder)
		await attempt("The lock of the output folder could not be removed", async () =>
			(await lockFolder(out)).release(),
		);
	const hasResult = hasFolder && existsSync(join(out, reportFiles.result));
	if (hasResult) log(`trtgate: the result is at ${join(out, reportFiles.result)}`);
	else if (!isPublished)
		warning(
			`trtgate ended before it could write a result. ${hasFolder ? `Its logs are in ${join(out, "logs")}.` : ""}`,
		);
	if (!isPublished)
		await attempt("What the run left could not be published", () => publishWhatIsLeft(out, hasResult, roots));
}

async function attempt(what: string, work: () => Promise<void>) {
	try {
		await work();
		return true;
	} catch (error) {
		log(`${what}: ${messageOf(error)}`);
		return false;
	}
}

async function removeTraces(out: string) {
	const processes = ownProcesses();
	try {
		await removeLeftWorktrees(join(out, "worktrees"), processes);
		await rm(join(out, "scratch"), { recursive: true, force: true });
	} finally {
		await processes.killAll();
	}
}

/** A scheduled run that is stopped every night must raise its alarm. */
async function publishWhatIsLeft(outFolder: string, hasResult: boolean, roots: OutRoots) {
	const inputs = readPublishInputs();
	const known = await readRun(readEnvironment(), inputs);
	if (known === null) return;
	const configPath = getState("config") || "trtgate.yml";
	const context = { ...known, inputs, configPath, outFolder, roots };
	const wasStopped = getState("stopped") === "true";
	const isExplained = wasStopped ? planPublish(configPath, context).plan.alarm === null : hasResult;
	if (!isExplained) {
		const path = join(outFolder, reportFiles.result);
		if (hasResult)
			return publishResult(parseResult(await readInputText(path, inputKinds.result), path), context);
		const message = wasStopped
			? "The run was cancelled or exceeded its time limit."
			: "The run was killed before it could write a result.";
		const fix =
			"Read the end of the job's log; the kernel kills programs if the machine runs out of memory. Run the job again.";
		const record = recordError(new ToolError({ code: "interrupted", message, fix }));
		if (await publishNoResult([record], context)) return;
	}
	const { published } = await uploadFolder(context, known.host.artifacts(inputs.retentionDays));
	for (const one of published)
		log(one.state === "done" ? `What the run left: ${describePublished(one)}` : describePublished(one));
	await takeBack(
		configPath,
		context,
		wasStopped ? "Cancelled, or out of time: not measured" : "Measured, but not published: see the artifact",
	);
}
