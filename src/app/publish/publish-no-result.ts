// Publishes why a run has no result wherever the result would be, so that no older result is mistaken for this commit's.
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { ErrorRecord, Result } from "../../../generated/result.ts";
import { fileStore, lockFolder } from "../../adapters/files/store.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { log } from "../../adapters/github/log.ts";
import { publishFailure, setOutputs } from "../../adapters/github/publish.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { makeFolders } from "../../adapters/process/write-error.ts";
import { resultWithoutRun } from "../../core/outcome.ts";
import { isCommit } from "../../formats/github/names.ts";
import { reportFiles, reportList, writeReport } from "../../stages/report.ts";
import { reportError, workflowJob } from "../actions/workflow-run.ts";
import { explainError } from "../exit.ts";
import { checkOutFolder, type OutRoots, removeEarlierResult } from "../out-folder.ts";
import { version } from "../version.ts";
import { type PublishContext, publishRun } from "./publish-run.ts";
import { writePublishOutputs, writeResultOutputs } from "./write-outputs.ts";

export interface Unmeasured extends PublishContext {
	configPath: string;
	outFolder: string;
	roots: OutRoots;
}

/** Never throws. @returns false if nothing could be shown. */
export async function publishNoResult(
	records: readonly ErrorRecord[],
	context: Unmeasured,
): Promise<boolean> {
	const { run, inputs, configPath } = context;
	try {
		const result = resultWithoutRun(records, {
			version,
			startedAt: new Date().toISOString(),
			configPath,
			head: { label: "head", commit: isCommit(run.sha) ? run.sha : undefined, ref: run.ref || undefined },
			run: workflowJob(run, inputs.name),
			files: [...reportList],
		});
		const outFolder = await usableFolder(context);
		await writeResult(result, outFolder);
		await publishResult(result, { ...context, outFolder });
		return true;
	} catch (error) {
		log(`The error could not be published: ${String(error)}`);
		return false;
	}
}

export async function publishResult(result: Result, context: Unmeasured): Promise<void> {
	const { outFolder } = context;
	setOutputs(result, join(outFolder, reportFiles.result));
	await writeResultOutputs(result);
	await writePublishOutputs(result, await publishRun(result, context), { outFolder, annotate: false });
}

/** @returns a temporary folder if the output folder is refused. */
async function usableFolder({ outFolder, roots }: Unmeasured): Promise<string> {
	const processes = createProcesses({ env: childEnvironment() });
	try {
		await checkOutFolder(outFolder, { cwd: roots.workspace, roots }, processes);
		return outFolder;
	} catch (error) {
		log(`The reports go to another folder: ${error instanceof Error ? error.message : String(error)}`);
		return mkdtemp(join(roots.temp, "trtgate-out-"));
	}
}

/** Replaces an earlier run's files, but not those of a run in progress. */
async function writeResult(result: Result, outFolder: string): Promise<void> {
	await makeFolders(outFolder);
	const lock = await lockFolder(outFolder);
	try {
		await removeEarlierResult(outFolder, { isOwn: false });
		await writeReport(result, outFolder, fileStore());
	} finally {
		await lock.release();
	}
}

/** As `reportError`, for actions with an outcome among their outputs. */
export function reportNoResult(fault: unknown): number {
	publishFailure(explainError(fault).records[0]?.kind ?? "internal");
	return reportError(fault);
}
