import { bodyTooLong, issueNeeds } from "./comments.ts";
import { type Call, notFound, ok, paginate, type Route, route, textOf, unprocessable } from "./http.ts";
import { type Json, pageUrl, renderUser } from "./render.ts";
import type { Issue } from "./state.ts";
import type { World } from "./world.ts";

export const renderLabel = (name: string): Json => ({ name, description: "" });

function renderIssue(world: World, issue: Issue): Json {
	const isPull = world.state.pulls.some(({ number }) => number === issue.number);
	return {
		...{ id: issue.id, number: issue.number, title: issue.title, body: issue.body, state: issue.state },
		...{ user: renderUser(issue.author), labels: issue.labels.map(renderLabel) },
		html_url: pageUrl(world, `/${isPull ? "pull" : "issues"}/${issue.number}`),
		pull_request: isPull ? {} : undefined,
	};
}

export function nextNumber(world: World): number {
	return (
		1 + [...world.state.issues, ...world.state.pulls].reduce((most, { number }) => Math.max(most, number), 0)
	);
}

function applyToIssue(call: Call, issue: Issue): void {
	const { title, body, labels } = call.body;
	if (typeof title === "string" || typeof title === "number") issue.title = String(title);
	if (body === null || typeof body === "string") issue.body = body;
	if (Array.isArray(labels)) issue.labels = labels.map(String);
	issue.state = textOf(call, "state") ?? issue.state;
}

export type NewIssue = Partial<Issue> & Pick<Issue, "title">;

export function addIssue(world: World, issue: NewIssue): Issue {
	const added: Issue = {
		...{ id: world.nextId(), number: nextNumber(world), body: null, author: "octocat" },
		...{ state: "open", labels: [] },
		...issue,
	};
	world.state.issues.push(added);
	return added;
}

function listed(call: Call): Issue[] {
	const given = (name: string): string | null => call.query.get(name);
	const state = given("state") ?? "open";
	const labels = (given("labels") ?? "").split(",").filter((name) => name !== "");
	const found = call.world.state.issues.filter(
		(issue) =>
			(state === "all" || issue.state === state) &&
			labels.every((name) => issue.labels.some((own) => own.toLowerCase() === name.toLowerCase())),
	);
	return found.sort((a, b) => (given("direction") === "asc" ? 1 : -1) * (a.number - b.number));
}

export const issueRoutes: readonly Route[] = [
	route("GET /issues", [{ issues: "read" }, { pull_requests: "read" }], (call) =>
		paginate(
			call,
			listed(call).map((issue) => renderIssue(call.world, issue)),
		),
	),
	route("POST /issues", [{ issues: "write" }], (call) => {
		const tooLong = bodyTooLong("Issue", textOf(call, "body"));
		if (tooLong) return tooLong;
		if (String(call.body["title"]).trim() === "")
			return unprocessable("Issue", "title", { code: "missing_field" });
		const issue = addIssue(call.world, { title: "", author: call.login });
		applyToIssue(call, issue);
		return ok(renderIssue(call.world, issue), 201);
	}),
	route(
		"PATCH /issues/{issue_number}",
		(call) => issueNeeds(call.world, Number(call.params["issue_number"]), "write"),
		(call) => {
			const issue = call.world.state.issues.find(
				({ number }) => number === Number(call.params["issue_number"]),
			);
			if (!issue) return notFound();
			const tooLong = bodyTooLong("Issue", textOf(call, "body"));
			if (tooLong) return tooLong;
			applyToIssue(call, issue);
			return ok(renderIssue(call.world, issue));
		},
	),
];
