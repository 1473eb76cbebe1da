// Pull requests: their issue beneath them holds title, labels and state.
import { bodyTooLong } from "./comments.ts";
import { listDifferences } from "./compare.ts";
import { addPull } from "./environment.ts";
import {
	type Call,
	notFound,
	ok,
	paginate,
	type Reply,
	type Route,
	refuse,
	textOf,
	unprocessable,
} from "./http.ts";
import { nextNumber } from "./issues.ts";
import { renderLabel } from "./labels.ts";
import { type Json, pageUrl, renderRepository, renderUser, repositoryUrl } from "./render.ts";
import type { Issue, Pull } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

function issueOf(world: World, pull: Pull): Issue {
	const issue = world.state.issues.find((candidate) => candidate.number === pull.number);
	if (!issue) throw new Error(`pull request ${pull.number} has no issue beneath it: add it with addPull`);
	return issue;
}

const none = "0".repeat(40);

/** Where a side is a branch of ours, git knows its head better than the payload that named it. */
async function currentShas(world: World, pull: Pull): Promise<{ headSha: string; baseSha: string }> {
	if (pull.baseSha !== none && pull.baseSha !== "") return { headSha: pull.headSha, baseSha: pull.baseSha };
	return { headSha: pull.headSha, baseSha: (await (await world.git()).resolve(pull.baseRef)) ?? none };
}

function renderSide(world: World, side: { repository: string; ref: string; sha: string }): Json {
	const [owner = ""] = side.repository.split("/");
	const user = renderUser(world, owner);
	return {
		label: `${owner}:${side.ref}`,
		ref: side.ref,
		sha: side.sha,
		user,
		repo: renderRepository(world, side.repository),
	};
}

function renderLinks(world: World, number: number): Json {
	const url = `${repositoryUrl(world)}/pulls/${number}`;
	const issue = `${repositoryUrl(world)}/issues/${number}`;
	return {
		url,
		html_url: pageUrl(world, `/pull/${number}`),
		diff_url: pageUrl(world, `/pull/${number}.diff`),
		patch_url: pageUrl(world, `/pull/${number}.patch`),
		issue_url: issue,
		commits_url: `${url}/commits`,
		review_comments_url: `${url}/comments`,
		review_comment_url: `${repositoryUrl(world)}/pulls/comments{/number}`,
		comments_url: `${issue}/comments`,
	};
}

async function renderSimple(world: World, pull: Pull): Promise<Json> {
	const issue = issueOf(world, pull);
	const links = renderLinks(world, pull.number);
	const { headSha, baseSha } = await currentShas(world, pull);
	const statuses = `${repositoryUrl(world)}/statuses/${headSha}`;
	const href = (name: string): Json => ({ href: links[name] });
	return {
		...links,
		id: pull.id,
		node_id: nodeIdOf("PR", pull.id),
		statuses_url: statuses,
		number: pull.number,
		state: issue.state,
		locked: false,
		title: issue.title,
		user: renderUser(world, issue.author),
		body: issue.body,
		labels: issue.labels
			.map((name) => renderLabel(world, name))
			.map((label) => ({ ...label, description: label["description"] ?? "" })),
		milestone: null,
		created_at: issue.createdAt,
		updated_at: issue.updatedAt,
		closed_at: issue.closedAt,
		merged_at: pull.mergedAt,
		merge_commit_sha: pull.mergeSha,
		assignee: null,
		assignees: [],
		requested_reviewers: [],
		requested_teams: [],
		draft: pull.isDraft,
		head: renderSide(world, { repository: pull.headRepository, ref: pull.headRef, sha: headSha }),
		base: renderSide(world, { repository: world.repository, ref: pull.baseRef, sha: baseSha }),
		_links: {
			...{
				self: href("url"),
				html: href("html_url"),
				issue: href("issue_url"),
				comments: href("comments_url"),
			},
			...{ commits: href("commits_url"), statuses: { href: statuses } },
			...{ review_comments: href("review_comments_url"), review_comment: href("review_comment_url") },
		},
		author_association: "CONTRIBUTOR",
		auto_merge: null,
	};
}

