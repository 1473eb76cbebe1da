import { type CommitFacts, readCommit } from "./git-objects.ts";
import { type Call, notFound, ok, type Reply, type Route, refuse, route } from "./http.ts";
import type { World } from "./world.ts";

async function commitAt(world: World, ref: string): Promise<CommitFacts | undefined> {
	const git = await world.git();
	const sha = await git.resolve(ref);
	return sha === undefined ? undefined : await readCommit(git, sha);
}

async function commitsIn(world: World, range: string): Promise<CommitFacts[]> {
	const git = await world.git();
	const listed = (await git.run(["rev-list", "--end-of-options", range])).toString();
	const commits = await Promise.all(
		listed
			.split("\n")
			.filter(Boolean)
			.map((sha) => readCommit(git, sha)),
	);
	return commits.filter((commit) => commit !== undefined);
}

function renderCommit({ sha, message, tree, parents }: CommitFacts) {
	return {
		sha,
		commit: { message, tree: { sha: tree } },
		parents: parents.map((parent) => ({ sha: parent })),
	};
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
	if (!mergeBase) return refuse(404, `No common ancestor between ${from} and ${to}.`);
	const [ahead, behind] = await Promise.all([
		commitsIn(world, `${base.sha}..${head.sha}`),
		commitsIn(world, `${head.sha}..${base.sha}`),
	]);
	const one = ahead.length > 0 ? "ahead" : behind.length > 0 ? "behind" : "identical";
	return ok({
		status: ahead.length > 0 && behind.length > 0 ? "diverged" : one,
		...{ ahead_by: ahead.length, behind_by: behind.length, total_commits: ahead.length },
		...{ base_commit: renderCommit(base), merge_base_commit: renderCommit(mergeBase) },
		commits: ahead.reverse().slice(0, 250).map(renderCommit),
	});
}

export const compareRoutes: readonly Route[] = [
	route("GET /compare/{basehead}", [{ contents: "read" }], compare),
];
