// A repository at GitHub: commits and branches through its git database, pull requests through its REST API.
import type { ApiFault, ApiResult, GitFile, Repository } from "../../ports/code-host.ts";
import { type CodeHostOptions, openCalls } from "./code-host.ts";
import {
	type ListedEntry,
	parseBlob,
	parseCommitTree,
	parseDefaultBranch,
	parseList,
	parsePull,
	parseRef,
	parseRelation,
	parseSha,
	parseTree,
} from "./replies.ts";
import { ask, type Calls, type Pace, type Send, usualPace } from "./request.ts";

const writes = "contents: write";

/** A blob of 100 MB takes a while, and no GPU is leased meanwhile. */
const unhurried: Pace = { ...usualPace, callMs: 120_000, patienceMs: 180_000 };

export function githubRepository(options: CodeHostOptions): Repository {
	const opened = openCalls(options, unhurried);
	const calls = { ...opened, send: withProposalFixes(opened.send) };
	return { ...readCalls(calls), ...objectCalls(calls), ...branchCalls(calls), ...pullCalls(calls) };
}

/** A proposal needs other fixes than publishing: it has no other way to deliver its result. */
function withProposalFixes(send: Send): Send {
	return async (call) => {
		const answer = await send(call);
		return answer.state === "failed"
			? { state: "failed", fault: { ...answer.fault, fix: fixOf(answer.fault) } }
			: answer;
	};
}

function fixOf({ code, fix }: ApiFault): string {
	switch (code) {
		case "github-permission":
			return "Under `permissions:` of the job, write `contents: write` (the branch) and `pull-requests: write` (the pull request). Your own `token` must be valid and have both; runs of Dependabot and of forks are read-only.";
		case "github-not-found":
			return fix;
		case "github-conflict":
		case "github-rejected":
			return "Fix what GitHub reports, for example a repository rule, and run it again.";
		case "github-rate-limited":
			return "Run it again later, or record fewer models at a time.";
		default:
			return "Nothing to fix on your side: run it again.";
	}
}

function objectCalls(calls: Calls): Pick<Repository, "writeBlob" | "writeTree" | "writeCommit"> {
	const write = (kind: "blobs" | "trees" | "commits", given: Readonly<Record<string, unknown>>) => {
		const route = `POST /repos/{owner}/{repo}/git/${kind}`;
		// What is written is found by its content: sending it twice makes one object, or one more commit that no branch has.
		return ask(calls, "sha", { route, given, permission: writes, repeatable: true, parse: parseSha });
	};
	return {
		writeBlob: (bytes) =>
			write("blobs", { content: Buffer.from(bytes).toString("base64"), encoding: "base64" }),
		writeTree: (base, files) =>
			write("trees", {
				...(base === null ? {} : { base_tree: base }),
				tree: files.map(({ path, ...file }) => ({
					...{ path, mode: "100644", type: "blob" },
					sha: file.blob,
				})),
			}),
		// With no author, GitHub signs the commit in the name of the token.
		writeCommit: ({ message, tree, parents }) => write("commits", { message, tree, parents: [...parents] }),
	};
}

function branchCalls(calls: Calls): Pick<Repository, "createBranch" | "advanceBranch"> {
	const write = { permission: writes, parse: parseRef };
	return {
		createBranch: (name, sha) =>
			ask(calls, "sha", {
				...write,
				route: "POST /repos/{owner}/{repo}/git/refs",
				given: { ref: `refs/heads/${name}`, sha },
			}),
		advanceBranch: (name, sha) => {
			const given = { ref: `heads/${name}`, sha, force: false };
			return ask(calls, "sha", { ...write, route: "PATCH /repos/{owner}/{repo}/git/refs/{ref}", given });
		},
	};
}

