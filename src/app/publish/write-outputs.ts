// Reports to the workflow run what was published: log, job summary, publish.json, outputs.
import { join } from "node:path";
import { notice } from "@actions/core";
import type { Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { log } from "../../adapters/github/log.ts";
import { setUrls, writeAnnotations, writeSummary } from "../../adapters/github/publish.ts";
import { renderMarkdown, renderUnpublished } from "../../core/report/markdown.ts";
import type { Published } from "../../stages/publish/plan.ts";
import type { PublishedRun } from "./publish-run.ts";

const summaryLimit = 900_000;
const publishFile = "publish.json";

/** Written right after the measurement, so that the run's page has the report even if publishing fails. */
export async function writeResultOutputs(result: Result): Promise<void> {
	await writeSummary(renderMarkdown(result, { limit: summaryLimit }));
}

export async function writePublishOutputs(
	result: Result,
	{ published, links, ...shown }: PublishedRun,
	{ outFolder, annotate = true }: { outFolder: string; annotate?: boolean },
): Promise<void> {
	const done = published.filter((one) => one.state === "done");
	setUrls({
		comment: done.find(({ what }) => what === "comment")?.url ?? "",
		artifact: links.artifact ?? "",
		report: links.report ?? "",
	});
	// The check run shows the same on the same lines.
	if (annotate && !done.some(({ what }) => what === "check run")) writeAnnotations(result);
	const failed = mergePermissionFaults(published.filter((one) => one.state === "failed"));
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
	const [first] = unpublished;
	if (first !== undefined)
		notice(`${first.message} ${first.fix}`, {
			title: `trtgate: ${first.what} not published (the outcome stands)`,
		});
	await fileStore()
		.writeText(join(outFolder, publishFile), `${JSON.stringify({ published }, null, "\t")}\n`)
		.catch((fault: unknown) => log(`${publishFile} could not be written: ${String(fault)}`));
}

type Failed = Pick<Extract<Published, { state: "failed" }>, "state" | "fault"> & { what: string };

/** Names all missing permissions in one line, to be added at once. */
function mergePermissionFaults(faults: readonly Failed[]): Failed[] {
	const lacking = faults.filter(({ fault }) => fault.lacks !== undefined);
	const [first] = lacking;
	if (first === undefined) return [...faults];
	const rights = [...new Set(lacking.map(({ fault }) => `\`${fault.lacks}\``))].join(", ");
	const fix = `Add under \`permissions:\` of the job: ${rights}.`;
	const fault = { ...first.fault, message: "GitHub denies it to the token of this job.", fix };
	const what = lacking.map((one) => one.what).join(", ");
	return [{ ...first, what, fault }, ...faults.filter((one) => !lacking.includes(one))];
}

export function describePublished(one: Exclude<Published, { state: "failed" }> | Failed): string {
	if (one.state === "skipped") return `no ${one.what}: ${one.why}`;
	if (one.state === "failed")
		return `no ${one.what}: ${one.fault.message} ${one.fault.fix} [${one.fault.code}]`;
	return [`published ${one.what}`, one.url, one.note].filter((part) => part).join(": ");
}
