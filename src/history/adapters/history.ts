// Reads the commits of a clone, and fetches more as needed.

import { type Depth, openRemote, type Remote } from "../../adapters/git/remote.ts";
import { commitOf, firstLine, type Git, isShallow, slowMs, succeeded } from "../../adapters/git/run-git.ts";
import { parseHashes, parseParents, parseTags } from "../../formats/git/output.ts";
import type { Candidates, Tag } from "../../formats/git/version-tag.ts";

export type History = Awaited<ReturnType<typeof openHistory>>;

const steps: readonly Depth[] = [
	"--deepen=32",
	"--deepen=128",
	"--deepen=512",
	"--deepen=2048",
	"--unshallow",
];
const clockSlackSeconds = 24 * 3600;
const maxEdges = 200;
const maxVersions = 8;
const maxUndated = 50;

/** @param mayFetch false: reads only what the clone has. */
export async function openHistory(git: Git, { mayFetch = true }: { mayFetch?: boolean } = {}) {
	const walk: Walk = { git, remote: await openRemote(git, mayFetch) };
	return {
		/** @returns false if neither this clone nor its remote has it. */
		bring: (commit: string) => bring(commit, walk),
		parents: async (commit: string) => parseParents((await git(["cat-file", "commit", commit])).stdout),
		branchTip: (branch: string) => branchTip(branch, walk),
		find: (ref: string) => find(ref, walk),
		mergeBase: (left: string, right: string) => mergeBase(left, right, walk),
		isAncestor: (commit: string, of: string) => isAncestor(commit, of, walk),
		tags: () => tags(walk),
		nearestTag: (candidates: Candidates, head: string) =>
			candidates.order === "version"
				? nearestVersion(candidates.tags, head, walk)
				: nearestByDate(candidates.tags, head, walk),
	};
}

interface Walk {
	git: Git;
	remote: Remote;
}

async function bring(commit: string, { git, remote }: Walk) {
	if ((await commitOf(commit, git)) !== null) return true;
	return (await remote.bring(commit)) && (await commitOf(commit, git)) !== null;
}

/** A complete clone's remote is not contacted. */
async function branchTip(branch: string, { git, remote }: Walk) {
	const local = () => firstCommit([...remoteRef(remote, branch), `refs/heads/${branch}`], git);
	return (await isShallow(git))
		? ((await remote.branchTip(branch)) ?? (await local()))
		: ((await local()) ?? remote.branchTip(branch));
}

function remoteRef({ name }: Remote, branch: string) {
	return name === null ? [] : [`refs/remotes/${name}/${branch}`];
}

async function firstCommit(names: readonly string[], git: Git) {
	for (const name of names) {
		const commit = await commitOf(name, git);
		if (commit !== null) return commit;
	}
	return null;
}

async function find(ref: string, walk: Walk) {
	const { git, remote } = walk;
	const local = await firstCommit([ref, ...remoteRef(remote, ref)], git);
	if (local !== null) return local;
	if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(ref)) return (await bring(ref, walk)) ? ref : null;
	const name = ref.replace(/^refs\/(heads|tags)\//, "");
	const tag = ref.startsWith("refs/heads/")
		? undefined
		: (await remote.tags()).find((candidate) => candidate.name === name);
	const commit = tag?.commit ?? (ref.startsWith("refs/tags/") ? null : await remote.branchTip(name));
	return commit !== null && (await bring(commit, walk)) ? commit : null;
}

async function mergeBase(left: string, right: string, walk: Walk) {
	let found = "";
	for await (const _ of deepening([left, right], walk)) {
		found = firstLine(await walk.git(["merge-base", left, right]));
		// Beyond an edge there may be a nearer one.
		const above = found === "" ? [left, right] : [left, right, `^${found}`];
		if ((await edges(above, walk)).length === 0) break;
	}
	return found === "" ? null : found;
}

