// The comment of a pull request: one per config, even if several jobs write it.
import type { Result } from "../../../../generated/result.ts";
import {
	isNewer,
	type Marker,
	noteOutdated,
	type Outdating,
	renderComment,
} from "../../../core/report/comment.ts";
import type { ApiResult, CommentHost, HostedComment } from "../../../ports/code-host.ts";
import { type CommentPlan, createOnce, markerOf, ownOf, type Published } from "./check-run.ts";

interface CommentContext {
	codeHost: CommentHost;
	issue: number;
	marker: Marker;
	body: string;
}

type Own = HostedComment & { marker: Marker };

const what = "comment";

export async function publishComment(
	result: Result,
	plan: CommentPlan,
	codeHost: CommentHost,
): Promise<Published> {
	const skipped = (why: string): Published => ({ what, state: "skipped", why });
	const { pullRequest: issue, comment: mode, shown } = plan;
	if (issue === null) return skipped("there is no pull request");
	const marker = markerOf(plan);
	const context = { codeHost, issue, marker, body: renderComment(result, marker, shown) };
	const own = await findOwn(context);
	if (own.state === "failed") return { what, ...own };
	if (own.comments.some((comment) => isNewer(comment.marker, marker)))
		return skipped("a newer run has commented already");
	const [oldest, ...younger] = own.comments;
	if (oldest !== undefined) return update(context, oldest, younger);
	if (mode === "changes" && result.outcome === "pass" && !(await isFirst(codeHost)))
		return skipped("all pass, and it is not the first comment in this repository");
	return create(context);
}

/** So that people see that it works. What the host does not tell is no reason to comment. */
async function isFirst(codeHost: CommentHost) {
	const listed = await codeHost.newestComments?.();
	if (listed?.state !== "done") return false;
	return (await ownOf(listed.comments, null, codeHost)).length === 0;
}

async function findOwn({
	codeHost,
	issue,
	marker,
}: Omit<CommentContext, "body">): Promise<ApiResult<{ comments: Own[] }>> {
	const listed = await codeHost.comments(issue);
	if (listed.state === "failed") return listed;
	const comments = await ownOf(listed.comments, marker.id, codeHost);
	return { state: "done", comments: comments.sort((left, right) => left.id - right.id) };
}

/** Races and seemingly lost requests leave younger comments. */
async function update(context: CommentContext, oldest: Own, younger: readonly Own[]): Promise<Published> {
	const updated = await context.codeHost.updateComment(oldest.id, context.body);
	if (updated.state === "done") {
		for (const { id } of younger) await context.codeHost.deleteComment(id);
		return { what, state: "done", url: updated.comment.url };
	}
	return updated.fault.code === "github-not-found" ? create(context) : { what, ...updated };
}

async function create(context: CommentContext): Promise<Published> {
	const { codeHost, issue, body, marker } = context;
	const created = await createOnce(
		codeHost,
		() => codeHost.createComment(issue, body),
		async () => {
			const own = await findOwn(context);
			if (own.state === "failed") return "unknown";
			const comment = own.comments.find(
				(one) => one.marker.runId === marker.runId && one.marker.attempt === marker.attempt,
			);
			return comment === undefined ? null : { state: "done", comment };
		},
	);
	return created.state === "failed" ? { what, ...created } : settleRace(context, created.comment);
}

/** Two jobs may both have found none: the oldest stays. */
async function settleRace(context: CommentContext, created: HostedComment): Promise<Published> {
	const { codeHost, body, marker } = context;
	const done: Published = { what, state: "done", url: created.url };
	const own = await findOwn(context);
	if (own.state === "failed") return done;
	const [oldest, ...younger] = own.comments;
	if (oldest === undefined || oldest.id >= created.id) {
		for (const comment of younger)
			if (!isNewer(comment.marker, marker)) await codeHost.deleteComment(comment.id);
		return done;
	}
	if (!isNewer(oldest.marker, marker)) {
		const updated = await codeHost.updateComment(oldest.id, body);
		if (updated.state === "failed") return done;
	}
	await codeHost.deleteComment(created.id);
	return { what, state: "done", url: oldest.url };
}

export async function markOutdated(
	state: Outdating["state"],
	plan: CommentPlan,
	codeHost: CommentHost,
): Promise<void> {
	const { pullRequest: issue, comment, shown } = plan;
	const url = shown.links?.run;
	if (comment === "never" || issue === null || url === undefined) return;
	const marker = markerOf(plan);
	const listed = await findOwn({ codeHost, issue, marker });
	const newest = listed.state === "failed" ? undefined : listed.comments.at(-1);
	if (newest === undefined) return;
	const body = noteOutdated(newest.body, { own: newest.marker, newcomer: { ...marker, url }, state });
	if (body !== null) await codeHost.updateComment(newest.id, body);
}
