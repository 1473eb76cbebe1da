// What a repository at GitHub holds: branches, commits, trees and files.
import type { ApiResult, GitFile, Repository } from "../../ports/code-host.ts";
import { type ListedEntry, parseBlob, parseCommitTree, parseDefaultBranch, parseRef, parseRelation, parseTree } from "./replies.ts";
import { ask, type Calls } from "./request.ts";

const reads = "contents: read";

type ReadCalls = Pick<Repository, "defaultBranch" | "branchHead" | "compare" | "treeOf" | "filesUnder" | "readBlob" | "readArchive">;

export function readCalls(calls: Calls): ReadCalls {
	return {
		defaultBranch: () =>
			ask(calls, "branch", { route: "GET /repos/{owner}/{repo}", permission: "metadata: read", parse: parseDefaultBranch }),
		branchHead: (name) => readHead(calls, name),
		compare: async (base, head) => {
			const given = { basehead: `${base}...${head}`, per_page: 250 };
			const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
			const answer = await ask(calls, "value", { route, given, permission: reads, parse: parseRelation });
			return answer.state === "failed" ? answer : { state: "done", ...answer.value };
		},
		treeOf: (commit) => {
			const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
			return ask(calls, "tree", { route, given: { commit_sha: commit }, permission: reads, parse: parseCommitTree });
		},
		filesUnder: (commit, folder) => listFiles(calls, commit, folder),
		readArchive: (commit) => {
			const parse = (data: unknown) => (data instanceof ArrayBuffer ? new Uint8Array(data) : null);
			return ask(calls, "archive", { route: "GET /repos/{owner}/{repo}/tarball/{ref}", given: { ref: commit }, permission: reads, parse });
		},
		readBlob: (sha) => {
			const route = "GET /repos/{owner}/{repo}/git/blobs/{file_sha}";
			return ask(calls, "bytes", { route, given: { file_sha: sha }, permission: reads, parse: parseBlob });
		},
	};
}

async function readHead(calls: Calls, name: string): Promise<ApiResult<{ sha: string | null }>> {
	const route = "GET /repos/{owner}/{repo}/git/ref/{ref}";
	const answer = await ask(calls, "sha", { route, given: { ref: `heads/${name}` }, permission: reads, parse: parseRef });
	return answer.state === "failed" && answer.fault.code === "github-not-found" ? { state: "done", sha: null } : answer;
}

/** Goes down to the folder, then lists all of it at once: the listing of a whole repository may be too long for GitHub. */
async function listFiles(calls: Calls, commit: string, folder: string): Promise<ApiResult<{ files: readonly GitFile[] }>> {
	let tree = commit;
	for (const part of folder.split("/").filter((name) => name !== "")) {
		const listed = await listTree(calls, tree, false);
		if (listed.state === "failed") return listed;
		const next = listed.entries.find((entry) => entry.path === part && entry.type === "tree");
		if (next === undefined) return { state: "done", files: [] };
		tree = next.sha;
	}
	const listed = await listTree(calls, tree, true);
	if (listed.state === "failed") return listed;
	const prefix = folder === "" ? "" : `${folder}/`;
	const files = listed.entries
		.filter(({ type }) => type === "blob")
		.map(({ path, sha }): GitFile => ({ path: `${prefix}${path}`, blob: sha }));
	return { state: "done", files };
}

function listTree(calls: Calls, tree: string, recursive: boolean): Promise<ApiResult<{ entries: ListedEntry[] }>> {
	const given = { tree_sha: tree, ...(recursive ? { recursive: "1" } : {}) };
	return ask(calls, "entries", { route: "GET /repos/{owner}/{repo}/git/trees/{tree_sha}", given, permission: reads, parse: parseTree });
}