function pullCalls(calls: Calls): Pick<Repository, "openPulls" | "createPull" | "updatePull"> {
	const route = "/repos/{owner}/{repo}/pulls";
	const write = { permission: "pull-requests: write", parse: parsePull };
	return {
		openPulls: ({ head, base }) => {
			const given = { state: "open", head: `${calls.place.owner}:${head}`, base, per_page: 100 };
			const parse = (data: unknown) => parseList(data, parsePull);
			return ask(calls, "pulls", { route: `GET ${route}`, given, permission: "pull-requests: read", parse });
		},
		createPull: async (draft) => {
			const answer = await ask(calls, "pull", { ...write, route: `POST ${route}`, given: { ...draft } });
			return answer.state === "failed" ? { state: "failed", fault: settingFault(answer.fault) } : answer;
		},
		updatePull: (number, change) =>
			ask(calls, "pull", {
				...write,
				route: `PATCH ${route}/{pull_number}`,
				given: { pull_number: number, ...change },
			}),
	};
}

/** A setting of the repository or its organisation overrides `permissions:`. */
function settingFault(fault: ApiFault): ApiFault {
	if (!/not permitted to create (or approve )?pull requests/i.test(fault.message)) return fault;
	return {
		code: fault.code,
		message:
			"The repository's settings do not allow GitHub Actions to open pull requests, regardless of `permissions:`.",
		fix: "Tick “Allow GitHub Actions to create and approve pull requests” in the repository's settings under Actions, General (an organisation may have to first), or give the token of a GitHub App as `token`.",
	};
}

const reads = "contents: read";

type ReadCalls = Pick<
	Repository,
	"defaultBranch" | "branchHead" | "compare" | "treeOf" | "filesUnder" | "readBlob"
>;

function readCalls(calls: Calls): ReadCalls {
	return {
		defaultBranch: () =>
			ask(calls, "branch", {
				route: "GET /repos/{owner}/{repo}",
				permission: "metadata: read",
				parse: parseDefaultBranch,
			}),
		branchHead: (name) => readHead(calls, name),
		compare: async (base, head) => {
			const given = { basehead: `${base}...${head}`, per_page: 250 };
			const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
			const answer = await ask(calls, "value", { route, given, permission: reads, parse: parseRelation });
			return answer.state === "failed" ? answer : { state: "done", ...answer.value };
		},
		treeOf: (commit) => {
			const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
			return ask(calls, "tree", {
				route,
				given: { commit_sha: commit },
				permission: reads,
				parse: parseCommitTree,
			});
		},
		filesUnder: (commit, folder) => listFiles(calls, commit, folder),
		readBlob: (sha) => {
			const route = "GET /repos/{owner}/{repo}/git/blobs/{file_sha}";
			return ask(calls, "bytes", { route, given: { file_sha: sha }, permission: reads, parse: parseBlob });
		},
	};
}

async function readHead(calls: Calls, name: string): Promise<ApiResult<{ sha: string | null }>> {
	const route = "GET /repos/{owner}/{repo}/git/ref/{ref}";
	const answer = await ask(calls, "sha", {
		route,
		given: { ref: `heads/${name}` },
		permission: reads,
		parse: parseRef,
	});
	return answer.state === "failed" && answer.fault.code === "github-not-found"
		? { state: "done", sha: null }
		: answer;
}

/** Goes down to the folder, then lists all of it at once: the listing of a whole repository may be too long for GitHub. */
async function listFiles(
	calls: Calls,
	commit: string,
	folder: string,
): Promise<ApiResult<{ files: readonly GitFile[] }>> {
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

function listTree(
	calls: Calls,
	tree: string,
	recursive: boolean,
): Promise<ApiResult<{ entries: ListedEntry[] }>> {
	const given = { tree_sha: tree, ...(recursive ? { recursive: "1" } : {}) };
	return ask(calls, "entries", {
		route: "GET /repos/{owner}/{repo}/git/trees/{tree_sha}",
		given,
		permission: reads,
		parse: parseTree,
	});
}
