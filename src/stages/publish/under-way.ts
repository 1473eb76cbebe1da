// Shows that a commit is being measured, and takes it back where its run ends without a result. Best effort, as all publishing.
import { noteOutdated, type Outdating } from "../../core/report/comment.ts";
import type { CodeHost, HostedCheckRun } from "../../ports/code-host.ts";
import { showCheckRun, subjectOf } from "./check-run.ts";
import { findOwnComments } from "./comment.ts";
import type { PublishPlan } from "./plan.ts";

/** @returns null where it is not shown. */
export async function openCheckRun(title: string, plan: PublishPlan, codeHost: CodeHost): Promise<HostedCheckRun | null> {
	if (!plan.checkRun) return null;
	const shown = await showCheckRun({ ...subjectOf(plan), ...underWay(title) }, codeHost);
	return shown.state === "done" ? shown.thing : null;
}

/** @returns whether it is shown. */
export async function retitleCheckRun(title: string, { id }: HostedCheckRun, { plan, codeHost }: Shown): Promise<boolean> {
	return (await codeHost.updateCheckRun(id, { ...subjectOf(plan), ...underWay(title) })).state === "done";
}

interface Shown {
	plan: PublishPlan;
	codeHost: CodeHost;
}

function underWay(title: string) {
	return { conclusion: null, title, summary: "The result follows.", annotations: [] };
}

/** Concludes a check run in progress; one with a verdict stays as it is. */
export async function concludeUnmeasured(why: string, { plan, codeHost }: Shown): Promise<void> {
	if (!plan.checkRun) return;
	const subject = subjectOf(plan);
	const open = await codeHost.findCheckRun(subject);
	if (open.state === "failed" || open.found?.isOpen !== true) return;
	await codeHost.updateCheckRun(open.found.id, { ...subject, conclusion: "cancelled", title: why, summary: why, annotations: [] });
}

/** Marks the newest comment where it is about an earlier commit. */
export async function markOutdated(state: Outdating["state"], { plan, codeHost }: Shown): Promise<void> {
	const { pullRequest: issue, id, run, sha, shown, comment } = plan;
	if (comment === "never" || issue === null || shown.links?.run === undefined) return;
	const marker = { id, runId: run.id, attempt: run.attempt, sha };
	const listed = await findOwnComments({ codeHost, issue, marker });
	const newest = listed.state === "failed" ? undefined : listed.comments.at(-1);
	if (newest === undefined) return;
	const body = noteOutdated(newest.body, { own: newest.marker, newcomer: { ...marker, url: shown.links.run }, state });
	if (body !== null) await codeHost.updateComment(newest.id, body);
}
