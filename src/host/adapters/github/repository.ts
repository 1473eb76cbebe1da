// A repository on GitHub: its git database and its pull requests.
import { fieldsOf } from "../../../core/found.ts";
import type { ApiFault, ApiResult, Repository, StoredFile } from "../../../ports/code-host.ts";
import { idOf, parseList, textOf } from "./code-host.ts";
import { type Ask, type GitHubOptions, openApi, type Pace, usualPace } from "./request.ts";

const unhurried: Pace = { ...usualPace, callMs: 120_000, patienceMs: 180_000 };

/** A proposal needs other fixes than publishing. */
const fixes: Partial<Record<ApiFault["code"], string>> = {
	"github-permission":
		"Under `permissions:` of the job, write `contents: write` (the branch) and `pull-requests: write` (the pull request). Your own `token` must be valid and have both; runs of Dependabot and of forks are read-only.",
	"github-conflict": "Fix what GitHub reports, for example a repository rule, and run it again.",
	"github-rejected": "Fix what GitHub reports, for example a repository rule, and run it again.",
	"github-rate-limited": "Run it again later, or record fewer models at a time.",
};

export function githubRepository(options: GitHubOptions): Repository {
	const api = openApi(options, options.pace ?? unhurried);
	const asking = (permission: string, how?: { repeatable: true }): Ask => {
		const ask = api.asking(permission, how);
		return async (...call) => {
			const answer = await ask(...call);
			if (answer.state === "done" || answer.fault.code === "github-not-found") return answer;
			const fix = fixes[answer.fault.code] ?? "Nothing to fix on your side: run it again.";
			return { state: "failed", fault: { ...answer.fault, fix } };
		};
	};
	return { ...readCalls(asking), ...writeCalls(asking), ...pullCalls(asking, api.owner) };
}

type Asking = (permission: string, how?: { repeatable: true }) => Ask;

function hashOf(value: unknown) {
	return typeof value === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(value) ? value : null;
}

const parseSha = (data: unknown) => hashOf(fieldsOf(data)["sha"]);

function parseRef(data: unknown) {
	const object = fieldsOf(fieldsOf(data)["object"]);
	return object["type"] === "commit" ? hashOf(object["sha"]) : null;
}

function writeCalls(asking: Asking) {
	// Objects are found by their content, so sending one twice is harmless.
	const write = asking("contents: write", { repeatable: true });
	const move = asking("contents: write");
	return {
		storeFile: (bytes) => {
			const given = { content: Buffer.from(bytes).toString("base64"), encoding: "base64" };
			return write("hash", "POST /git/blobs", given, parseSha);
		},
		writeSnapshot: (base, files) => {
			const tree = files.map(({ path, hash }) => ({ path, mode: "100644", type: "blob", sha: hash }));
			return write("snapshot", "POST /git/trees", { base_tree: base, tree }, parseSha);
		},
		// Without an author, GitHub signs the commit in the name of the token.
		writeCommit: ({ snapshot, ...commit }) =>
			write("sha", "POST /git/commits", { ...commit, tree: snapshot }, parseSha),
		createBranch: (name, sha) => move("sha", "POST /git/refs", { ref: `refs/heads/${name}`, sha }, parseRef),
		advanceBranch: (name, sha) =>
			move("sha", "PATCH /git/refs/{ref}", { ref: `heads/${name}`, sha, force: false }, parseRef),
	} satisfies Partial<Repository>;
}

function parsePull(data: unknown) {
	const { number: given, title, body, html_url: url } = fieldsOf(data);
	const number = idOf(given);
	return number === null ? null : { number, title: textOf(title), body: textOf(body), url: textOf(url) };
}

function pullCalls(asking: Asking, owner: string) {
	const write = asking("pull-requests: write");
	return {
		openPulls: ({ head, base }) => {
			const given = { state: "open", head: `${owner}:${head}`, base, per_page: 100 };
			return asking("pull-requests: read")("pulls", "GET /pulls", given, (data) =>
				parseList(data, parsePull),
			);
		},
		createPull: async (draft) => {
			const answer = await write("pull", "POST /pulls", { ...draft }, parsePull);
			return answer.state === "failed" ? { state: "failed", fault: settingFault(answer.fault) } : answer;
		},
		updatePull: (number, change) =>
			write("pull", "PATCH /pulls/{pull_number}", { pull_number: number, ...change }, parsePull),
	} satisfies Partial<Repository>;
}

