// Reports to the workflow run what was published: log, job summary, publish.json, outputs.
import { join } from "node:path";
import { notice } from "@actions/core";
import type { Result } from "../../../generated/result.ts";
import { log } from "../../adapters/github/log.ts";
import { setUrls, writeAnnotations, writeSummary } from "../../adapters/github/publish.ts";
import { renderMarkdown, renderUnpublished } from "../../core/report/markdown.ts";
import type { ApiFault } from "../../ports/code-host.ts";
import type { Files } from "../../ports/world.ts";
import type { Published } from "../../stages/publish/plan.ts";
import type { PublishedRun } from "./publish-run.ts";

/** Room for far more rows than a comment has, below the runner's 1 MiB. */
const summaryLimit = 900_000;
export const publishFile = "publish.json";

/** At once after the measurement: whatever happens to publishing, the run's page has the report. */
export async function writeResultOutputs(result: Result): Promise<void> {
	await writeSummary(renderMarkdown(result, { limit: summaryLimit }));
}

export async function writePublishOutputs(
	result: Result,
	{ published, links, ...shown }: PublishedRun,
	{ outFolder, files, annotate = true }: { outFolder: string; files: Files; annotate?: boolean },
): Promise<void> {
	const done = published.filter((one) => one.state === "done");
	setUrls({
		comment: done.find(({ what }) => what === "comment")?.url ?? "",
		artifact: links.artifact ?? "",
		report: links.report ?? "",
	});
	// The check run shows the same on the same lines.
	if (annotate && !done.some(({ what }) => what === "check run")) writeAnnotations(result);
	for (const one of published) if (one.state !== "failed") log(describePublished(one));
	const failed = mergePermissionFaults(
		published.flatMap((one) => (one.state === "failed" ? [{ what: one.what, ...one.fault }] : [])),
	);
	const partly = done.flatMap(({ what, note }) =>
		note === undefined || what !== "artifact"
			? []
			: [{ what, message: note, fix: "The output folder has all of them." }],
	);
	const report = renderMarkdown(result, { limit: summaryLimit, links, ...shown });
	await writeSummary(report + renderUnpublished([...failed, ...partly]));
	for (const { what, message, fix, code } of failed) log(`no ${what}: ${message} ${fix} [${code}]`);
	const [first] = failed;
	if (first !== undefined)
		notice(`${first.message} ${first.fix}`, {
			title: `trtgate: ${first.what} not published (the outcome stands)`,
		});
	await files
		.writeText(join(outFolder, publishFile), `${JSON.stringify({ published }, null, "\t")}\n`)
		.catch((fault: unknown) => log(`${publishFile} could not be written: ${String(fault)}`));
}

interface Unpublished extends ApiFault {
	what: string;
}

/** All permissions that the token lacks in one line, to be added at once. A status only replaces a check run, so its own is never asked for. */
function mergePermissionFaults(faults: readonly Unpublished[]): Unpublished[] {
	const others = faults.filter(({ lacks }) => lacks === undefined);
	const wanted = faults.filter(({ lacks, what }) => lacks !== undefined && what !== "commit status");
	const [first] = wanted;
	if (first === undefined) return others;
	const names = wanted.map(({ what }) => what).join(", ");
	const rights = [...new Set(wanted.map(({ lacks }) => `\`${lacks}\``))].join(", ");
	const fix = `Add under \`permissions:\` of the job: ${rights}.`;
	return [{ ...first, what: names, message: "GitHub denies it to the token of this job.", fix }, ...others];
}

export function describePublished(one: Published): string {
	if (one.state === "skipped") return `no ${one.what}: ${one.why}`;
	if (one.state === "failed")
		return `no ${one.what}: ${one.fault.message} ${one.fault.fix} [${one.fault.code}]`;
	return [`published ${one.what}`, one.url, one.note].filter((part) => part).join(": ");
}
