// Parses GitHub's replies: only the fields in use, and null for anything that GitHub's API does not document.
import { fieldsOf, isObject } from "../../core/found.ts";
import { isCommit } from "../../formats/github/names.ts";
import type {
	CommitRelation,
	HostedCheckRun,
	HostedComment,
	HostedIssue,
	HostedPull,
} from "../../ports/code-host.ts";

const idOf = (value: unknown): number | null =>
	Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function authorOf(value: unknown): HostedComment["author"] {
	const { login, type } = fieldsOf(value);
	return typeof login === "string" ? { login, type: textOf(type) } : null;
}

/** A list of which every item must be readable. */
export function parseList<Item>(data: unknown, parse: (item: unknown) => Item | null): Item[] | null {
	if (!Array.isArray(data)) return null;
	const items = data.map(parse);
	return items.some((item) => item === null) ? null : items.filter((item) => item !== null);
}

export function parseComment(data: unknown): HostedComment | null {
	const { id: given, node_id: nodeId, body, user, html_url: url } = fieldsOf(data);
	const id = idOf(given);
	return id === null
		? null
		: { id, nodeId: textOf(nodeId), body: textOf(body), author: authorOf(user), url: textOf(url) };
}

/** GitHub lists pull requests among issues. */
export function isPullRequest(data: unknown): boolean {
	return isObject(fieldsOf(data)["pull_request"]);
}

export function parseIssue(data: unknown): HostedIssue | null {
	const { number: given, body, user, html_url: url } = fieldsOf(data);
	const number = idOf(given);
	return number === null ? null : { number, body: textOf(body), author: authorOf(user), url: textOf(url) };
}

export interface FoundCheckRun extends HostedCheckRun {
	externalId: string;
}

export function parseCheckRun(data: unknown): FoundCheckRun | null {
	const { id: given, html_url: url, status, external_id: externalId } = fieldsOf(data);
	const id = idOf(given);
	return id === null
		? null
		: { id, url: textOf(url), isOpen: status !== "completed", externalId: textOf(externalId) };
}

export function parseCheckRuns(data: unknown): FoundCheckRun[] | null {
	return parseList(fieldsOf(data)["check_runs"], parseCheckRun);
}

/** Commits of a workflow's runs, the newest first; `workflow` is the name of its file. */
export function parseRunCommits(data: unknown, workflow: string): string[] | null {
	const runs = parseList(fieldsOf(data)["workflow_runs"], (run) => (isObject(run) ? run : null));
	const isOf = (run: ReturnType<typeof fieldsOf>): boolean =>
		textOf(run["path"]).replace(/@.*$/, "").endsWith(`/${workflow}`);
	return runs?.filter(isOf).flatMap((run) => (isCommit(run["head_sha"]) ? [run["head_sha"]] : [])) ?? null;
}

/** Whether a GraphQL answer holds data; its faults come with status 200. */
export function parseGraphQl(data: unknown): ReturnType<typeof fieldsOf> | null {
	const { errors, data: answer } = fieldsOf(data);
	return !Array.isArray(errors) && isObject(answer) ? answer : null;
}

export function parseLogin(data: unknown): string | null {
	const { login } = fieldsOf(fieldsOf(parseGraphQl(data))["viewer"]);
	return typeof login === "string" && login !== "" ? login : null;
}

/** Whether `Link` or a full page shows that there is more. */
export function hasNextPage(
	headers: Record<string, unknown>,
	page: { items: number; size: number },
): boolean {
	const link = headers["link"];
	return typeof link === "string" ? /rel="?next"?/.test(link) : page.items === page.size;
}

export function hashOf(value: unknown): string | null {
	return typeof value === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(value) ? value : null;
}

export function parseDefaultBranch(data: unknown): string | null {
	return textOf(fieldsOf(data)["default_branch"]) || null;
}

/** Of an answer that is about one object. */
export function parseSha(data: unknown): string | null {
	return hashOf(fieldsOf(data)["sha"]);
}

/** Of a ref: a tag may point at an object of its own, a branch never does. */
export function parseRef(data: unknown): string | null {
	const object = fieldsOf(fieldsOf(data)["object"]);
	return object["type"] === "commit" ? hashOf(object["sha"]) : null;
}

export function parseCommitTree(data: unknown): string | null {
	return hashOf(fieldsOf(fieldsOf(data)["tree"])["sha"]);
}

const relations = ["identical", "ahead", "behind", "diverged"] as const;

export function parseRelation(data: unknown): CommitRelation | null {
	const reply = fieldsOf(data);
	const relation = relations.find((one) => one === reply["status"]);
	const total = reply["ahead_by"];
	if (relation === undefined || typeof total !== "number" || !Array.isArray(reply["commits"])) return null;
	const commits = reply["commits"].map((one) => ({
		sha: hashOf(fieldsOf(one)["sha"]) ?? "",
		message: textOf(fieldsOf(fieldsOf(one)["commit"])["message"]),
	}));
	return commits.some(({ sha }) => sha === "") ? null : { relation, commits, total };
}

export interface ListedEntry {
	path: string;
	type: string;
	sha: string;
}

/** null also where GitHub left some out, having too many: what is not listed may be there. */
export function parseTree(data: unknown): ListedEntry[] | null {
	const { tree, truncated } = fieldsOf(data);
	if (!Array.isArray(tree) || truncated === true) return null;
	const entries = tree.map((one) => {
		const { path, type, sha } = fieldsOf(one);
		return { path: textOf(path), type: textOf(type), sha: hashOf(sha) ?? "" };
	});
	return entries.some(({ path, sha }) => path === "" || sha === "") ? null : entries;
}

export function parseBlob(data: unknown): Uint8Array | null {
	const { content, encoding } = fieldsOf(data);
	if (typeof content !== "string") return null;
	if (encoding === "base64") return new Uint8Array(Buffer.from(content, "base64"));
	return encoding === "utf-8" ? new TextEncoder().encode(content) : null;
}

/** Of the list of artifacts; foreign: of a run for another repository's commit. */
export function parseArtifacts(data: unknown) {
	const { artifacts } = fieldsOf(data);
	if (!Array.isArray(artifacts)) return null;
	return artifacts.map((one) => {
		const { id, size_in_bytes: bytes, expired, expires_at: ends, workflow_run: of } = fieldsOf(one);
		const { id: runId, head_branch: branch, repository_id: own, head_repository_id: head } = fieldsOf(of);
		return {
			...{ id: Number(id), runId: Number(runId), bytes: Number(bytes), branch: textOf(branch) },
			endsMs: expired === true ? 0 : Date.parse(textOf(ends)),
			isForeign: typeof own !== "number" || own !== head,
		};
	});
}

export function parsePull(data: unknown): HostedPull | null {
	const { number: given, title, body, html_url: url } = fieldsOf(data);
	const number = idOf(given);
	return number === null ? null : { number, title: textOf(title), body: textOf(body), url: textOf(url) };
}
