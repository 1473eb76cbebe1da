// The comment of a pull request: one for each config, kept up to date, whatever other jobs do at the same time.

import type { Result } from "../../../generated/result.ts";
import { findMarker, isNewer, isOwnAuthor, type Marker, renderComment } from "../../core/report/comment.ts";
import type { ApiResult, CodeHost, HostedComment } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

interface CommentContext {
	codeHost: CodeHost;
	issue: number;
	marker: Marker;
	body: string;
}

type Own = HostedComment & { marker: Marker };

const what = "comment";
const newerRun = "a newer run has commented already";
/** Earlier runs have already minimised older ones. */
const maxMinimised = 3;

export async function publishComment(
	result: Result,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<Published> {
	if (plan.pullRequest === null) return { what, state: "skipped", why: "there is no pull request" };
	const { run, sha, id } = plan;
	const marker = { id, runId: run.id, attempt: run.attempt, sha };
	const context = {
		codeHost,
		issue: plan.pullRequest,
		marker,
		body: renderComment(result, marker, plan.shown),
	};
	const own = await findOwnComments(context);
	if (own.state === "failed") return { what, ...own };
	if (own.comments.some((comment) => isNewer(comment.marker, marker)))
		return { what, state: "skipped", why: newerRun };
	if (plan.comment === "fresh") return fresh(context, own.comments);
	if (own.comments.length > 0) return update(context, own.comments);
	if (plan.comment === "changes" && result.outcome === "pass")
		return { what, state: "skipped", why: "all pass, and there is no comment yet" };
	return create(context);
}

/** Our comments of this id, oldest first; similar text of other authors does not count. */
export async function findOwnComments({
	codeHost,
	issue,
	marker,
}: Omit<CommentContext, "body">): Promise<ApiResult<{ comments: Own[] }>> {
	const listed = await codeHost.comments(issue);
	if (listed.state === "failed") return listed;
	const marked = listed.comments.flatMap((comment) => {
		const found = findMarker(comment.body, marker.id);
		return found === null ? [] : [{ ...comment, marker: found }];
	});
	const login = marked.length === 0 ? null : await codeHost.login();
	const comments = marked
		.filter(({ author }) => isOwnAuthor(author, login))
		.sort((left, right) => left.id - right.id);
	return { state: "done", comments };
}

/** Races, and requests that seemed lost but succeeded later, leave newer comments of this run or earlier ones: they are deleted. */
async function update(context: CommentContext, [comment, ...younger]: readonly Own[]): Promise<Published> {
	if (comment === undefined) return create(context);
	const { codeHost, body } = context;
	const updated = await codeHost.updateComment(comment.id, body);
	if (updated.state === "done") {
		for (const duplicate of younger) await remove(codeHost, duplicate);
		return { what, state: "done", url: updated.comment.url };
	}
	// It was deleted since it was listed.
	if (updated.fault.code === "github-not-found") return create(context);
	return { what, ...updated };
}

async function create(context: CommentContext): Promise<Published> {
	const created = await createNew(context);
	if (created.state === "failed") return { what, ...created };
	return settleRace(context, created.thing);
}

async function createNew(context: CommentContext): Promise<ApiResult<{ thing: HostedComment }>> {
	const { codeHost, issue, body, marker } = context;
	return createOnce(
		codeHost,
		async () => {
			const created = await codeHost.createComment(issue, body);
			return created.state === "failed" ? created : { state: "done", thing: created.comment };
		},
		async () => {
			const own = await findOwnComments(context);
			const ofThisRun = (one: Own): boolean =>
				one.marker.runId === marker.runId && one.marker.attempt === marker.attempt;
			return own.state === "failed" ? own : { state: "done", thing: own.comments.find(ofThisRun) ?? null };
		},
	);
}

/** Two jobs may both have found no comment. The oldest stays; each job deletes newer ones of its own run or before. */
async function settleRace(context: CommentContext, created: HostedComment): Promise<Published> {
	const { codeHost, body, marker } = context;
	const done: Published = { what, state: "done", url: created.url };
	const own = await findOwnComments(context);
	if (own.state === "failed") return done;
	const [oldest, ...younger] = own.comments;
	if (oldest === undefined || oldest.id >= created.id) {
		for (const comment of younger) if (!isNewer(comment.marker, marker)) await remove(codeHost, comment);
		return done;
	}
	if (!isNewer(oldest.marker, marker)) {
		const updated = await codeHost.updateComment(oldest.id, body);
		if (updated.state === "failed") return done;
	}
	await remove(codeHost, created);
	return { what, state: "done", url: oldest.url };
}

async function remove(codeHost: CodeHost, comment: HostedComment): Promise<void> {
	const deleted = await codeHost.deleteComment(comment.id);
	if (deleted.state === "failed" && deleted.fault.code !== "github-not-found")
		await codeHost.minimiseComment(comment.nodeId);
}

async function fresh(context: CommentContext, older: readonly Own[]): Promise<Published> {
	const created = await createNew(context);
	if (created.state === "failed") return { what, ...created };
	const faults: string[] = [];
	for (const comment of older.slice(-maxMinimised)) {
		const minimised = await context.codeHost.minimiseComment(comment.nodeId);
		if (minimised.state === "failed") faults.push(minimised.fault.message);
	}
	const [fault] = faults;
	const note = fault === undefined ? {} : { note: `An older comment could not be minimised. ${fault}` };
	return { what, state: "done", url: created.thing.url, ...note };
}
