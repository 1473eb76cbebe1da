import { createHash } from "node:crypto";
import type { ApiResult, CommitRelation, HostedPull, Repository } from "../../src/ports/code-host.ts";

interface Commit {
	tree: string;
	parents: readonly string[];
	message: string;
}

export interface MemoryRepository extends Repository {
	branches: Map<string, string>;
	pulls: (HostedPull & { head: string; base: string; draft: boolean })[];
	writes: string[];
	parents(commit: string): readonly string[];
	files(commit: string): Record<string, string>;
	commit(given: {
		parents: readonly string[];
		files?: Readonly<Record<string, string>>;
		treeOf?: string;
		message?: string;
	}): string;
}

const hashOf = (value: unknown): string => createHash("sha1").update(JSON.stringify(value)).digest("hex");

export function blobOf(bytes: Uint8Array): string {
	return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

function refuse(
	code: "github-not-found" | "github-rejected",
	message: string,
): Extract<ApiResult<object>, { state: "failed" }> {
	return { state: "failed", fault: { code, message, fix: "" } };
}

function createObjects() {
	const commits = new Map<string, Commit>();
	const trees = new Map<string, ReadonlyMap<string, string>>();
	const blobs = new Map<string, Uint8Array>();
	const put = <Value>(store: Map<string, Value>, sha: string, value: Value): string => {
		store.set(sha, value);
		return sha;
	};
	return {
		...{ commits, trees, blobs },
		treeOf: (commit: string): string => commits.get(commit)?.tree ?? "",
		filesOf: (commit: string) => [...(trees.get(commits.get(commit)?.tree ?? "") ?? [])],
		putBlob: (bytes: Uint8Array) => put(blobs, blobOf(bytes), bytes),
		putTree: (tree: ReadonlyMap<string, string>) => put(trees, hashOf([...tree].sort()), tree),
		putCommit: (commit: Commit) => put(commits, hashOf([commits.size, commit]), commit),
	};
}

type Objects = ReturnType<typeof createObjects>;

function ancestors({ commits }: Objects, head: string): Set<string> {
	const seen = new Set<string>();
	const waiting = [head];
	for (let sha = waiting.pop(); sha !== undefined; sha = waiting.pop()) {
		if (seen.has(sha)) continue;
		seen.add(sha);
		waiting.push(...(commits.get(sha)?.parents ?? []));
	}
	return seen;
}

/** As many commits as GitHub lists. */
const maxListed = 250;

function relate(objects: Objects, base: string, head: string): CommitRelation {
	const [had, has] = [ancestors(objects, base), ancestors(objects, head)];
	const added = [...has].filter((sha) => !had.has(sha)).reverse();
	const isBehind = [...had].some((sha) => !has.has(sha));
	const relation = added.length > 0 ? (isBehind ? "diverged" : "ahead") : isBehind ? "behind" : "identical";
	const commits = added
		.slice(0, maxListed)
		.map((sha) => ({ sha, message: objects.commits.get(sha)?.message ?? "" }));
	return { relation, commits, total: added.length };
}

type Shared = Pick<MemoryRepository, "branches" | "pulls" | "writes"> & { objects: Objects };

type Reading = "defaultBranch" | "branchHead" | "compare" | "snapshotOf" | "filesUnder" | "readFile";

function reading({ objects, branches }: Shared): Pick<Repository, Reading> {
	const resolve = (name: string): string | undefined =>
		branches.get(name) ?? (objects.commits.has(name) ? name : undefined);
	return {
		defaultBranch: async () => ({ state: "done", branch: "main" }),
		branchHead: async (name) => ({ state: "done", sha: branches.get(name) ?? null }),
		async compare(base, head) {
			const [from, to] = [resolve(base), resolve(head)];
			return from === undefined || to === undefined
				? refuse("github-not-found", "Not Found")
				: { state: "done", ...relate(objects, from, to) };
		},
		snapshotOf: async (commit) => ({ state: "done", snapshot: objects.treeOf(commit) }),
		async filesUnder(commit, folder) {
			const entries = objects.filesOf(commit).filter(([path]) => path.startsWith(`${folder}/`));
			return { state: "done", files: entries.map(([path, hash]) => ({ path, hash })) };
		},
		readFile: async (hash) => ({ state: "done", bytes: objects.blobs.get(hash) ?? new Uint8Array() }),
	};
}

function writing({
	objects,
	branches,
	writes,
}: Shared): Omit<Repository, Reading | "openPulls" | "createPull" | "updatePull"> {
	return {
		async storeFile(bytes) {
			writes.push("blob");
			return { state: "done", hash: objects.putBlob(bytes) };
		},
		async writeSnapshot(base, files) {
			writes.push("tree");
			const tree = new Map(objects.trees.get(base));
			for (const { path, hash } of files) {
				if (hash === null && !tree.delete(path))
					return refuse("github-rejected", `there is no ${path} to take out`);
				if (hash !== null) tree.set(path, hash);
			}
			return { state: "done", snapshot: objects.putTree(tree) };
		},
		async writeCommit({ snapshot, ...commit }) {
			writes.push("commit");
			return { state: "done", sha: objects.putCommit({ ...commit, tree: snapshot }) };
		},
		async createBranch(name, sha) {
			if (branches.has(name)) return refuse("github-rejected", "Reference already exists");
			writes.push("branch");
			branches.set(name, sha);
			return { state: "done" };
		},
		async advanceBranch(name, sha) {
			if (!ancestors(objects, sha).has(branches.get(name) ?? ""))
				return refuse("github-rejected", "Update is not a fast forward");
			writes.push("branch");
			branches.set(name, sha);
			return { state: "done" };
		},
	};
}

function pulling({
	objects,
	branches,
	pulls,
	writes,
}: Shared): Pick<Repository, "openPulls" | "createPull" | "updatePull"> {
	return {
		openPulls: async ({ head, base }) => ({
			state: "done",
			pulls: pulls.filter((pull) => pull.head === head && pull.base === base),
		}),
		async createPull(draft) {
			if (pulls.some(({ head, base }) => head === draft.head && base === draft.base))
				return refuse("github-rejected", "A pull request already exists");
			const [base, head] = [branches.get(draft.base) ?? "", branches.get(draft.head) ?? ""];
			if (relate(objects, base, head).total === 0)
				return refuse("github-rejected", "No commits between them");
			writes.push("pull");
			const number = pulls.length + 1;
			const pull = { ...draft, number, url: `https://github.com/acme/engines/pull/${number}` };
			pulls.push(pull);
			return { state: "done", pull };
		},
		async updatePull(number, change) {
			writes.push("pull");
			const pull = pulls.find((one) => one.number === number);
			return pull === undefined
				? refuse("github-not-found", "Not Found")
				: { state: "done", pull: Object.assign(pull, change) };
		},
	};
}

export function memoryRepository(): MemoryRepository {
	const objects = createObjects();
	const shared: Shared = { objects, branches: new Map(), pulls: [], writes: [] };
	const { branches, pulls, writes } = shared;
	return {
		...{ branches, pulls, writes, ...reading(shared), ...writing(shared), ...pulling(shared) },
		parents: (commit) => objects.commits.get(commit)?.parents ?? [],
		files: (commit) =>
			Object.fromEntries(
				objects
					.filesOf(commit)
					.map(([path, sha]) => [path, new TextDecoder().decode(objects.blobs.get(sha))]),
			),
		commit({ parents, files, treeOf: other = parents[0] ?? "", message = "A person's" }) {
			const given = Object.entries(files ?? {}).map(
				([path, text]) => [path, objects.putBlob(new TextEncoder().encode(text))] as const,
			);
			const tree = files === undefined ? objects.treeOf(other) : objects.putTree(new Map(given));
			return objects.putCommit({ tree, parents, message });
		},
	};
}
