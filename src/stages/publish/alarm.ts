// The issue of a nightly run: opened and kept up to date while a gate fails or cannot decide, closed when all is well again.
import { alarmBody, alarmLabel, alarmOf, alarmTitle, isRecovered } from "../../core/report/alarm-issue.ts";
import { findMarker, isNewer, isOwnAuthor, type Marker } from "../../core/report/comment.ts";
import type { Result } from "../../core/schema/result.ts";
import type { ApiResult, CodeHost, HostedIssue } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

const what = "alarm issue";

interface Alarming {
	result: Result;
	plan: PublishPlan;
	codeHost: CodeHost;
	marker: Marker;
}

type Own = HostedIssue & { marker: Marker };

export async function publishAlarm(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published> {
	const alarm = alarmOf(result.outcome);
	if (alarm === "keep") return { what, state: "skipped", why: `the run was ${result.outcome}, which says nothing of the engines` };
	const marker = { id: plan.id, runId: plan.run.id, attempt: plan.run.attempt, sha: plan.sha };
	const alarming = { result, plan, codeHost, marker };
	const own = await findOwn(alarming);
	if (own.state === "failed") return { what, ...own };
	if (own.issues.some((issue) => isNewer(issue.marker, marker))) return { what, state: "skipped", why: "a newer run has spoken already" };
	if (alarm === "close") return close(alarming, own.issues);
	const [oldest] = own.issues;
	return oldest === undefined ? open(alarming) : update(alarming, oldest);
}

async function findOwn({ codeHost, marker }: Alarming): Promise<ApiResult<{ issues: Own[] }>> {
	const listed = await codeHost.openIssues(alarmLabel);
	if (listed.state === "failed") return listed;
	const marked = listed.issues.flatMap((issue) => {
		const found = findMarker(issue.body, marker.id);
		return found === null ? [] : [{ ...issue, marker: found }];
	});
	const login = marked.length === 0 ? null : await codeHost.login();
	const issues = marked.filter(({ author }) => isOwnAuthor(author, login)).sort((left, right) => left.number - right.number);
	return { state: "done", issues };
}

function words({ result, plan, marker }: Alarming): { title: string; body: string } {
	return { title: alarmTitle(result, plan.id), body: alarmBody(result, marker, plan.shown) };
}

async function update(alarming: Alarming, issue: HostedIssue): Promise<Published> {
	const updated = await alarming.codeHost.updateIssue(issue.number, words(alarming));
	return updated.state === "failed" ? { what, ...updated } : { what, state: "done", url: updated.issue.url };
}

async function open(alarming: Alarming): Promise<Published> {
	const { codeHost, marker } = alarming;
	const opened = await createOnce(
		async () => {
			const created = await codeHost.createIssue({ ...words(alarming), labels: [alarmLabel] });
			return created.state === "failed" ? created : { state: "done", thing: created.issue };
		},
		async () => {
			const own = await findOwn(alarming);
			return own.state === "failed" ? null : (own.issues.find((issue) => issue.marker.runId === marker.runId) ?? null);
		},
	);
	if (opened.state === "failed") return { what, ...opened };
	return settleRace(alarming, opened.thing);
}

/** Two runs may both have seen no issue: the oldest stays. */
async function settleRace(alarming: Alarming, opened: HostedIssue): Promise<Published> {
	const own = await findOwn(alarming);
	const oldest = own.state === "failed" ? undefined : own.issues[0];
	if (oldest === undefined || oldest.number >= opened.number) return { what, state: "done", url: opened.url };
	await alarming.codeHost.updateIssue(opened.number, { state: "closed" });
	return isNewer(oldest.marker, alarming.marker) ? { what, state: "done", url: oldest.url } : update(alarming, oldest);
}

async function close({ result, plan, codeHost }: Alarming, issues: readonly Own[]): Promise<Published> {
	const [first] = issues;
	if (first === undefined) return { what, state: "skipped", why: "all is well, and no alarm is open" };
	for (const issue of issues) {
		const closed = await codeHost.updateIssue(issue.number, { state: "closed" });
		if (closed.state === "failed") return { what, ...closed };
		// Said after the deed: a word that is lost matters less than an alarm that stays.
		await codeHost.createComment(issue.number, isRecovered(result, plan.shown), "issue");
	}
	return { what, state: "done", url: first.url };
}
