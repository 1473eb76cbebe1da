// Reads the event of a workflow run, whose payload is untrusted, and says which caches such a run may use.
import { fieldsOf, isObject } from "../../../core/found.ts";
import { isCommit, isRefName, isRepositoryName, shortName, slug } from "./names.ts";

type Fields = ReturnType<typeof fieldsOf>;

export type RunEvent =
	| PullRequestEvent
	| PushEvent
	| { kind: "tag"; tag: string; sha: string }
	| { kind: "schedule" | "dispatch"; ref: string; sha: string; defaultBranch?: string }
	| { kind: "merge-group"; headSha: string; baseSha: string; baseRef: string }
	| WorkflowRunEvent
	| { kind: "other"; name: string; sha: string };

export interface PullRequestEvent {
	kind: "pull-request";
	number: number;
	headSha: string;
	baseRef: string;
	baseSha: string;
	/** What actions/checkout takes by default. */
	mergeSha?: string;
	/** Or the head's repository is gone. */
	isFork: boolean;
	/** The head by now, where a comment asks for `headSha`. */
	newestSha?: string;
}

export interface PushEvent {
	kind: "push";
	ref: string;
	/** null if the branch is new. */
	before: string | null;
	after: string;
	/** `before` is then not an ancestor. */
	isForced: boolean;
	defaultBranch?: string;
}

export interface WorkflowRunEvent {
	kind: "workflow-run";
	runId: number;
	headSha: string;
}

interface RunFacts {
	sha: string;
	ref: string;
}

const pullRequestEvents = [
	"pull_request",
	"pull_request_target",
	"pull_request_review",
	"pull_request_review_comment",
];
const namePattern = /^[a-z][a-z0-9_]{0,63}$/;

/** Never throws: an undocumented payload makes the event `other`. */
export function parseRunEvent(name: string, payload: unknown, run: RunFacts): RunEvent {
	const sha = isCommit(run.sha) ? run.sha : "";
	const other: RunEvent = { kind: "other", name: namePattern.test(name) ? name : "", sha };
	const root = fieldsOf(payload);
	if (pullRequestEvents.includes(name)) return parsePullRequest(root, { sha, ref: run.ref }) ?? other;
	switch (name) {
		case "push":
			return parsePush(root, { sha, ref: run.ref }) ?? other;
		case "release": {
			const tag = fieldsOf(root["release"])["tag_name"];
			return isRefName(tag) && sha !== "" ? { kind: "tag", tag, sha } : other;
		}
		case "schedule":
			return { kind: "schedule", ref: branchOrTag(run.ref), sha, ...defaultBranchOf(root) };
		case "workflow_dispatch":
		case "repository_dispatch":
			return tagOf(run) ?? { kind: "dispatch", ref: branchOrTag(run.ref), sha, ...defaultBranchOf(root) };
		case "merge_group":
			return parseMergeGroup(fieldsOf(root["merge_group"])) ?? other;
		case "workflow_run":
			return parseWorkflowRun(fieldsOf(root["workflow_run"])) ?? other;
		default:
			return other;
	}
}

export type CommentRequest =
	| { state: "asked"; number: number; commit: string }
	| { state: "refused"; why: string };

const members: readonly unknown[] = ["OWNER", "MEMBER", "COLLABORATOR"];

/**
 * `/gate COMMIT` in the first line of a new comment. The writer names the commit, in full, because the event does not: the head
 * may move while the comment is written.
 */
export function parseRequest(payload: unknown): CommentRequest {
	const { action, issue: given, comment } = fieldsOf(payload);
	const { number, pull_request: pull } = fieldsOf(given);
	const { body, author_association: association } = fieldsOf(comment);
	const refused = (why: string): CommentRequest => ({ state: "refused", why });
	if (action !== "created") return refused("it is not new");
	if (!isId(number) || !isObject(pull)) return refused("it is on no pull request");
	if (!members.includes(association)) return refused("its writer is no member of the repository");
	const commit = /^\/\S+[ \t]+(\S+)\s*?(?:\n|$)/.exec(typeof body === "string" ? body : "")?.[1];
	return isCommit(commit) ? { state: "asked", number, commit } : refused("it names no commit in full");
}

/** The target and the head of a pull request, as the API has it. */
export function parsePull(data: unknown): Omit<PullRequestEvent, "kind" | "number"> | null {
	const pull = parsePullRequest(fieldsOf({ pull_request: data }), { sha: "", ref: "" });
	if (pull === null) return null;
	const { headSha, baseRef, baseSha, isFork } = pull;
	return { headSha, baseRef, baseSha, isFork };
}

/** A run that was started by hand on a tag counts as its release. */
function tagOf({ ref, sha }: RunFacts): RunEvent | null {
	const tag = shortName(ref, "tags");
	return tag === null || !isCommit(sha) ? null : { kind: "tag", tag, sha };
}