/** Yields at once, and after each step that fetched more. */
async function* deepening(revisions: readonly string[], walk: Walk) {
	yield;
	for (const step of steps) {
		if (!(await walk.remote.deepen(await edges(revisions, walk), step))) return;
		yield;
	}
}

async function edges(revisions: readonly string[], { git }: Walk) {
	if (!(await isShallow(git))) return [];
	const record = await git(["rev-list", "--max-parents=0", `--max-count=${maxEdges}`, ...revisions], {
		timeoutMs: slowMs,
	});
	const ends: string[] = [];
	for (const commit of parseHashes(record.stdout)) {
		if (parseParents((await git(["cat-file", "commit", commit])).stdout).length > 0) ends.push(commit);
	}
	return ends;
}

async function isAncestor(commit: string, of: string, walk: Walk) {
	const { git, remote } = walk;
	const isKnown = async () =>
		succeeded(await git(["merge-base", "--is-ancestor", commit, of], { timeoutMs: slowMs }));
	if (await isKnown()) return true;
	const since = (await dates([commit], git)).get(commit);
	if (since === undefined) return false;
	// Not by date: git cuts off all parents of a merge of which one is older.
	for (const step of steps) {
		if (!(await remote.deepen(await newerEdges(of, since - clockSlackSeconds, walk), step))) return false;
		if (await isKnown()) return true;
	}
	return false;
}

async function newerEdges(of: string, sinceSeconds: number, walk: Walk) {
	const ends = await edges([of], walk);
	const seconds = await dates(ends, walk.git);
	return ends.filter((end) => (seconds.get(end) ?? 0) >= sinceSeconds);
}

async function dates(commits: readonly string[], git: Git) {
	if (commits.length === 0) return new Map();
	const flags = ["--no-walk=unsorted", "--no-show-signature", "--format=%H %ct"];
	const { stdout } = await git(["log", ...flags, ...commits]);
	const lines = [...stdout.matchAll(/^(\w+) (\d+)$/gm)];
	return new Map(lines.map(([, commit = "", time]) => [commit, Number(time)]));
}

/** A shallow clone has no tags. */
async function tags({ git, remote }: Walk) {
	const record = await git(["show-ref", "--tags", "--dereference"], { captureBytes: 4 * 1024 * 1024 });
	const local = parseTags(record.stdout);
	if (await isShallow(git))
		return [...new Map([...local, ...(await remote.tags())].map((tag) => [tag.name, tag])).values()];
	// A complete clone without tags usually comes from a repository without tags.
	return local.length > 0 ? local : remote.tags().catch(() => []);
}

async function nearestVersion(candidates: readonly Tag[], head: string, walk: Walk) {
	let other: Tag | null = null;
	for (const tag of candidates.filter(({ commit }) => commit !== head).slice(0, maxVersions)) {
		if (!(await bring(tag.commit, walk))) continue;
		if (await isAncestor(tag.commit, head, walk)) return { tag, isAncestor: true };
		other ??= tag;
	}
	return other === null ? null : { tag: other, isAncestor: false };
}

async function nearestByDate(candidates: readonly Tag[], head: string, walk: Walk) {
	if (candidates.length === 0) return null;
	for await (const _ of deepening([head], walk)) {
		const found = await newestAncestor(candidates, head, walk.git);
		if (found !== null) return { tag: found, isAncestor: true };
	}
	return null;
}

async function newestAncestor(candidates: readonly Tag[], head: string, git: Git) {
	const byCommit = new Map(
		candidates.filter(({ commit }) => commit !== head).map((tag) => [tag.commit, tag]),
	);
	const args = ["rev-list", "--no-walk=sorted", "--ignore-missing", `--max-count=${maxUndated}`, "--stdin"];
	const record = await git(args, { stdin: `${[...byCommit.keys()].join("\n")}\n` });
	for (const commit of parseHashes(record.stdout)) {
		if (succeeded(await git(["merge-base", "--is-ancestor", commit, head])))
			return byCommit.get(commit) ?? null;
	}
	return null;
}