async function renderPull(world: World, pull: Pull): Promise<Json> {
	return {
		...(await renderSimple(world, pull)),
		...{
			merged: pull.mergedAt !== null,
			mergeable: true,
			mergeable_state: "clean",
			merged_by: null,
			rebaseable: true,
		},
		comments: world.state.comments.filter((comment) => comment.issue === pull.number).length,
		...{
			review_comments: 0,
			maintainer_can_modify: false,
			commits: 1,
			additions: 1,
			deletions: 0,
			changed_files: 1,
		},
	};
}

async function listPulls(call: Call, pulls: readonly Pull[]): Promise<Reply> {
	return paginate(call, await Promise.all(pulls.map((pull) => renderSimple(call.world, pull))));
}

function findPull(call: Call): Pull | undefined {
	return call.world.state.pulls.find((pull) => pull.number === Number(call.params["pull_number"]));
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
		return refuse(422, "Validation Failed", {
			errors: [
				{
					resource: "PullRequest",
					code: "custom",
					message: `A pull request already exists for ${owner}:${headRef}.`,
				},
			],
		});
	if (headSha === baseSha)
		return refuse(422, "Validation Failed", {
			errors: [
				{ resource: "PullRequest", code: "custom", message: `No commits between ${baseRef} and ${headRef}` },
			],
		});
	const body = textOf(call, "body") ?? null;
	const pull = addPull(world, {
		...{ number: nextNumber(world), title, body, author: call.login, headRef, headSha, baseRef, baseSha },
		isDraft: call.body["draft"] === true,
	});
	return ok(await renderPull(world, pull), 201);
}

function applyToPull(call: Call, pull: Pull): void {
	const issue = issueOf(call.world, pull);
	const state = textOf(call, "state") ?? issue.state;
	const closedAt = state === "closed" ? (issue.closedAt ?? call.world.now()) : null;
	Object.assign(issue, {
		title: textOf(call, "title") ?? issue.title,
		body: textOf(call, "body") ?? issue.body,
		state,
		closedAt,
	});
	issue.updatedAt = call.world.now();
	pull.baseRef = textOf(call, "base") ?? pull.baseRef;
}

export const pullRoutes: readonly Route[] = [
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/pulls",
		needs: [{ pull_requests: "read" }],
		handle: (call) => listPulls(call, listed(call)),
	},
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/pulls",
		needs: [{ pull_requests: "write" }],
		handle: createPull,
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/pulls/{pull_number}",
		needs: [{ pull_requests: "read" }],
		async handle(call) {
			const pull = findPull(call);
			return pull ? ok(await renderPull(call.world, pull)) : notFound();
		},
	},
	{
		method: "PATCH",
		template: "/repos/{owner}/{repo}/pulls/{pull_number}",
		needs: [{ pull_requests: "write" }],
		async handle(call) {
			const pull = findPull(call);
			if (!pull) return notFound();
			const tooLong = bodyTooLong("PullRequest", textOf(call, "body"));
			if (tooLong) return tooLong;
			applyToPull(call, pull);
			return ok(await renderPull(call.world, pull));
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/pulls/{pull_number}/files",
		needs: [{ pull_requests: "read" }],
		async handle(call) {
			const pull = findPull(call);
			if (!pull) return notFound();
			const { headSha, baseSha } = await currentShas(call.world, pull);
			return paginate(call, await listDifferences(call.world, baseSha, headSha));
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/commits/{commit_sha}/pulls",
		needs: [{ pull_requests: "read", contents: "read" }],
		handle(call) {
			const sha = call.params["commit_sha"];
			return listPulls(
				call,
				call.world.state.pulls.filter((pull) => pull.headSha === sha || pull.mergeSha === sha),
			);
		},
	},
];