function parsePullRequest(root: Fields, run: RunFacts): PullRequestEvent | null {
	const pull = fieldsOf(root["pull_request"]);
	const [head, base] = [fieldsOf(pull["head"]), fieldsOf(pull["base"])];
	const headSha = head["sha"];
	const [baseSha, baseRef] = [base["sha"], base["ref"]];
	const number = pull["number"] ?? root["number"];
	if (!isCommit(headSha) || !isCommit(baseSha) || !isRefName(baseRef) || !isId(number)) return null;
	const merge = mergeOf(pull, number, run);
	return {
		kind: "pull-request",
		number,
		headSha,
		baseRef,
		baseSha,
		...(merge === null ? {} : { mergeSha: merge }),
		isFork: !isSameRepository(fieldsOf(head["repo"]), fieldsOf(base["repo"])),
	};
}

/** The payload's may be from an earlier push. */
function mergeOf(pull: Fields, number: number, run: RunFacts) {
	if (run.ref === `refs/pull/${number}/merge` && isCommit(run.sha)) return run.sha;
	const merge = pull["merge_commit_sha"];
	return isCommit(merge) ? merge : null;
}

/** Anything not known to be the same repository counts as a fork. */
function isSameRepository(head: Fields, base: Fields) {
	const [headId, baseId] = [head["id"], base["id"]];
	if (isId(headId) && isId(baseId)) return headId === baseId;
	const [headName, baseName] = [head["full_name"], base["full_name"]];
	return (
		isRepositoryName(headName) &&
		isRepositoryName(baseName) &&
		headName.toLowerCase() === baseName.toLowerCase()
	);
}

function parsePush(root: Fields, run: RunFacts): RunEvent | null {
	const ref = root["ref"] ?? run.ref;
	const tag = shortName(ref, "tags");
	// `after` of an annotated tag is the tag object; GITHUB_SHA is its commit.
	if (tag !== null) return run.sha === "" ? null : { kind: "tag", tag, sha: run.sha };
	const branch = shortName(ref, "heads");
	const [before, after] = [root["before"], root["after"]];
	const sha = isCommit(after) ? after : run.sha;
	if (branch === null || sha === "") return null;
	return {
		kind: "push",
		ref: branch,
		before: isCommit(before) ? before : null,
		after: sha,
		isForced: root["forced"] !== false,
		...defaultBranchOf(root),
	};
}

function defaultBranchOf(root: Fields): { defaultBranch?: string } {
	const defaultBranch = fieldsOf(root["repository"])["default_branch"];
	return isRefName(defaultBranch) ? { defaultBranch } : {};
}

function parseMergeGroup(group: Fields): RunEvent | null {
	const [headSha, baseSha] = [group["head_sha"], group["base_sha"]];
	const baseRef = shortName(group["base_ref"], "heads");
	if (!isCommit(headSha) || !isCommit(baseSha) || baseRef === null) return null;
	return { kind: "merge-group", headSha, baseSha, baseRef };
}

function parseWorkflowRun(run: Fields): RunEvent | null {
	const [runId, headSha] = [run["id"], run["head_sha"]];
	return isId(runId) && isCommit(headSha) ? { kind: "workflow-run", runId, headSha } : null;
}

function branchOrTag(ref: string) {
	return shortName(ref, "heads") ?? shortName(ref, "tags") ?? "";
}

function isId(value: unknown): value is number {
	return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

const version = "v1";
const maxPrefixChars = 400;

export type CacheKind = "timing" | "engines";

/** `trtgate-timing-v1-Linux-NVIDIA-H200-580.159.03-10.15.1-`; null if something is unknown. */
export function cachePrefix(kind: CacheKind, fingerprint: Readonly<Record<string, string>>): string | null {
	const part = (name: string) => (Object.hasOwn(fingerprint, name) ? slug(fingerprint[name] ?? "") : "");
	const [os, gpu, tensorrt] = [part("os"), part("gpu"), part("tensorrt")];
	const driver = part("driver") || part("driverBranch");
	if ([os, gpu, tensorrt, driver].includes("")) return null;
	const mig = part("mig");
	const parts = [
		"trtgate",
		kind,
		version,
		os,
		part("arch"),
		gpu,
		mig === "" || /^(disabled|n-?a)$/i.test(mig) ? "" : mig,
		driver,
		tensorrt,
	];
	return `${parts
		.filter((one) => one !== "")
		.join("-")
		.slice(0, maxPrefixChars)}-`;
}

/** Outsiders can trigger these, and they run in the default branch's context. */
const untrustedEvents: ReadonlySet<string> = new Set([
	"pull_request_target",
	"workflow_run",
	"issue_comment",
	"issues",
	"discussion",
	"discussion_comment",
	"fork",
	"watch",
]);

/** null if it may. */
export function cacheWriteRefusal(
	event: RunEvent,
	{ eventName, cacheMode }: { eventName: string; cacheMode?: string },
): string | null {
	if (event.kind === "pull-request" && event.isFork) return "the change comes from a fork";
	if (isUntrustedRun(event, eventName)) return `a run for ${eventName} may be caused by anyone`;
	if (event.kind === "other") return "the event of this run is not known";
	return cacheMode === "read" || cacheMode === "none"
		? "the token of this run may not write to the cache"
		: null;
}

/** Its files must be kept apart from those that others trust. */
export function isUntrustedRun(event: RunEvent, eventName: string): boolean {
	const isForeign = event.kind === "workflow-run" || (event.kind === "pull-request" && event.isFork);
	return isForeign || untrustedEvents.has(eventName);
}
