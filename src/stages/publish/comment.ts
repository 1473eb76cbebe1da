// The comment of a pull request: one for each config, kept up to date, whatever other jobs do at the same time.
import type { Result } from "../../../generated/result.ts";
import {
	isNewer,
	type Marker,
	noteOutdated,
	type Outdating,
	renderComment,
} from "../../core/report/comment.ts";
import type { ApiResult, CodeHost, HostedComment } from "../../ports/code-host.ts";
import { createOnce, markerOf, ownOf, type Published, type PublishPlan } from "./plan.ts";

interface CommentContext {
	codeHost: CodeHost;
	issue: number;
	marker: Marker;
	body: string;
}

type Own = HostedComment & { marker: Marker };

const what = "comment";
/** Earlier runs have already hidden older ones. */
const maxHidden = 3;

export async function publishComment(
	result: Result,
	plan: PublishPlan,
	codeHost: CodeHost,
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
	if (mode === "fresh") return fresh(context, own.comments);
	if (own.comments.length > 0) return update(context, own.comments);
	if (mode === "changes" && result.outcome === "pass")
		return skipped("all pass, and there is no comment yet");
	return create(context);
}

/** Our comments of this id, oldest first. */
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

/** Races, and requests that seemed lost but succeeded later, leave newer comments of this run or earlier ones: they are deleted. */
async function update(context: CommentContext, [comment, ...younger]: readonly Own[]): Promise<Published> {
	if (comment === undefined) return create(context);
	const updated = await context.codeHost.updateComment(comment.id, context.body);
	if (updated.state === "done") {
		for (const duplicate of younger) await remove(context.codeHost, duplicate);
		return { what, state: "done", url: updated.comment.url };
	}
	// It was deleted since it was listed.
	return updated.fault.code === "github-not-found" ? create(context) : { what, ...updated };
}

async function create(context: CommentContext): Promise<Published> {
	const created = await createNew(context);
	return created.state === "failed" ? { what, ...created } : settleRace(context, created.comment);
}

function createNew(context: CommentContext) {
	const { codeHost, issue, body, marker } = context;
	return createOnce(
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
}

/** Two jobs may both have found no comment. The oldest stays; each job deletes newer ones of its own run or before. */
async function settleRace(context: CommentContext, created: HostedComment): Promise<Published> {
	const { codeHost, body, marker } = context;
	const done: Published = { what, state: "done", url: created.url };
	const own = await findOwn(context);
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

async function remove(codeHost: CodeHost, { id }: HostedComment): Promise<void> {
	const deleted = await codeHost.deleteComment(id);
	if (deleted.state === "failed" && deleted.fault.code !== "github-not-found") await codeHost.hideComment(id);
}

async function fresh(context: CommentContext, older: readonly Own[]): Promise<Published> {
	const created = await createNew(context);
	if (created.state === "failed") return { what, ...created };
	let note: string | undefined;
	for (const comment of older.slice(-maxHidden)) {
		const hidden = await context.codeHost.hideComment(comment.id);
		if (hidden.state === "failed")
			note ??= `An older comment could not be minimised. ${hidden.fault.message}`;
	}
	return { what, state: "done", url: created.comment.url, note };
}

/** Marks the newest comment where it is about an earlier commit. */
export async function markOutdated(
	state: Outdating["state"],
	plan: PublishPlan,
	codeHost: CodeHost,
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
