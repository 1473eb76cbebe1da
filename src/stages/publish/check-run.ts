// The check run of a commit; where the token may not make one, its commit status; otherwise a note that there is neither.

import type { Result } from "../../../generated/result.ts";
import { describeCheckRun, describeStatus } from "../../core/report/check-run.ts";
import { noteOutdated, type Outdating } from "../../core/report/comment.ts";
import type { ApiResult, CheckRunDraft, CodeHost, HostedCheckRun } from "../../ports/code-host.ts";
import { findOwnComments } from "./comment.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

export async function publishCheckRun(
	result: Result,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<Published[]> {
	const run = await showCheckRun({ ...subjectOf(plan), ...describeCheckRun(result, plan.shown) }, codeHost);
	if (run.state === "done") return [{ what: "check run", state: "done", url: run.thing.url }];
	const failed: Published = { what: "check run", ...run };
	// A status has no neutral state, and a green one would vouch for what nobody verified.
	if (run.fault.code === "github-timeout" || result.unverified === true) return [failed];
	return [failed, await publishStatus(result, plan, codeHost)];
}

/** Which check run is ours, and where it leads. */
function subjectOf({ checkName, sha, id, run, shown }: PublishPlan) {
	const { links } = shown;
	const externalId = `${id}/${run.id}/${run.attempt}`;
	return { name: checkName, sha, externalId, detailsUrl: links?.run === undefined ? undefined : links.run };
}

/** Publishing twice in one attempt updates the text and duplicates no annotation. */
async function showCheckRun(
	draft: CheckRunDraft,
	codeHost: CodeHost,
): Promise<ApiResult<{ thing: HostedCheckRun }>> {
	const find = async () => asThing(await codeHost.findCheckRun(draft));
	const before = await find();
	if (before.state === "failed") return before;
	const { thing } = before;
	if (thing !== null)
		return asThing(
			await codeHost.updateCheckRun(thing.id, thing.isOpen ? draft : { ...draft, annotations: [] }),
		);
	return createOnce(codeHost, async () => asThing(await codeHost.createCheckRun(draft)), find);
}

function asThing<Found>(answer: ApiResult<{ found: Found }>): ApiResult<{ thing: Found }> {
	return answer.state === "failed" ? answer : { state: "done", thing: answer.found };
}

async function publishStatus(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published> {
	const url = plan.shown.links?.run;
	const draft = { sha: plan.sha, context: plan.checkName, ...describeStatus(result), url };
	const set = await codeHost.setStatus(draft);
	return set.state === "failed"
		? { what: "commit status", ...set }
		: { what: "commit status", state: "done" };
}

/** @returns null where it is not shown. */
export async function openCheckRun(
	title: string,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<HostedCheckRun | null> {
	if (!plan.checkRun) return null;
	const shown = await showCheckRun({ ...subjectOf(plan), ...underWay(title) }, codeHost);
	return shown.state === "done" ? shown.thing : null;
}

/** @returns whether it is shown. */
export async function retitleCheckRun(
	title: string,
	{ id }: HostedCheckRun,
	{ plan, codeHost }: Shown,
): Promise<boolean> {
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
	await codeHost.updateCheckRun(open.found.id, {
		...subject,
		conclusion: "cancelled",
		title: why,
		summary: why,
		annotations: [],
	});
}

/** Marks the newest comment where it is about an earlier commit. */
export async function markOutdated(state: Outdating["state"], { plan, codeHost }: Shown): Promise<void> {
	const { pullRequest: issue, id, run, sha, shown, comment } = plan;
	if (comment === "never" || issue === null || shown.links?.run === undefined) return;
	const marker = { id, runId: run.id, attempt: run.attempt, sha };
	const listed = await findOwnComments({ codeHost, issue, marker });
	const newest = listed.state === "failed" ? undefined : listed.comments.at(-1);
	if (newest === undefined) return;
	const body = noteOutdated(newest.body, {
		own: newest.marker,
		newcomer: { ...marker, url: shown.links.run },
		state,
	});
	if (body !== null) await codeHost.updateComment(newest.id, body);
}
