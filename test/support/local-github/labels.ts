// Labels of the repository and of its issues.
import { issueNeeds } from "./comments.ts";
import { type Call, type Need, notFound, ok, paginate, type Route, textOf, unprocessable } from "./http.ts";
import { type Json, repositoryUrl } from "./render.ts";
import type { Issue, Label } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

/** The label of this name; GitHub makes one that is used for the first time. */
export function labelOf(world: World, name: string): Label {
	const known = world.state.labels.find((label) => label.name.toLowerCase() === name.toLowerCase());
	if (known) return known;
	const label = { id: world.nextId(), name, color: "ededed", description: null };
	world.state.labels.push(label);
	return label;
}

export function renderLabel(world: World, name: string): Json {
	const label = labelOf(world, name);
	const url = `${repositoryUrl(world)}/labels/${encodeURIComponent(label.name)}`;
	return {
		id: label.id,
		node_id: nodeIdOf("LA", label.id),
		url,
		name: label.name,
		color: label.color,
		default: false,
		description: label.description,
	};
}

/** Names, whether they came plain or as objects. */
export function namesOf(value: unknown): string[] | undefined {
	if (!Array.isArray(value)) return undefined;
	return value.map((entry) =>
		typeof entry === "string"
			? entry
			: String((entry as { name?: unknown; login?: unknown }).name ?? entry.login),
	);
}

function needsOf(access: "read" | "write"): (call: Call) => readonly Need[] {
	return (call) => issueNeeds(call.world, Number(call.params["issue_number"]), access);
}

/** Both forms of the body: an object with labels, or the labels alone. */
function labelsOfBody(call: Call): string[] {
	const given = Array.isArray(call.json) ? call.json : call.body["labels"];
	return namesOf(given) ?? [];
}

function labelsOfIssue(
	method: "GET" | "POST" | "PUT",
	change: (issue: Issue, names: string[]) => string[],
): Route {
	return {
		method,
		template: "/repos/{owner}/{repo}/issues/{issue_number}/labels",
		needs: needsOf(method === "GET" ? "read" : "write"),
		handle(call) {
			const issue = call.world.state.issues.find(
				(candidate) => candidate.number === Number(call.params["issue_number"]),
			);
			if (!issue) return notFound();
			issue.labels = change(issue, labelsOfBody(call));
			return ok(issue.labels.map((name) => renderLabel(call.world, name)));
		},
	};
}

function findLabel(call: Call): Label | undefined {
	return call.world.state.labels.find(
		(label) => label.name.toLowerCase() === call.params["name"]?.toLowerCase(),
	);
}

export const labelRoutes: readonly Route[] = [
	labelsOfIssue("GET", (issue) => issue.labels),
	labelsOfIssue("POST", (issue, names) => [...new Set([...issue.labels, ...names])]),
	labelsOfIssue("PUT", (_, names) => names),
	{
		method: "DELETE",
		template: "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
		needs: needsOf("write"),
		handle(call) {
			const issue = call.world.state.issues.find(
				(candidate) => candidate.number === Number(call.params["issue_number"]),
			);
			if (!issue?.labels.includes(call.params["name"] ?? "")) return notFound();
			issue.labels = issue.labels.filter((name) => name !== call.params["name"]);
			return ok(issue.labels.map((name) => renderLabel(call.world, name)));
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/labels",
		needs: [{ issues: "read" }, { pull_requests: "read" }],
		handle: (call) =>
			paginate(
				call,
				call.world.state.labels.map((label) => renderLabel(call.world, label.name)),
			),
	},
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/labels",
		needs: [{ issues: "write" }, { pull_requests: "write" }],
		handle(call) {
			const name = textOf(call, "name") ?? "";
			if (call.world.state.labels.some((label) => label.name.toLowerCase() === name.toLowerCase()))
				return unprocessable("Label", "name", { code: "already_exists" });
			const label = labelOf(call.world, name);
			Object.assign(label, {
				color: textOf(call, "color") ?? label.color,
				description: textOf(call, "description") ?? null,
			});
			return ok(renderLabel(call.world, name), 201);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/labels/{name}",
		needs: [{ issues: "read" }, { pull_requests: "read" }],
		handle(call) {
			const label = findLabel(call);
			return label ? ok(renderLabel(call.world, label.name)) : notFound();
		},
	},
];
