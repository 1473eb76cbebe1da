// What a repository at GitHub holds: branches, commits, trees and files.
import type { ApiResult, GitFile, Repository } from "../../ports/code-host.ts";
import { type ListedEntry, parseBlob, parseCommitTree, parseDefaultBranch, parseRef, parseRelation, parseTree } from "./replies.ts";
import { type Calls, named } from "./request.ts";

const reads = "contents: read";

type ReadCalls = Pick<Repository, "defaultBranch" | "branchHead" | "compare" | "treeOf" | "filesUnder" | "readBlob">;

export function readCalls(calls: Calls): ReadCalls {
	const { send, place } = calls;
	return {
		defaultBranch: async () =>
			named(
				await send({ route: "GET /repos/{owner}/{repo}", parameters: place, permission: "metadata: read", parse: parseDefaultBranch }),
				"branch",
			),
		branchHead: (name) => readHead(calls, name),
		compare: async (base, head) => {
			const parameters = { ...place, basehead: `${base}...${head}`, per_page: 250 };
			const answer = await send({
				route: "GET /repos/{owner}/{repo}/compare/{basehead}",
				parameters,
				permission: reads,
				parse: parseRelation,
			});
			return answer.state === "failed" ? answer : { state: "done", ...answer.value };
		},
		treeOf: async (commit) =>
			named(
				await send({
					route: "GET /repos/{owner}/{repo}/git/commits/{commit_sha}",
					parameters: { ...place, commit_sha: commit },
					permission: reads,
					parse: parseCommitTree,
				}),
				"tree",
			),
		filesUnder: (commit, folder) => listFiles(calls, commit, folder),
		readBlob: async (sha) =>
			named(
				await send({
					route: "GET /repos/{owner}/{repo}/git/blobs/{file_sha}",
					parameters: { ...place, file_sha: sha },
					permission: reads,
					parse: parseBlob,
				}),
				"bytes",
			),
	};
}

async function readHead({ send, place }: Calls, name: string): Promise<ApiResult<{ sha: string | null }>> {
	const answer = await send({
		route: "GET /repos/{owner}/{repo}/git/ref/{ref}",
		parameters: { ...place, ref: `heads/${name}` },
		permission: reads,
		parse: parseRef,
	});
	if (answer.state === "failed" && answer.fault.code === "github-not-found") return { state: "done", sha: null };
	return named(answer, "sha");
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

async function listTree({ send, place }: Calls, tree: string, recursive: boolean): Promise<ApiResult<{ entries: ListedEntry[] }>> {
	const parameters = { ...place, tree_sha: tree, ...(recursive ? { recursive: "1" } : {}) };
	const call = { route: "GET /repos/{owner}/{repo}/git/trees/{tree_sha}", parameters, permission: reads, parse: parseTree };
	return named(await send(call), "entries");
}
