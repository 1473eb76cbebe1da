// A forge's repository in memory, with the rules of git: commits know their parents, branches only move forward.
import { createHash } from "node:crypto";
import type { CommitRelation, Forged, ForgePull, Repository } from "../../src/ports/forge.ts";

type Tree = ReadonlyMap<string, string>;

interface Commit {
	tree: string;
	parents: readonly string[];
	message: string;
}

export interface MemoryRepository extends Repository {
	branches: Map<string, string>;
	/** Head and base of each open pull request too. */
	pulls: (ForgePull & { head: string; base: string; draft: boolean })[];
	/** Names of the calls that wrote something. */
	writes: string[];
	parents(commit: string): readonly string[];
	files(commit: string): Record<string, string>;
	/** A commit of somebody's, with files or the tree of another commit. */
	commit(given: { parents: readonly string[]; files?: Readonly<Record<string, string>>; treeOf?: string; message?: string }): string;
}

const hashOf = (value: unknown): string => createHash("sha1").update(JSON.stringify(value)).digest("hex");

export function blobOf(bytes: Uint8Array): string {
	return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

function refuse(code: "github-not-found" | "github-rejected", message: string): Extract<Forged<object>, { state: "failed" }> {
	return { state: "failed", fault: { code, message, fix: "" } };
}

/** As many commits as GitHub lists. */
const mostListed = 250;

export function memoryRepository(): MemoryRepository {
	const commits = new Map<string, Commit>();
	const trees = new Map<string, Tree>();
	const blobs = new Map<string, Uint8Array>();
	const branches = new Map<string, string>();
	const pulls: MemoryRepository["pulls"] = [];
	const writes: string[] = [];
	const putBlob = (bytes: Uint8Array): string => {
		const sha = blobOf(bytes);
		blobs.set(sha, bytes);
		return sha;
	};
	const putTree = (tree: Tree): string => {
		const sha = hashOf([...tree].sort());
		trees.set(sha, tree);
		return sha;
	};
	const putCommit = (commit: Commit): string => {
		const sha = hashOf([commits.size, commit]);
		commits.set(sha, commit);
		return sha;
	};
	const treeOf = (commit: string): string => commits.get(commit)?.tree ?? "";
	const ancestors = (head: string): Set<string> => {
		const seen = new Set<string>();
		const waiting = [head];
		for (let sha = waiting.pop(); sha !== undefined; sha = waiting.pop()) {
			if (seen.has(sha)) continue;
			seen.add(sha);
			waiting.push(...(commits.get(sha)?.parents ?? []));
		}
		return seen;
	};
	const relate = (base: string, head: string): CommitRelation => {
		const [had, has] = [ancestors(base), ancestors(head)];
		const added = [...has].filter((sha) => !had.has(sha)).reverse();
		const isBehind = [...had].some((sha) => !has.has(sha));
		const relation = added.length > 0 ? (isBehind ? "diverged" : "ahead") : isBehind ? "behind" : "identical";
		const listed = added.slice(0, mostListed).map((sha) => ({ sha, message: commits.get(sha)?.message ?? "" }));
		return { relation, commits: listed, total: added.length };
	};
	const resolve = (name: string): string | undefined => branches.get(name) ?? (commits.has(name) ? name : undefined);
	return {
		...{ branches, pulls, writes },
		parents: (commit) => commits.get(commit)?.parents ?? [],
		files: (commit) =>
			Object.fromEntries([...(trees.get(treeOf(commit)) ?? [])].map(([path, sha]) => [path, new TextDecoder().decode(blobs.get(sha))])),
		commit({ parents, files, treeOf: other = parents[0] ?? "", message = "A person's" }) {
			const given = Object.entries(files ?? {}).map(([path, text]) => [path, putBlob(new TextEncoder().encode(text))] as const);
			return putCommit({ tree: files === undefined ? treeOf(other) : putTree(new Map(given)), parents, message });
		},
		defaultBranch: async () => ({ state: "done", branch: "main" }),
		branchHead: async (name) => ({ state: "done", sha: branches.get(name) ?? null }),
		async compare(base, head) {
			const [from, to] = [resolve(base), resolve(head)];
			return from === undefined || to === undefined ? refuse("github-not-found", "Not Found") : { state: "done", ...relate(from, to) };
		},
		treeOf: async (commit) => ({ state: "done", tree: treeOf(commit) }),
		async filesUnder(commit, folder) {
			const entries = [...(trees.get(treeOf(commit)) ?? [])].filter(([path]) => path.startsWith(`${folder}/`));
			return { state: "done", files: entries.map(([path, blob]) => ({ path, blob })) };
		},
		readBlob: async (sha) => ({ state: "done", bytes: blobs.get(sha) ?? new Uint8Array() }),
		async writeBlob(bytes) {
			writes.push("blob");
			return { state: "done", sha: putBlob(bytes) };
		},
		async writeTree(base, files) {
			writes.push("tree");
			const tree = new Map(trees.get(base));
			for (const { path, blob } of files) {
				if (blob === null && !tree.delete(path)) return refuse("github-rejected", `there is no ${path} to take out`);
				if (blob !== null) tree.set(path, blob);
			}
			return { state: "done", sha: putTree(tree) };
		},
		async writeCommit(commit) {
			writes.push("commit");
			return { state: "done", sha: putCommit(commit) };
		},
		async createBranch(name, sha) {
			if (branches.has(name)) return refuse("github-rejected", "Reference already exists");
			writes.push("branch");
			branches.set(name, sha);
			return { state: "done" };
		},
		async advanceBranch(name, sha) {
			if (!ancestors(sha).has(branches.get(name) ?? "")) return refuse("github-rejected", "Update is not a fast forward");
			writes.push("branch");
			branches.set(name, sha);
			return { state: "done" };
		},
		openPulls: async ({ head, base }) => ({ state: "done", pulls: pulls.filter((pull) => pull.head === head && pull.base === base) }),
		async createPull(draft) {
			if (pulls.some(({ head, base }) => head === draft.head && base === draft.base))
				return refuse("github-rejected", "A pull request already exists");
			const [base, head] = [branches.get(draft.base) ?? "", branches.get(draft.head) ?? ""];
			if (relate(base, head).total === 0) return refuse("github-rejected", "No commits between them");
			writes.push("pull");
			const number = pulls.length + 1;
			const pull = { ...draft, number, url: `https://github.com/acme/engines/pull/${number}` };
			pulls.push(pull);
			return { state: "done", pull };
		},
		async updatePull(number, change) {
			writes.push("pull");
			const pull = pulls.find((one) => one.number === number);
			if (pull === undefined) return refuse("github-not-found", "Not Found");
			return { state: "done", pull: Object.assign(pull, change) };
		},
	};
}
