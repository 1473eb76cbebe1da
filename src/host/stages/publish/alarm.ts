// The issue of nightly runs: open while a gate fails or cannot decide.
import type { Result } from "../../../../generated/result.ts";
import {
	type AlarmHistory,
	type AlarmSource,
	alarmBody,
	alarmId,
	alarmLabel,
	alarmOf,
	alarmTitle,
	findHistory,
	isNewer,
	isRecovered,
	type Marker,
} from "../../../core/report/comment.ts";
import type { ApiResult, CodeHost, HostedIssue } from "../../../ports/code-host.ts";
import { createOnce, markerOf, ownOf, type Published, type PublishPlan } from "./check-run.ts";

const what = "alarm issue";

interface AlarmContext {
	result: Result;
	plan: PublishPlan & { alarm: AlarmSource };
	codeHost: CodeHost;
	marker: Marker;
}

type Own = HostedIssue & { marker: Marker };

export async function publishAlarm(
	result: Result,
	plan: AlarmContext["plan"],
	codeHost: CodeHost,
): Promise<Published> {
	const skipped = (why: string): Published => ({ what, state: "skipped", why });
	const alarm = alarmOf(result.outcome);
	if (alarm === "keep") return skipped(`the run was ${result.outcome}, which says nothing about the engines`);
	const marker = { ...markerOf(plan), id: alarmId(plan.id, plan.alarm) };
	const context = { result, plan, codeHost, marker };
	const own = await findOwn(context);
	if (own.state === "failed") return { what, ...own };
	if (own.issues.some((issue) => isNewer(issue.marker, marker)))
		return skipped("a newer run has already reported");
	const [oldest] = own.issues;
	if (alarm !== "close") return oldest === undefined ? open(context) : update(context, oldest);
	return oldest === undefined
		? skipped("all gates pass, and no alarm is open")
		: close(context, oldest, own.issues);
}

async function findOwn({ codeHost, marker }: AlarmContext): Promise<ApiResult<{ issues: Own[] }>> {
	const listed = await codeHost.openIssues(alarmLabel);
	if (listed.state === "failed") return listed;
	const issues = await ownOf(listed.issues, marker.id, codeHost);
	return { state: "done", issues: issues.sort((left, right) => left.number - right.number) };
}

function draftOf({ result, plan, marker }: AlarmContext, history: AlarmHistory) {
	const source = plan.alarm;
	return {
		title: alarmTitle(result, plan.id),
		body: alarmBody(result, { marker, source, history }, plan.shown),
	};
}

function newHistory({ result, marker }: AlarmContext) {
	return { since: result.startedAt, runs: 1, firstRun: marker.runId };
}

/** A second attempt of a run counts once. */
async function update(context: AlarmContext, issue: Own): Promise<Published> {
	const before = findHistory(issue.body) ?? newHistory(context);
	const history = { ...before, runs: before.runs + (issue.marker.runId === context.marker.runId ? 0 : 1) };
	const updated = await context.codeHost.updateIssue(issue.number, draftOf(context, history));
	return updated.state === "failed" ? { what, ...updated } : { what, state: "done", url: updated.issue.url };
}

async function open(context: AlarmContext): Promise<Published> {
	const { codeHost, marker } = context;
	const draft = draftOf(context, newHistory(context));
	const opened = await createOnce(
		codeHost,
		() => codeHost.createIssue({ ...draft, labels: [alarmLabel] }),
		async () => {
			const own = await findOwn(context);
			if (own.state === "failed") return "unknown";
			const issue = own.issues.find((one) => one.marker.runId === marker.runId);
			return issue === undefined ? null : { state: "done", issue };
		},
	);
	if (opened.state === "failed") return { what, ...opened };
	// Two runs may both have found none.
	const { number, url } = opened.issue;
	const own = await findOwn(context);
	const oldest = own.state === "failed" ? undefined : own.issues[0];
	if (oldest === undefined || oldest.number >= number) return { what, state: "done", url };
	await codeHost.updateIssue(number, { state: "closed" });
	return isNewer(oldest.marker, marker) ? { what, state: "done", url: oldest.url } : update(context, oldest);
}

async function close(
	{ result, plan, codeHost }: AlarmContext,
	first: Own,
	issues: readonly Own[],
): Promise<Published> {
	for (const issue of issues) {
		const closed = await codeHost.updateIssue(issue.number, { state: "closed" });
		if (closed.state === "failed") return { what, ...closed };
		// A lost comment matters less than an alarm that stays open.
		await codeHost.createComment(issue.number, isRecovered(result, plan.shown), "issue");
	}
	return { what, state: "done", url: first.url };
}
