// A repository at GitHub: commits and branches by its git database, pull requests by its REST interface.
import type { Forged, ForgeFault, GitFile, Repository } from "../../ports/forge.ts";
import { type Calls, named } from "./calls.ts";
import { type ForgeOptions, openRequester } from "./forge.ts";
import { parseList } from "./replies.ts";
import {
	type ListedEntry,
	parseBlob,
	parseCommitTree,
	parseDefaultBranch,
	parsePull,
	parseRef,
	parseRelation,
	parseSha,
	parseTree,
} from "./repository-replies.ts";
import { createAsk, type Pace, type Question, type Requester, usualPace } from "./request.ts";

const reads = "contents: read";
const writes = "contents: write";
const pulls = "pull-requests: write";

/** A blob of 100 MB takes its time, and nobody waits for a GPU meanwhile. */
const unhurried: Pace = { ...usualPace, callMs: 120_000, patienceMs: 180_000 };

export function githubRepository(options: ForgeOptions): Repository {
	const [owner = "", repo = ""] = options.repository.split("/");
	let requester: Promise<Requester> | null = null;
	const ask = createAsk(() => {
		requester ??= openRequester(options);
		return requester;
	}, options.pace ?? unhurried);
	const calls: Calls = { ask, place: { owner, repo }, graphQlUrl: options.graphQlUrl };
	return { ...readCalls(calls), ...objectCalls(calls), ...branchCalls(calls), ...pullCalls(calls) };
}

type ReadCalls = Pick<Repository, "defaultBranch" | "branchHead" | "compare" | "treeOf" | "filesUnder" | "readBlob">;

function readCalls(calls: Calls): ReadCalls {
	const { ask, place } = calls;
	return {
		defaultBranch: async () =>
			named(
				await ask({ route: "GET /repos/{owner}/{repo}", parameters: place, permission: "metadata: read", parse: parseDefaultBranch }),
				"branch",
			),
		branchHead: (name) => readHead(calls, name),
		compare: async (base, head) => {
			const parameters = { ...place, basehead: `${base}...${head}`, per_page: 250 };
			const answer = await ask({
				route: "GET /repos/{owner}/{repo}/compare/{basehead}",
				parameters,
				permission: reads,
				parse: parseRelation,
			});
			return answer.state === "failed" ? answer : { state: "done", ...answer.value };
		},
		treeOf: async (commit) =>
			named(
				await ask({
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
				await ask({
					route: "GET /repos/{owner}/{repo}/git/blobs/{file_sha}",
					parameters: { ...place, file_sha: sha },
					permission: reads,
					parse: parseBlob,
				}),
				"bytes",
			),
	};
}

async function readHead({ ask, place }: Calls, name: string): Promise<Forged<{ sha: string | null }>> {
	const answer = await ask({
		route: "GET /repos/{owner}/{repo}/git/ref/{ref}",
		parameters: { ...place, ref: `heads/${name}` },
		permission: reads,
		parse: parseRef,
	});
	if (answer.state === "failed" && answer.fault.code === "github-not-found") return { state: "done", sha: null };
	return named(answer, "sha");
}

/** Goes down to the folder, then lists all of it at once: the listing of a whole repository may be too long for GitHub. */
async function listFiles(calls: Calls, commit: string, folder: string): Promise<Forged<{ files: readonly GitFile[] }>> {
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

async function listTree({ ask, place }: Calls, tree: string, recursive: boolean): Promise<Forged<{ entries: ListedEntry[] }>> {
	const parameters = { ...place, tree_sha: tree, ...(recursive ? { recursive: "1" } : {}) };
	const question = { route: "GET /repos/{owner}/{repo}/git/trees/{tree_sha}", parameters, permission: reads, parse: parseTree };
	return named(await ask(question), "entries");
}

/** What is written is found by its content: asking twice makes one thing, or one more commit that no branch has. */
async function askTwice<Value>({ ask }: Calls, question: Question<Value>): Promise<Forged<{ value: Value }>> {
	const answer = await ask(question);
	return answer.state === "failed" && answer.fault.unclear === true ? ask(question) : answer;
}

function objectCalls(calls: Calls): Pick<Repository, "writeBlob" | "writeTree" | "writeCommit"> {
	const { place } = calls;
	const write = async (kind: "blobs" | "trees" | "commits", given: Readonly<Record<string, unknown>>) => {
		const route = `POST /repos/{owner}/{repo}/git/${kind}`;
		return named(await askTwice(calls, { route, parameters: { ...place, ...given }, permission: writes, parse: parseSha }), "sha");
	};
	return {
		writeBlob: (bytes) => write("blobs", { content: Buffer.from(bytes).toString("base64"), encoding: "base64" }),
		writeTree: (base, files) =>
			write("trees", { base_tree: base, tree: files.map(({ path, blob }) => ({ path, mode: "100644", type: "blob", sha: blob })) }),
		// With no author, GitHub signs the commit in the name of the token.
		writeCommit: ({ message, tree, parents }) => write("commits", { message, tree, parents: [...parents] }),
	};
}

function branchCalls({ ask, place }: Calls): Pick<Repository, "createBranch" | "advanceBranch"> {
	return {
		createBranch: (name, sha) =>
			ask({
				route: "POST /repos/{owner}/{repo}/git/refs",
				parameters: { ...place, ref: `refs/heads/${name}`, sha },
				permission: writes,
				parse: parseRef,
			}),
		advanceBranch: (name, sha) =>
			ask({
				route: "PATCH /repos/{owner}/{repo}/git/refs/{ref}",
				parameters: { ...place, ref: `heads/${name}`, sha, force: false },
				permission: writes,
				parse: parseRef,
			}),
	};
}

function pullCalls({ ask, place }: Calls): Pick<Repository, "openPulls" | "createPull" | "updatePull"> {
	return {
		openPulls: async ({ head, base }) =>
			named(
				await ask({
					route: "GET /repos/{owner}/{repo}/pulls",
					parameters: { ...place, state: "open", head: `${place.owner}:${head}`, base, per_page: 100 },
					permission: "pull-requests: read",
					parse: (data) => parseList(data, parsePull),
				}),
				"pulls",
			),
		createPull: async (draft) => {
			const question = {
				route: "POST /repos/{owner}/{repo}/pulls",
				parameters: { ...place, ...draft },
				permission: pulls,
				parse: parsePull,
			};
			const answer = await ask(question);
			return answer.state === "failed" ? { state: "failed", fault: settingFault(answer.fault) } : named(answer, "pull");
		},
		updatePull: async (number, change) =>
			named(
				await ask({
					route: "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
					parameters: { ...place, pull_number: number, ...change },
					permission: pulls,
					parse: parsePull,
				}),
				"pull",
			),
	};
}

/** A setting of the repository or its organisation stands above `permissions:`. */
function settingFault(fault: ForgeFault): ForgeFault {
	if (!/not permitted to create (or approve )?pull requests/i.test(fault.message)) return fault;
	return {
		code: fault.code,
		message: "GitHub Actions may not open pull requests in this repository: its settings say no, whatever `permissions:` says.",
		fix: "Tick “Allow GitHub Actions to create and approve pull requests” in the repository's settings under Actions, General (an organisation may have to first), or give the token of a GitHub App as `token`.",
	};
}