/** A setting of the repository or its organisation overrides `permissions:`. */
function settingFault(fault: ApiFault) {
	if (!/not permitted to create (or approve )?pull requests/i.test(fault.message)) return fault;
	return {
		code: fault.code,
		message:
			"The repository's settings do not allow GitHub Actions to open pull requests, regardless of `permissions:`.",
		fix: "Tick “Allow GitHub Actions to create and approve pull requests” in the repository's settings under Actions, General (an organisation may have to first), or give the token of a GitHub App as `token`.",
	};
}

const relations = ["identical", "ahead", "behind", "diverged"] as const;

function parseRelation(data: unknown) {
	const { status, ahead_by: total, commits: given } = fieldsOf(data);
	const relation = relations.find((one) => one === status);
	const commits = parseList(given, (one) => {
		const { sha, commit } = fieldsOf(one);
		const hash = hashOf(sha);
		return hash === null ? null : { sha: hash, message: textOf(fieldsOf(commit)["message"]) };
	});
	return relation === undefined || typeof total !== "number" || commits === null
		? null
		: { relation, commits, total };
}

function parseBlob(data: unknown): Uint8Array | null {
	const { content, encoding } = fieldsOf(data);
	if (typeof content !== "string") return null;
	if (encoding === "base64") return new Uint8Array(Buffer.from(content, "base64"));
	return encoding === "utf-8" ? new TextEncoder().encode(content) : null;
}

function readCalls(asking: Asking) {
	const ask = asking("contents: read");
	return {
		defaultBranch: () =>
			asking("metadata: read")(
				"branch",
				"GET ",
				{},
				(data) => textOf(fieldsOf(data)["default_branch"]) || null,
			),
		branchHead: async (name) => {
			const answer = await ask("sha", "GET /git/ref/{ref}", { ref: `heads/${name}` }, parseRef);
			const isAbsent = answer.state === "failed" && answer.fault.code === "github-not-found";
			return isAbsent ? { state: "done", sha: null } : answer;
		},
		compare: async (base, head) => {
			const given = { basehead: `${base}...${head}`, per_page: 250 };
			const answer = await ask("value", "GET /compare/{basehead}", given, parseRelation);
			return answer.state === "failed" ? answer : { state: "done", ...answer.value };
		},
		snapshotOf: (commit) =>
			ask("snapshot", "GET /git/commits/{commit_sha}", { commit_sha: commit }, (data) =>
				parseSha(fieldsOf(data)["tree"]),
			),
		filesUnder: (commit, folder) => listFiles(ask, commit, folder),
		readFile: (hash) => ask("bytes", "GET /git/blobs/{file_sha}", { file_sha: hash }, parseBlob),
	} satisfies Partial<Repository>;
}

/** null also if GitHub truncated a long list. */
function parseTree(data: unknown) {
	const { tree, truncated } = fieldsOf(data);
	if (truncated === true) return null;
	return parseList(tree, (one) => {
		const { path, type, sha } = fieldsOf(one);
		const hash = hashOf(sha);
		return textOf(path) === "" || hash === null ? null : { path: textOf(path), type, hash };
	});
}

/** A whole repository may be too long for GitHub. */
async function listFiles(
	ask: Ask,
	commit: string,
	folder: string,
): Promise<ApiResult<{ files: readonly StoredFile[] }>> {
	const list = (tree: string, how: { recursive?: "1" }) =>
		ask("entries", "GET /git/trees/{tree_sha}", { tree_sha: tree, ...how }, parseTree);
	let tree = commit;
	for (const part of folder.split("/").filter((name) => name !== "")) {
		const listed = await list(tree, {});
		if (listed.state === "failed") return listed;
		const next = listed.entries.find(({ path, type }) => path === part && type === "tree");
		if (next === undefined) return { state: "done", files: [] };
		tree = next.hash;
	}
	const listed = await list(tree, { recursive: "1" });
	if (listed.state === "failed") return listed;
	const prefix = folder === "" ? "" : `${folder}/`;
	const files = listed.entries.filter(({ type }) => type === "blob");
	return { state: "done", files: files.map(({ path, hash }) => ({ path: `${prefix}${path}`, hash })) };
}
