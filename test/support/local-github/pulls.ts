import { bodyTooLong } from "./comments.ts";
import { addPull } from "./environment.ts";
import {
	type Call,
	notFound,
	ok,
	paginate,
	type Reply,
	type Route,
	refuse,
	route,
	textOf,
	unprocessable,
} from "./http.ts";
import { nextNumber, renderLabel } from "./issues.ts";
import { type Json, pageUrl, renderRepository, renderUser } from "./render.ts";
import type { Issue, Pull } from "./state.ts";
import type { World } from "./world.ts";

function issueOf(world: World, pull: Pull): Issue {
	const issue = world.state.issues.find((candidate) => candidate.number === pull.number);
	if (!issue) throw new Error(`pull request ${pull.number} has no issue beneath it: add it with addPull`);
	return issue;
}

const none = "0".repeat(40);

async function baseShaOf(world: World, pull: Pull): Promise<string> {
	if (pull.baseSha !== none && pull.baseSha !== "") return pull.baseSha;
	return (await (await world.git()).resolve(pull.baseRef)) ?? none;
}

function renderSide(world: World, side: { repository: string; ref: string; sha: string }): Json {
	const [owner = ""] = side.repository.split("/");
	const repo = renderRepository(world, side.repository);
	return { label: `${owner}:${side.ref}`, ref: side.ref, sha: side.sha, user: renderUser(owner), repo };
}

async function renderPull(world: World, pull: Pull): Promise<Json> {
	const { state, title, body, author, labels } = issueOf(world, pull);
	const baseSha = await baseShaOf(world, pull);
	return {
		...{ id: pull.id, number: pull.number, state, title, body, draft: pull.isDraft },
		...{ user: renderUser(author), labels: labels.map(renderLabel) },
		html_url: pageUrl(world, `/pull/${pull.number}`),
		merge_commit_sha: pull.mergeSha,
		head: renderSide(world, { repository: pull.headRepository, ref: pull.headRef, sha: pull.headSha }),
		base: renderSide(world, { repository: world.repository, ref: pull.baseRef, sha: baseSha }),
	};
}

function ownerOf(pull: Pull): string {
	return pull.headRepository.split("/")[0] ?? "";
}

function listed(call: Call): Pull[] {
	const state = call.query.get("state") ?? "open";
	const head = call.query.get("head");
	const base = call.query.get("base");
	const found = call.world.state.pulls.filter(
		(pull) =>
			(state === "all" || issueOf(call.world, pull).state === state) &&
			// A head without its owner does not filter, as at GitHub.
			(head === null || !head.includes(":") || head === `${ownerOf(pull)}:${pull.headRef}`) &&
			(base === null || base === pull.baseRef),
	);
	return found.sort((a, b) =>
		call.query.get("direction") === "asc" ? a.number - b.number : b.number - a.number,
	);
}

const invalid = (message: string): Reply =>
	refuse(422, "Validation Failed", { errors: [{ resource: "PullRequest", code: "custom", message }] });

async function createPull(call: Call): Promise<Reply> {
	const { world } = call;
	const tooLong = bodyTooLong("PullRequest", textOf(call, "body"));
	if (tooLong) return tooLong;
	const [headRef = "", owner = world.owner] = (textOf(call, "head") ?? "").split(":").reverse();
	const baseRef = textOf(call, "base") ?? "";
	const git = await world.git();
	const [headSha, baseSha] = await Promise.all([
		git.resolve(`refs/heads/${headRef}`),
		git.resolve(`refs/heads/${baseRef}`),
	]);
	if (headSha === undefined) return unprocessable("PullRequest", "head", { code: "invalid" });
	if (baseSha === undefined) return unprocessable("PullRequest", "base", { code: "invalid" });
	const title = textOf(call, "title");
	if (title === undefined || title.trim() === "")
		return unprocessable("PullRequest", "title", { code: "missing_field" });
	const isOpen = (pull: Pull): boolean =>
		pull.headRef === headRef && pull.baseRef === baseRef && issueOf(world, pull).state === "open";
	if (world.state.pulls.some(isOpen))
		return invalid(`A pull request already exists for ${owner}:${headRef}.`);
	if (headSha === baseSha) return invalid(`No commits between ${baseRef} and ${headRef}`);
	const body = textOf(call, "body") ?? null;
	const pull = addPull(world, {
		...{ number: nextNumber(world), title, body, author: call.login, headRef, headSha, baseRef, baseSha },
		isDraft: call.body["draft"] === true,
	});
	return ok(await renderPull(world, pull), 201);
}

const pullOf = ({ world, params }: Call): Pull | undefined =>
	world.state.pulls.find(({ number }) => number === Number(params["pull_number"]));

function applyToPull(call: Call, pull: Pull): void {
	const issue = issueOf(call.world, pull);
	issue.title = textOf(call, "title") ?? issue.title;
	issue.body = textOf(call, "body") ?? issue.body;
	issue.state = textOf(call, "state") ?? issue.state;
	pull.baseRef = textOf(call, "base") ?? pull.baseRef;
}

export const pullRoutes: readonly Route[] = [
	route("GET /pulls", [{ pull_requests: "read" }], async (call) =>
		paginate(call, await Promise.all(listed(call).map((pull) => renderPull(call.world, pull)))),
	),
	route("POST /pulls", [{ pull_requests: "write" }], createPull),
	route("GET /pulls/{pull_number}", [{ pull_requests: "read" }], async (call) => {
		const pull = pullOf(call);
		return pull === undefined ? notFound() : ok(await renderPull(call.world, pull));
	}),
	route("PATCH /pulls/{pull_number}", [{ pull_requests: "write" }], async (call) => {
		const pull = pullOf(call);
		if (!pull) return notFound();
		const tooLong = bodyTooLong("PullRequest", textOf(call, "body"));
		if (tooLong) return tooLong;
		applyToPull(call, pull);
		return ok(await renderPull(call.world, pull));
	}),
];
