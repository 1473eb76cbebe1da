// The issue of a nightly run: opened and kept up to date while a gate fails or cannot decide, closed once all gates pass again.

import type { Result } from "../../../generated/result.ts";
import {
	type AlarmHistory,
	type AlarmSource,
	alarmBody,
	alarmId,
	alarmLabel,
	alarmOf,
	alarmTitle,
	findHistory,
	isRecovered,
} from "../../core/report/alarm-issue.ts";
import { findMarker, isNewer, isOwnAuthor, type Marker } from "../../core/report/comment.ts";
import type { ApiResult, CodeHost, HostedIssue } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

const what = "alarm issue";

interface AlarmContext {
	result: Result;
	plan: AlarmPlan;
	codeHost: CodeHost;
	marker: Marker;
}

type AlarmPlan = PublishPlan & { alarm: AlarmSource };

type Own = HostedIssue & { marker: Marker };

export async function publishAlarm(result: Result, plan: AlarmPlan, codeHost: CodeHost): Promise<Published> {
	const alarm = alarmOf(result.outcome);
	if (alarm === "keep")
		return {
			what,
			state: "skipped",
			why: `the run was ${result.outcome}, which says nothing about the engines`,
		};
	const marker = {
		id: alarmId(plan.id, plan.alarm),
		runId: plan.run.id,
		attempt: plan.run.attempt,
		sha: plan.sha,
	};
	const context = { result, plan, codeHost, marker };
	const own = await findOwn(context);
	if (own.state === "failed") return { what, ...own };
	if (own.issues.some((issue) => isNewer(issue.marker, marker)))
		return { what, state: "skipped", why: "a newer run has already reported" };
	if (alarm === "close") return close(context, own.issues);
	const [oldest] = own.issues;
	return oldest === undefined ? open(context) : update(context, oldest);
}

async function findOwn({ codeHost, marker }: AlarmContext): Promise<ApiResult<{ issues: Own[] }>> {
	const listed = await codeHost.openIssues(alarmLabel);
	if (listed.state === "failed") return listed;
	const marked = listed.issues.flatMap((issue) => {
		const found = findMarker(issue.body, marker.id);
		return found === null ? [] : [{ ...issue, marker: found }];
	});
	const login = marked.length === 0 ? null : await codeHost.login();
	const issues = marked
		.filter(({ author }) => isOwnAuthor(author, login))
		.sort((left, right) => left.number - right.number);
	return { state: "done", issues };
}

function draftOf(
	{ result, plan, marker }: AlarmContext,
	history: AlarmHistory,
): { title: string; body: string } {
	const source = plan.alarm;
	return {
		title: alarmTitle(result, plan.id),
		body: alarmBody(result, { marker, source, history }, plan.shown),
	};
}

/** The right to read workflow runs may be missing. */
async function newHistory({ result, plan, marker, codeHost }: AlarmContext): Promise<AlarmHistory> {
	const good = await codeHost.lastGoodCommit(plan.alarm);
	return {
		since: result.startedAt,
		runs: 1,
		firstRun: marker.runId,
		goodCommit: good.state === "done" ? good.sha : null,
	};
}

/** A second attempt of a run counts once. */
async function update(context: AlarmContext, issue: Own): Promise<Published> {
	const before = findHistory(issue.body) ?? (await newHistory(context));
	const history = { ...before, runs: before.runs + (issue.marker.runId === context.marker.runId ? 0 : 1) };
	const updated = await context.codeHost.updateIssue(issue.number, draftOf(context, history));
	return updated.state === "failed" ? { what, ...updated } : { what, state: "done", url: updated.issue.url };
}

async function open(context: AlarmContext): Promise<Published> {
	const { codeHost, marker } = context;
	const draft = draftOf(context, await newHistory(context));
	const opened = await createOnce(
		codeHost,
		async () => {
			const created = await codeHost.createIssue({ ...draft, labels: [alarmLabel] });
			return created.state === "failed" ? created : { state: "done", thing: created.issue };
		},
		async () => {
			const own = await findOwn(context);
			if (own.state === "failed") return own;
			return {
				state: "done",
				thing: own.issues.find((issue) => issue.marker.runId === marker.runId) ?? null,
			};
		},
	);
	if (opened.state === "failed") return { what, ...opened };
	return settleRace(context, opened.thing);
}

/** Two runs may both have seen no issue: the oldest stays. */
async function settleRace(context: AlarmContext, opened: HostedIssue): Promise<Published> {
	const own = await findOwn(context);
	const oldest = own.state === "failed" ? undefined : own.issues[0];
	if (oldest === undefined || oldest.number >= opened.number) return { what, state: "done", url: opened.url };
	await context.codeHost.updateIssue(opened.number, { state: "closed" });
	return isNewer(oldest.marker, context.marker)
		? { what, state: "done", url: oldest.url }
		: update(context, oldest);
}

async function close({ result, plan, codeHost }: AlarmContext, issues: readonly Own[]): Promise<Published> {
	const [first] = issues;
	if (first === undefined) return { what, state: "skipped", why: "all gates pass, and no alarm is open" };
	for (const issue of issues) {
		const closed = await codeHost.updateIssue(issue.number, { state: "closed" });
		if (closed.state === "failed") return { what, ...closed };
		// Comments after closing: a lost comment matters less than an alarm that stays open.
		await codeHost.createComment(issue.number, isRecovered(result, plan.shown), "issue");
	}
	return { what, state: "done", url: first.url };
}
