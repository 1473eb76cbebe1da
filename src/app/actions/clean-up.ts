// The post step: removes what the main step left, however it ended, and publishes what it did not.

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { getState, warning } from "@actions/core";
import { lockFolder } from "../../adapters/files/store.ts";
import { removeLeftWorktrees } from "../../adapters/git/worktree.ts";
import { childEnvironment, readEnvironment } from "../../adapters/github/env.ts";
import { readPublishInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { recordError, ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import type { Published } from "../../stages/publish/plan.ts";
import { reportFiles } from "../../stages/report.ts";
import { checkOutFolder, type OutRoots, outRoots } from "../out-folder.ts";
import { publishNoResult, publishResult } from "../publish/publish-no-result.ts";
import { planPublish } from "../publish/publish-run.ts";
import { takeBack } from "../publish/under-way.ts";
import { uploadFolder } from "../publish/upload.ts";
import { describePublished } from "../publish/write-outputs.ts";
import { readRun } from "./workflow-run.ts";

/** Never fails: the main step has set the outcome. */
export async function cleanUp(): Promise<void> {
	const out = getState("out");
	if (out === "") return;
	const isPublished = getState("published") === "true";
	const isOurs = await attempt("The output folder is left as it is", () => checkFolder(out));
	if (isOurs) await attempt("The worktrees could not be removed", () => removeTraces(out));
	const hasFolder = isOurs && existsSync(out);
	if (hasFolder) await attempt("The lock of the output folder could not be removed", () => releaseLock(out));
	const hasResult = hasFolder && existsSync(join(out, reportFiles.result));
	if (hasResult) log(`trtgate: the result is at ${join(out, reportFiles.result)}`);
	else if (!isPublished)
		warning(
			`trtgate ended before it could write a result. ${hasFolder ? `Its logs are in ${join(out, "logs")}.` : ""}`,
		);
	if (!isPublished)
		await attempt("What the run left could not be published", () => publishWhatIsLeft(out, hasResult));
}

/** @returns whether it was done. */
async function attempt(what: string, work: () => Promise<void>): Promise<boolean> {
	try {
		await work();
		return true;
	} catch (error) {
		log(`${what}: ${error instanceof Error ? error.message : String(error)}`);
		return false;
	}
}

function rootsOf(): OutRoots {
	return outRoots(readEnvironment(), process.cwd());
}

/** What the change put there since the main step looked, or while it ran. @throws ConfigError output-refused, git-ref. */
async function checkFolder(out: string): Promise<void> {
	const roots = rootsOf();
	await checkOutFolder(out, { cwd: roots.workspace, roots }, createProcesses({ env: childEnvironment() }));
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

/** That of a main step that was killed; a running owner keeps its lock. */
async function releaseLock(out: string): Promise<void> {
	await (await lockFolder(out)).release();
}

/** A stopped run has no verdict, but a scheduled one that is stopped every night must raise its alarm. */
async function publishWhatIsLeft(outFolder: string, hasResult: boolean): Promise<void> {
	const environment = readEnvironment();
	const inputs = readPublishInputs();
	const known = await readRun(environment, inputs.token);
	if (known === null) return;
	const configPath = getState("config") || "trtgate.yml";
	const context = { ...known, inputs, configPath, outFolder, roots: rootsOf() };
	const wasStopped = getState("stopped") === "true";
	const isExplained = wasStopped ? planPublish(configPath, context).plan.alarm === null : hasResult;
	if (!isExplained) {
		const message = wasStopped
			? "The run was cancelled or exceeded its time limit."
			: "The run was killed before it could write a result.";
		const fix =
			"Read the end of the job's log; the kernel kills programs if the machine runs out of memory. Run the job again.";
		const record = recordError(new ToolError({ code: "interrupted", message, fix }));
		const path = join(outFolder, reportFiles.result);
		if (hasResult)
			return publishResult(parseResult(await readInputText(path, inputKinds.result), path), context);
		if (await publishNoResult([record], context)) return;
	}
	// What was measured until then is kept with the run.
	const { published } = await uploadFolder(context, known.host.artifacts(inputs.retentionDays));
	for (const one of published) if (one.state !== "skipped") log(describeLeft(one));
	await takeBack(
		configPath,
		context,
		wasStopped ? "Cancelled, or out of time: not measured" : "Measured, but not published: see the artifact",
	);
}

function describeLeft(one: Published): string {
	if (one.state !== "done") return describePublished(one);
	return `uploaded what the run left: ${[one.what, one.url, one.note].filter((part) => part).join(", ")}`;
}
