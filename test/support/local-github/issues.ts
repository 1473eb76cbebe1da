// Issues of the repository; a pull request has one beneath it.
import { bodyTooLong, issueNeeds } from "./comments.ts";
import { type Call, type Need, notFound, ok, paginate, type Route, textOf, unprocessable } from "./http.ts";
import { labelOf, namesOf, renderLabel } from "./labels.ts";
import { type Json, pageUrl, renderUser, repositoryUrl } from "./render.ts";
import type { Issue } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

function isPull(world: World, number: number): boolean {
	return world.state.pulls.some((pull) => pull.number === number);
}

function pullLinks(world: World, issue: Issue): Json {
	if (!isPull(world, issue.number)) return {};
	const page = pageUrl(world, `/pull/${issue.number}`);
	const url = `${repositoryUrl(world)}/pulls/${issue.number}`;
	return {
		pull_request: {
			url,
			html_url: page,
			diff_url: `${page}.diff`,
			patch_url: `${page}.patch`,
			merged_at: null,
		},
	};
}

function renderIssue(world: World, issue: Issue): Json {
	const url = `${repositoryUrl(world)}/issues/${issue.number}`;
	const assignees = issue.assignees.map((login) => renderUser(world, login));
	return {
		id: issue.id,
		node_id: issue.nodeId,
		number: issue.number,
		url,
		repository_url: repositoryUrl(world),
		labels_url: `${url}/labels{/name}`,
		comments_url: `${url}/comments`,
		events_url: `${url}/events`,
		html_url: pageUrl(world, `/${isPull(world, issue.number) ? "pull" : "issues"}/${issue.number}`),
		title: issue.title,
		body: issue.body,
		user: renderUser(world, issue.author),
		state: issue.state,
		state_reason: issue.stateReason,
		labels: issue.labels.map((name) => renderLabel(world, name)),
		assignee: assignees[0] ?? null,
		assignees,
		milestone: null,
		locked: false,
		active_lock_reason: null,
		comments: world.state.comments.filter((comment) => comment.issue === issue.number).length,
		created_at: issue.createdAt,
		updated_at: issue.updatedAt,
		closed_at: issue.closedAt,
		author_association: "NONE",
		...pullLinks(world, issue),
	};
}

function findIssue(call: Call): Issue | undefined {
	return call.world.state.issues.find((issue) => issue.number === Number(call.params["issue_number"]));
}

export function nextNumber(world: World): number {
	return (
		1 + [...world.state.issues, ...world.state.pulls].reduce((most, { number }) => Math.max(most, number), 0)
	);
}

function applyToIssue(call: Call, issue: Issue): void {
	const { title, body } = call.body;
	if (typeof title === "string" || typeof title === "number") issue.title = String(title);
	if (body === null || typeof body === "string") issue.body = body;
	issue.labels = namesOf(call.body["labels"]) ?? issue.labels;
	issue.assignees = namesOf(call.body["assignees"]) ?? issue.assignees;
	for (const name of issue.labels) labelOf(call.world, name);
	const state = textOf(call, "state") ?? issue.state;
	if (state !== issue.state) {
		issue.closedAt = state === "closed" ? call.world.now() : null;
		issue.stateReason = textOf(call, "state_reason") ?? (state === "closed" ? "completed" : "reopened");
	}
	issue.state = state;
	issue.updatedAt = call.world.now();
}

export type NewIssue = Partial<Issue> & Pick<Issue, "title">;

export function addIssue(world: World, issue: NewIssue): Issue {
	const id = world.nextId();
	const time = world.now();
	const added: Issue = {
		...{ id, nodeId: nodeIdOf("I", id), number: nextNumber(world), body: null, author: "octocat" },
		...{
			state: "open",
			stateReason: null,
			labels: [],
			assignees: [],
			createdAt: time,
			updatedAt: time,
			closedAt: null,
		},
		...issue,
	};
	world.state.issues.push(added);
	return added;
}

function listed(call: Call): Issue[] {
	const asked = (name: string): string | null => call.query.get(name);
	const state = asked("state") ?? "open";
	const labels = (asked("labels") ?? "").split(",").filter((name) => name !== "");
	const since = Date.parse(asked("since") ?? "") || 0;
	const found = call.world.state.issues.filter(
		(issue) =>
			(state === "all" || issue.state === state) &&
			labels.every((name) => issue.labels.some((own) => own.toLowerCase() === name.toLowerCase())) &&
			[null, issue.author].includes(asked("creator")) &&
			Date.parse(issue.updatedAt) >= since,
	);
	const by =
		asked("sort") === "updated"
			? (issue: Issue) => Date.parse(issue.updatedAt)
			: (issue: Issue) => issue.number;
	return found.sort((a, b) => (asked("direction") === "asc" ? 1 : -1) * (by(a) - by(b)));
}

function needsOf(access: "read" | "write"): (call: Call) => readonly Need[] {
	return (call) => issueNeeds(call.world, Number(call.params["issue_number"]), access);
}

export const issueRoutes: readonly Route[] = [
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/issues",
		needs: [{ issues: "read" }, { pull_requests: "read" }],
		handle: (call) =>
			paginate(
				call,
				listed(call).map((issue) => renderIssue(call.world, issue)),
			),
	},
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/issues",
		needs: [{ issues: "write" }],
		handle(call) {
			const tooLong = bodyTooLong("Issue", textOf(call, "body"));
			if (tooLong) return tooLong;
			if (String(call.body["title"]).trim() === "")
				return unprocessable("Issue", "title", { code: "missing_field" });
			const issue = addIssue(call.world, { title: "", author: call.login });
			applyToIssue(call, issue);
			return ok(renderIssue(call.world, issue), 201);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/issues/{issue_number}",
		needs: needsOf("read"),
		handle(call) {
			const issue = findIssue(call);
			return issue ? ok(renderIssue(call.world, issue)) : notFound();
		},
	},
	{
		method: "PATCH",
		template: "/repos/{owner}/{repo}/issues/{issue_number}",
		needs: needsOf("write"),
		handle(call) {
			const issue = findIssue(call);
			if (!issue) return notFound();
			const tooLong = bodyTooLong("Issue", textOf(call, "body"));
			if (tooLong) return tooLong;
			applyToIssue(call, issue);
			return ok(renderIssue(call.world, issue));
		},
	},
];
