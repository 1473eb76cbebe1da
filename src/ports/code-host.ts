// Comments, reports on commits, issues, artifacts, branches and pull requests of a code host.
import type { PlatformCode } from "../core/errors.ts";
import type { JobExecution } from "../core/merge/attempts.ts";

/** Reported; never changes the outcome. */
export interface ApiFault {
	code: PlatformCode;
	/** Request and response. */
	message: string;
	fix: string;
	lacks?: string;
	/** The request may have succeeded: check before retrying. */
	unclear?: true;
}

export type ApiResult<Value extends object> =
	| ({ state: "done" } & Value)
	| { state: "failed"; fault: ApiFault };

type Result<Name extends string, Value> = Promise<ApiResult<Record<Name, Value>>>;

interface Authored {
	body: string;
	/** E.g. `github-actions[bot]`, `Bot`. */
	author: { login: string; type: string } | null;
	/** For people. */
	url: string;
}

export interface HostedComment extends Authored {
	/** Grows with time. */
	id: number;
}

export interface HostedIssue extends Authored {
	number: number;
}

/** A report on a commit; a merge may require its outcome. */
export interface ReportDraft {
	name: string;
	sha: string;
	/** Distinguishes reports of one name: `ID/RUN/ATTEMPT`. */
	key: string;
	/** null: in progress. */
	conclusion: "success" | "failure" | "neutral" | "cancelled" | null;
	title: string;
	/** Markdown, at most 65,535 characters. */
	summary: string;
	detailsUrl?: string;
	annotations: readonly {
		path: string;
		line: number;
		level: "failure" | "warning" | "notice";
		title: string;
		message: string;
	}[];
}

export interface HostedReport {
	id: number;
	url: string;
	isOpen: boolean;
}

export interface StatusDraft {
	sha: string;
	context: string;
	state: "success" | "failure" | "error";
	/** At most 140 characters. */
	description: string;
	url?: string;
}

/** Every call resolves in bounded time; nothing throws. */
export interface CodeHost {
	/** Waits longer each time before the search for what a lost request may have created; false to give up. */
	pause(tries: number): Promise<boolean>;
	/** null if the code host does not report it. */
	login(): Promise<string | null>;
	/** Oldest first. */
	comments(issue: number): Result<"comments", readonly HostedComment[]>;
	createComment(issue: number, body: string, on?: "pull-request" | "issue"): Result<"comment", HostedComment>;
	updateComment(id: number, body: string): Result<"comment", HostedComment>;
	deleteComment(id: number): Promise<ApiResult<object>>;
	/** Marks as outdated. */
	hideComment(id: number): Promise<ApiResult<object>>;
	/** Also one that an earlier attempt of its run left open. */
	findReport(wanted: Pick<ReportDraft, "name" | "sha" | "key">): Result<"report", HostedReport | null>;
	createReport(draft: ReportDraft): Result<"report", HostedReport>;
	/** Adds annotations. */
	updateReport(id: number, draft: ReportDraft): Result<"report", HostedReport>;
	/** For tokens that may not write reports. */
	setStatus(draft: StatusDraft): Promise<ApiResult<object>>;
	/** Oldest first. */
	openIssues(label: string): Result<"issues", readonly HostedIssue[]>;
	createIssue(draft: {
		title: string;
		body: string;
		labels: readonly string[];
	}): Result<"issue", HostedIssue>;
	updateIssue(
		number: number,
		change: { title?: string; body?: string; state?: "closed" },
	): Result<"issue", HostedIssue>;
	/** Of the newest successful run; null if there is none. */
	lastGoodCommit(source: { event: string; ref: string; workflow: string }): Result<"sha", string | null>;
}

export interface ArtifactDraft {
	name: string;
	/** Absolute; paths in the artifact are relative to it. */
	root: string;
	/** Absolute paths of regular files. */
	files: readonly string[];
	/** As in gzip; 0 for none. */
	compression: number;
	/** Uploads the only file uncompressed under its own name. */
	asIs?: true;
}

export interface ArtifactStore {
	/** If the name is taken, the attempt is appended. */
	upload(
		artifact: ArtifactDraft,
	): Result<"artifact", { id: number; name: string; url: string; bytes: number }>;
}

export interface RunArtifact {
	id: number;
	name: string;
	/** Of the archive. */
	bytes: number;
	/** Milliseconds since 1970, by the host's clock. */
	uploadedMs?: number | undefined;
	/** `sha256:…` */
	digest?: string | undefined;
}

