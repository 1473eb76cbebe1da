import {
	type Call,
	type Need,
	notFound,
	ok,
	paginate,
	type Reply,
	type Route,
	route,
	textOf,
	unprocessable,
} from "./http.ts";
import { type Json, pageUrl, renderUser } from "./render.ts";
import type { Comment } from "./state.ts";
import type { World } from "./world.ts";

export const maxCharacters = 65_536;

export function bodyTooLong(resource: string, body: string | null | undefined): Reply | undefined {
	if ((body?.length ?? 0) <= maxCharacters) return undefined;
	return unprocessable(resource, resource === "IssueComment" ? "data" : "body", {
		code: resource === "IssueComment" ? "unprocessable" : "custom",
		message: `Body is too long (maximum is ${maxCharacters} characters)`,
	});
}

const hasNumber = (world: World, number: number): boolean =>
	world.state.issues.some((issue) => issue.number === number) ||
	world.state.pulls.some((pull) => pull.number === number);

/** A pull request may be reached by the scope of issues too; an issue by its own alone. */
export function issueNeeds(world: World, number: number, access: "read" | "write"): readonly Need[] {
	const isPull = world.state.pulls.some((pull) => pull.number === number);
	return isPull ? [{ issues: access }, { pull_requests: access }] : [{ issues: access }];
}

function findComment(call: Call): Comment | undefined {
	return call.world.state.comments.find((comment) => comment.id === Number(call.params["comment_id"]));
}

function needsOf(access: "read" | "write"): (call: Call) => readonly Need[] {
	return (call) =>
		issueNeeds(call.world, findComment(call)?.issue ?? Number(call.params["issue_number"]), access);
}

function renderComment(world: World, comment: Comment): Json {
	const isPull = world.state.pulls.some((pull) => pull.number === comment.issue);
	const page = `/${isPull ? "pull" : "issues"}/${comment.issue}#issuecomment-${comment.id}`;
	const { id, body, author } = comment;
	return { id, body, user: renderUser(author), html_url: pageUrl(world, page) };
}

export function addComment(world: World, comment: { issue: number; body: string; author: string }): Comment {
	const added = { id: world.nextId(), ...comment };
	world.state.comments.push(added);
	return added;
}

export const commentRoutes: readonly Route[] = [
	route("GET /issues/{issue_number}/comments", needsOf("read"), (call) => {
		const number = Number(call.params["issue_number"]);
		if (!hasNumber(call.world, number)) return notFound();
		const found = call.world.state.comments.filter(({ issue }) => issue === number);
		return paginate(
			call,
			found.map((comment) => renderComment(call.world, comment)),
		);
	}),
	route("GET /issues/comments", [{ issues: "read" }, { pull_requests: "read" }], (call) => {
		const { comments } = call.world.state;
		// `direction` counts only beside `sort`.
		const isDescending = call.query.has("sort") && call.query.get("direction") === "desc";
		const sorted = isDescending ? comments.toReversed() : comments;
		return paginate(
			call,
			sorted.map((comment) => renderComment(call.world, comment)),
		);
	}),
	route("POST /issues/{issue_number}/comments", needsOf("write"), (call) => {
		const issue = Number(call.params["issue_number"]);
		if (!hasNumber(call.world, issue)) return notFound();
		const body = textOf(call, "body") ?? "";
		if (body.trim() === "")
			return unprocessable("IssueComment", "body", {
				code: "missing_field",
				message: "Body can't be blank",
			});
		return (
			bodyTooLong("IssueComment", body) ??
			ok(renderComment(call.world, addComment(call.world, { issue, body, author: call.login })), 201)
		);
	}),
	route("PATCH /issues/comments/{comment_id}", needsOf("write"), (call) => {
		const comment = findComment(call);
		if (!comment) return notFound();
		const body = textOf(call, "body") ?? "";
		const tooLong = bodyTooLong("IssueComment", body);
		if (tooLong) return tooLong;
		comment.body = body;
		return ok(renderComment(call.world, comment));
	}),
	route("DELETE /issues/comments/{comment_id}", needsOf("write"), (call) => {
		const comment = findComment(call);
		if (!comment) return notFound();
		call.world.state.comments.splice(call.world.state.comments.indexOf(comment), 1);
		return { status: 204 };
	}),
];
