// Commits and the comparison of two of them.

import { type CommitFacts, readCommit } from "./git-objects.ts";
import { type Call, notFound, ok, paginate, type Reply, type Route } from "./http.ts";
import { type Json, pageUrl, renderUser, repositoryUrl } from "./render.ts";
import type { World } from "./world.ts";

export function renderCommit(world: World, commit: CommitFacts): Json {
	const url = `${repositoryUrl(world)}/commits/${commit.sha}`;
	const page = pageUrl(world, `/commit/${commit.sha}`);
	const parents = commit.parents.map((sha) => ({
		sha,
		url: `${repositoryUrl(world)}/commits/${sha}`,
		html_url: pageUrl(world, `/commit/${sha}`),
	}));
	const verification = {
		verified: false,
		reason: "unsigned",
		signature: null,
		payload: null,
		verified_at: null,
	};
	const tree = { sha: commit.tree, url: `${repositoryUrl(world)}/git/trees/${commit.tree}` };
	const { author, committer, message } = commit;
	return {
		...{
			sha: commit.sha,
			node_id: `C_${commit.sha}`,
			url,
			html_url: page,
			comments_url: `${url}/comments`,
			parents,
		},
		commit: {
			url: `${repositoryUrl(world)}/git/commits/${commit.sha}`,
			author,
			committer,
			message,
			tree,
			comment_count: 0,
			verification,
		},
		author: renderUser(world, author.name.replace(/\s+/g, "-")),
		committer: renderUser(world, committer.name.replace(/\s+/g, "-")),
	};
}

async function commitAt(world: World, ref: string): Promise<CommitFacts | undefined> {
	const git = await world.git();
	const sha = await git.resolve(ref);
	return sha === undefined ? undefined : await readCommit(git, sha);
}

const statusLabels: Readonly<Record<string, string>> = {
	A: "added",
	D: "removed",
	M: "modified",
	T: "changed",
	R: "renamed",
	C: "copied",
};

/** Files that differ between the merge base and the head; empty where git does not know one of the two. */
export async function listDifferences(world: World, base: string, head: string): Promise<Json[]> {
	const git = await world.git();
	const from = await git.run(["merge-base", base, head]).catch(() => undefined);
	if (!from) return [];
	const between = ["diff", "--no-renames", "-z", from.toString().trim(), head];
	const [names, counts] = await Promise.all([
		git.run([...between, "--raw", "--no-abbrev"]),
		git.run([...between, "--numstat"]),
	]);
	const lines = new Map(
		counts
			.toString()
			.split("\0")
			.map((line) => line.split("\t"))
			.map(([added, removed, path]) => [path ?? "", [Number(added) || 0, Number(removed) || 0] as const]),
	);
	return [...names.toString().matchAll(/:\d+ \d+ (\w+) (\w+) (\w)\0([^\0]+)\0/g)].map(
		([, before, after, status = "", path = ""]) => {
			const [additions, deletions] = lines.get(path) ?? [0, 0];
			const at = `${head}/${path}`;
			return {
				...{
					sha: status === "D" ? before : after,
					filename: path,
					status: statusLabels[status] ?? "changed",
				},
				...{ additions, deletions, changes: additions + deletions },
				...{ blob_url: pageUrl(world, `/blob/${at}`), raw_url: pageUrl(world, `/raw/${at}`) },
				contents_url: `${repositoryUrl(world)}/contents/${encodeURI(path)}?ref=${head}`,
			};
		},
	);
}

async function commitsIn(world: World, range: string, most: number): Promise<CommitFacts[]> {
	const git = await world.git();
	const shas = (await git.run(["rev-list", "--end-of-options", range]))
		.toString()
		.split("\n")
		.filter(Boolean)
		.slice(0, most);
	const commits = await Promise.all(shas.map((sha) => readCommit(git, sha)));
	return commits.filter((commit) => commit !== undefined);
}

/** A side may be `owner:branch`; one network of forks shares its objects. */
async function compare(call: Call): Promise<Reply> {
	const { world } = call;
	const [, from, to] = /^(.+?)\.\.\.(.+)$/.exec(call.params["basehead"] ?? "") ?? [];
	if (from === undefined || to === undefined) return notFound();
	const [base, head] = await Promise.all(
		[from, to].map((ref) => commitAt(world, ref.replace(/^[^:]+:/, ""))),
	);
	if (!base || !head) return notFound();
	const git = await world.git();
	const mergeBase = await git.run(["merge-base", base.sha, head.sha]).then(
		(found) => readCommit(git, found.toString().trim()),
		() => undefined,
	);
	if (!mergeBase)
		return {
			status: 404,
			body: {
				message: `No common ancestor between ${from} and ${to}.`,
				documentation_url: "",
				status: "404",
			},
		};
	const [ahead, behind] = await Promise.all([
		commitsIn(world, `${base.sha}..${head.sha}`, 10_000),
		commitsIn(world, `${head.sha}..${base.sha}`, 10_000),
	]);
	const word =
		ahead.length > 0
			? behind.length > 0
				? "diverged"
				: "ahead"
			: behind.length > 0
				? "behind"
				: "identical";
	const page = pageUrl(world, `/compare/${from}...${to}`);
	return ok({
		url: `${repositoryUrl(world)}/compare/${from}...${to}`,
		...{ html_url: page, permalink_url: page, diff_url: `${page}.diff`, patch_url: `${page}.patch` },
		base_commit: renderCommit(world, base),
		merge_base_commit: renderCommit(world, mergeBase),
		...{ status: word, ahead_by: ahead.length, behind_by: behind.length, total_commits: ahead.length },
		commits: ahead
			.reverse()
			.slice(0, 250)
			.map((commit) => renderCommit(world, commit)),
		files: await listDifferences(world, base.sha, head.sha),
	});
}

export const commitRoutes: readonly Route[] = [
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/commits",
		needs: [{ contents: "read" }],
		async handle(call) {
			const head = await commitAt(call.world, call.query.get("sha") ?? call.world.state.defaultBranch);
			if (!head) return notFound();
			const path = call.query.get("path");
			const git = await call.world.git();
			const touching = path === null ? [] : ["--", path];
			const shas = (await git.run(["rev-list", head.sha, ...touching]))
				.toString()
				.split("\n")
				.filter(Boolean);
			const commits = await Promise.all(shas.map((sha) => readCommit(git, sha)));
			return paginate(
				call,
				commits.flatMap((commit) => (commit ? [renderCommit(call.world, commit)] : [])),
			);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/commits/{ref}",
		needs: [{ contents: "read" }],
		async handle(call) {
			const commit = await commitAt(call.world, call.params["ref"] ?? "");
			return commit
				? ok(renderCommit(call.world, commit))
				: {
						status: 422,
						body: {
							message: `No commit found for SHA: ${call.params["ref"]}`,
							documentation_url: "",
							status: "422",
						},
					};
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/compare/{basehead}",
		needs: [{ contents: "read" }],
		handle: compare,
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/branches/{branch}",
		needs: [{ contents: "read" }],
		async handle(call) {
			const name = call.params["branch"] ?? "";
			const commit = await commitAt(call.world, `refs/heads/${name}`);
			if (!commit)
				return { status: 404, body: { message: "Branch not found", documentation_url: "", status: "404" } };
			const self = `${repositoryUrl(call.world)}/branches/${name}`;
			const links = { self, html: pageUrl(call.world, `/tree/${name}`) };
			const shown = renderCommit(call.world, commit);
			return ok({
				name,
				commit: shown,
				_links: links,
				protected: false,
				protection: { enabled: false },
				protection_url: `${self}/protection`,
			});
		},
	},
];