export interface RunArtifacts {
	/** Of all attempts, oldest first. */
	list(): Result<"artifacts", readonly RunArtifact[]>;
	/** @returns the archive's path, in a new folder below `folder`. */
	fetch(artifact: RunArtifact, folder: string): Result<"path", string>;
}

/** Folders under keys that later runs find again. */
export interface RemoteCache {
	/** The newest whose key begins with the first of these, else with the next. */
	restore(folder: string, wanted: readonly [string, ...string[]]): Result<"key", string | null>;
	/** saved: false if the key is taken, or the service refused it. */
	save(folder: string, kept: { key: string; bytes: number }): Result<"saved", boolean>;
}

export interface MeasuredRun {
	id: number;
	attempt: number;
	event: string;
	headSha: string;
	/** "" if git does not allow the name. */
	headBranch: string;
	/** `owner/name`; "" if the fork is gone. */
	headRepository: string;
}

/** Facts from the host itself, never from an artifact. */
export interface RunFacts {
	run(id: number): Result<"run", MeasuredRun>;
	/** From that branch into this repository. */
	openPulls(
		head: Pick<MeasuredRun, "headRepository" | "headBranch">,
	): Result<"pulls", readonly { number: number; headSha: string }[]>;
	/** All executions of all jobs and attempts. */
	jobs(runId: number): Result<"jobs", readonly JobExecution[]>;
	parents(sha: string): Result<"parents", readonly string[]>;
}

/** A path from the top of the repository, and its content's hash. */
export interface StoredFile {
	path: string;
	hash: string;
}

/** ahead: `head` contains all of `base`. */
export interface CommitRelation {
	relation: "identical" | "ahead" | "behind" | "diverged";
	/** Those only in `head`; `total` may be more than are listed. */
	commits: readonly { sha: string; message: string }[];
	total: number;
}

export interface HostedPull {
	number: number;
	title: string;
	body: string;
	/** For people. */
	url: string;
}

/** Works without a clone and without credentials on disk. Nothing throws. */
export interface Repository {
	defaultBranch(): Result<"branch", string>;
	/** null if there is no such branch. */
	branchHead(name: string): Result<"sha", string | null>;
	compare(base: string, head: string): Promise<ApiResult<CommitRelation>>;
	/** Equal files have equal snapshots. */
	snapshotOf(commit: string): Result<"snapshot", string>;
	/** Below a path from the top; none if there is no such folder. */
	filesUnder(commit: string, folder: string): Result<"files", readonly StoredFile[]>;
	readFile(hash: string): Result<"bytes", Uint8Array>;
	storeFile(bytes: Uint8Array): Result<"hash", string>;
	/** Puts files into `base`, and removes those without a hash. */
	writeSnapshot(
		base: string,
		files: readonly { path: string; hash: string | null }[],
	): Result<"snapshot", string>;
	writeCommit(commit: {
		message: string;
		snapshot: string;
		parents: readonly string[];
	}): Result<"sha", string>;
	/** Fails if the branch exists. */
	createBranch(name: string, sha: string): Promise<ApiResult<object>>;
	/** Fails if `sha` does not contain the branch's commit. */
	advanceBranch(name: string, sha: string): Promise<ApiResult<object>>;
	/** Open ones between branches of this repository. */
	openPulls(between: { head: string; base: string }): Result<"pulls", readonly HostedPull[]>;
	/** Branches of this repository; the body has at most 65,536 characters. */
	createPull(
		draft: Pick<HostedPull, "title" | "body"> & { head: string; base: string; draft: boolean },
	): Result<"pull", HostedPull>;
	updatePull(number: number, change: { title: string; body: string }): Result<"pull", HostedPull>;
}

/** The code host of a workflow run. */
export interface Host {
	/** null without a token. @param patienceMs for all failed and retried requests. */
	codeHost(patienceMs?: number): CodeHost | null;
	repository(): Repository;
	runFacts(): RunFacts;
	/** Needs no token. @param retentionDays default: the repository's. */
	artifacts(retentionDays?: number): ArtifactStore;
	/** @param runId default: our own run, which needs no permission. */
	runArtifacts(runId?: number): RunArtifacts;
	cache(): RemoteCache;
	/** Keeps folders as artifacts, for when the cache has evicted them. */
	artifactCache(maxBytes: number): RemoteCache;
}
