// Publishes a result, or why there is none.

import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { notice, setOutput } from "@actions/core";
import type { ErrorRecord, Result } from "../../../../generated/result.ts";
import { fileStore, lockFolder } from "../../../adapters/files/store.ts";
import { messageOf } from "../../../adapters/process/spawn.ts";
import { makeFolders } from "../../../adapters/process/write-error.ts";
import { explainError } from "../../../app/exit.ts";
import { checkOutFolder, type OutRoots, removeEarlierResult } from "../../../app/out-folder.ts";
import { version } from "../../../app/version.ts";
import { resultWithoutRun } from "../../../core/outcome.ts";
import { renderMarkdown, renderUnpublished } from "../../../core/report/markdown.ts";
import { reportFiles, reportList, writeReport } from "../../../stages/report.ts";
import { log, writeSummary } from "../../adapters/github/log.ts";
import { setOutputs, writeAnnotations } from "../../adapters/github/publish.ts";
import { isCommit } from "../../formats/github/names.ts";
import type { Published } from "../../stages/publish/check-run.ts";
import { reportError, workflowJob } from "../actions/workflow-run.ts";
import { type PublishContext, type PublishedRun, publishRun } from "./publish-run.ts";

export interface Unmeasured extends PublishContext {
	configPath: string;
	outFolder: string;
	roots: OutRoots;
}

/**
 * No older result may be mistaken for this commit's. Never throws.
 * @returns false if nothing could be shown.
 */
export async function publishNoResult(
	records: readonly ErrorRecord[],
	context: Unmeasured,
): Promise<boolean> {
	const { run, event, inputs, configPath } = context;
	const sha = event.kind === "pull-request" && event.newestSha !== undefined ? event.headSha : run.sha;
	try {
		const result = resultWithoutRun(records, {
			version,
			startedAt: new Date().toISOString(),
			configPath,
			head: { label: "head", commit: isCommit(sha) ? sha : undefined, ref: run.ref || undefined },
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

/** A temporary one if the output folder is refused. */
async function usableFolder({ outFolder, roots }: Unmeasured) {
	try {
		await checkOutFolder(outFolder, roots);
		return outFolder;
	} catch (error) {
		log(`The reports go to another folder: ${messageOf(error)}`);
		return mkdtemp(join(roots.temp, "trtgate-out-"));
	}
}

/** Leaves the files of a run in progress. */
async function writeResult(result: Result, outFolder: string) {
	await makeFolders(outFolder);
	const lock = await lockFolder(outFolder);
	try {
		await removeEarlierResult(outFolder, { isOwn: false });
		await writeReport(result, outFolder, fileStore());
	} finally {
		await lock.release();
	}
}

export function reportNoResult(fault: unknown): number {
	setOutput("outcome", "error");
	setOutput("failure-kind", explainError(fault).records[0]?.kind ?? "internal");
	return reportError(fault);
}

const summaryLimit = 900_000;
const publishFile = "publish.json";

/** Written before publishing, which may fail. */
export async function writeResultOutputs(result: Result): Promise<void> {
	await writeSummary(renderMarkdown(result, { limit: summaryLimit }));
}

export async function writePublishOutputs(
	result: Result,
	{ published, links, ...shown }: PublishedRun,
	{ outFolder, annotate = true }: { outFolder: string; annotate?: boolean },
): Promise<void> {
	const done = published.filter((one) => one.state === "done");
	setOutput("comment-url", done.find(({ what }) => what === "comment")?.url ?? "");
	setOutput("artifact-url", links.artifact ?? "");
	setOutput("report-url", links.report ?? "");
	if (annotate && !done.some(({ what }) => what === "check run")) writeAnnotations(result);
	// A lost alarm is all that a scheduled run would have shown.
	const lost = published.filter((one) => one.state === "failed");
	const failed = mergePermissionFaults(
		lost.toSorted((a, b) => Number(b.what === "alarm issue") - Number(a.what === "alarm issue")),
	);
	for (const one of published) if (one.state !== "failed") log(describePublished(one));
	for (const one of failed) log(describePublished(one));
	const partly = done.flatMap(({ what, note }) =>
		note === undefined || what !== "artifact"
			? []
			: [{ what, message: note, fix: "The output folder has all of them." }],
	);
	const unpublished = failed.map(({ what, fault }) => ({ what, ...fault }));
	const report = renderMarkdown(result, { limit: summaryLimit, links, ...shown });
	await writeSummary(report + renderUnpublished([...unpublished, ...partly]));
	if (unpublished.length > 0)
		notice(unpublished.map(({ message, fix }) => `${message} ${fix}`).join("\n"), {
			title: `trtgate: ${unpublished.map(({ what }) => what).join(", ")} not published (the outcome stands)`,
		});
	await fileStore()
		.writeText(join(outFolder, publishFile), `${JSON.stringify({ published }, null, "\t")}\n`)
		.catch((fault: unknown) => log(`${publishFile} could not be written: ${String(fault)}`));
}

type Failed = Pick<Extract<Published, { state: "failed" }>, "state" | "fault"> & { what: string };

/** One line, so that all missing permissions can be added at once. */
function mergePermissionFaults(faults: readonly Failed[]) {
	const lacking = faults.filter(({ fault }) => fault.lacks !== undefined);
	const [first] = lacking;
	if (first === undefined) return [...faults];
	const rights = [...new Set(lacking.map(({ fault }) => `\`${fault.lacks}\``))].join(", ");
	const fix = `Add under \`permissions:\` of the job: ${rights}.`;
	const fault = { ...first.fault, message: "The token of this job may not.", fix };
	const what = lacking.map((one) => one.what).join(", ");
	return [{ ...first, what, fault }, ...faults.filter((one) => !lacking.includes(one))];
}

export function describePublished(one: Exclude<Published, { state: "failed" }> | Failed): string {
	if (one.state === "skipped") return `no ${one.what}: ${one.why}`;
	if (one.state === "failed")
		return `no ${one.what}: ${one.fault.message} ${one.fault.fix} [${one.fault.code}]`;
	return [`published ${one.what}`, one.url, one.note].filter((part) => part).join(": ");
}
