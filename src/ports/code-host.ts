// The code host, which stores the repository and runs its workflows. Implemented in host/adapters. Types only.
import type { PlatformCode } from "../core/errors.ts";
import type { JobExecution } from "../core/merge/parts.ts";

export interface ApiFault {
	code: PlatformCode;
	message: string;
	fix: string;
	lacks?: string;
	/** The request may have succeeded: check before retrying. */
	unclear?: true;
}

/** The workflow run that trtgate is part of, from the runner's variables. */
export interface WorkflowRun {
	/** Gitea or Forgejo. */
	isGitea: boolean;
	serverUrl: string;
	apiUrl: string;
	graphQlUrl: string;
	/** `owner/name`. */
	repository: string;
	eventName: string;
	sha: string;
	ref: string;
	/** File name of the workflow, or its name if the runner gives no file. */
	workflow: string;
	runId: number;
	runAttempt: number;
	/** Id of the job in its workflow. */
	job: string;
	/** Name of the runner in the code host's list of jobs; "" if unknown. */
	runner: string;
	actor: string;
	services: { artifacts: boolean; cache: boolean; cacheMode: string | undefined };
}

export type ApiResult<Value extends object> =
	| ({ state: "done" } & Value)
	| { state: "failed"; fault: ApiFault };

type Result<Name extends string, Value> = Promise<ApiResult<Record<Name, Value>>>;

interface Authored {
	body: string;
	author: { login: string; type: string } | null;
	url: string;
}

export interface HostedComment extends Authored {
	/** Grows with time. */
	id: number;
}

export interface HostedIssue extends Authored {
	number: number;
}

export interface ReportDraft {
	name: string;
	sha: string;
	/** Distinguishes reports of one name: `ID/RUN/ATTEMPT`. */
	key: string;
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

/** Comments, reports and issues. Calls take bounded time and never throw. */
export interface CodeHost {
	/** Waits before looking for what a lost request may have created, longer each time. @returns false to give up. */
	pause(tries: number): Promise<boolean>;
	login(): Promise<string | null>;
	/** Oldest first. */
	comments(issue: number): Result<"comments", readonly HostedComment[]>;
	/** Of the whole repository, newest first, at most 100; null if the host does not list them so. */
	newestComments: (() => Result<"comments", readonly HostedComment[]>) | null;
	createComment(issue: number, body: string, on?: "pull-request" | "issue"): Result<"comment", HostedComment>;
	updateComment(id: number, body: string): Result<"comment", HostedComment>;
	deleteComment(id: number): Promise<ApiResult<object>>;
	/** Our report with this name and key on a commit, or one that an earlier attempt of its run left open. */
	findReport(wanted: Pick<ReportDraft, "name" | "sha" | "key">): Result<"report", HostedReport | null>;
	createReport(draft: ReportDraft): Result<"report", HostedReport>;
	updateReport(id: number, draft: ReportDraft): Result<"report", HostedReport>;
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
}

export type CommentHost = Pick<
	CodeHost,
	"pause" | "login" | "comments" | "newestComments" | "createComment" | "updateComment" | "deleteComment"
>;

export interface ArtifactDraft {
	name: string;
	root: string;
	files: readonly string[];
	compression: number;
	/** Uploads the only file uncompressed under its own name. */
	asIs?: true;
}

export interface ArtifactStore {
	/** Adds the attempt to a name that the run already has. */
	upload(
		artifact: ArtifactDraft,
	): Result<"artifact", { id: number; name: string; url?: string; bytes: number }>;
}

export interface RunArtifact {
	id: number;
	name: string;
	bytes: number;
	/** Milliseconds since 1970, by the host's clock. */
	uploadedMs?: number | undefined;
	digest?: string | undefined;
}

/** One file of an artifact, which may be hostile. */
export type TakenFile =
	| { state: "read"; text: string }
	| { state: "absent" }
	| { state: "refused"; reason: string };

export interface TakeLimits {
	/** Of the archive, if there is one. */
	packedBytes: number;
	bytes: number;
}

export interface RunArtifacts {
	list(): Result<"artifacts", readonly RunArtifact[]>;
	/** @param wanted a file at the top; `temp` is a folder for downloads. */
	take(artifact: RunArtifact, wanted: { name: string; temp: string; limits: TakeLimits }): Promise<TakenFile>;
}

export interface RemoteCache {
	/** Fills the folder with the newest entry whose key begins with the first of these prefixes, else the next. */
	restore(folder: string, wanted: readonly [string, ...string[]]): Result<"key", string | null>;
	/** saved: false if the service has this key already, or refused it and logged why. */
	save(folder: string, kept: { key: string; bytes: number }): Result<"saved", boolean>;
}

export interface MeasuredRun {
	id: number;
	attempt: number;
	event: string;
	headSha: string;
	/** "" if git does not allow the name. */
	headBranch: string;
	/** `owner/name`; "" if the fork was deleted. */
	headRepository: string;
}

export interface PullFacts {
	headSha: string;
	baseSha: string;
	baseRef: string;
	isFork: boolean;
}

/** Facts from the code host itself, never from an artifact. */
export interface RunFacts {
	pull(number: number): Result<"pull", PullFacts>;
	run(id: number): Result<"run", MeasuredRun>;
	openPulls(
		head: Pick<MeasuredRun, "headRepository" | "headBranch">,
	): Result<"pulls", readonly { number: number; headSha: string }[]>;
	jobs(runId: number): Result<"jobs", readonly JobExecution[]>;
	parents(sha: string): Result<"parents", readonly string[]>;
}

export interface StoredFile {
	path: string;
	hash: string;
}

/** ahead: `head` contains all of `base`. */
export interface CommitRelation {
	relation: "identical" | "ahead" | "behind" | "diverged";
	/** Commits only in `head`; `total` may be more than are listed. */
	commits: readonly { sha: string; message: string }[];
	total: number;
}

export interface HostedPull {
	number: number;
	title: string;
	body: string;
	url: string;
}

/** Commits, branches and pull requests of the repository, without a clone or credentials on disk. Never throws. */
export interface Repository {
	defaultBranch(): Result<"branch", string>;
	/** Newest commit of a branch; null if there is no such branch. */
	branchHead(name: string): Result<"sha", string | null>;
	compare(base: string, head: string): Promise<ApiResult<CommitRelation>>;
	snapshotOf(commit: string): Result<"snapshot", string>;
	filesUnder(commit: string, folder: string): Result<"files", readonly StoredFile[]>;
	readFile(hash: string): Result<"bytes", Uint8Array>;
	storeFile(bytes: Uint8Array): Result<"hash", string>;
	writeSnapshot(
		base: string,
		files: readonly { path: string; hash: string | null }[],
	): Result<"snapshot", string>;
	writeCommit(commit: {
		message: string;
		snapshot: string;
		parents: readonly string[];
	}): Result<"sha", string>;
	createBranch(name: string, sha: string): Promise<ApiResult<object>>;
	advanceBranch(name: string, sha: string): Promise<ApiResult<object>>;
	openPulls(between: { head: string; base: string }): Result<"pulls", readonly HostedPull[]>;
	/** Branches of this repository; the body has at most 65,536 characters. */
	createPull(
		draft: Pick<HostedPull, "title" | "body"> & { head: string; base: string; draft: boolean },
	): Result<"pull", HostedPull>;
	updatePull(number: number, change: { title: string; body: string }): Result<"pull", HostedPull>;
}

export interface Host {
	/** null without a token. @param patienceMs limit of all failed and retried requests, with their waiting. */
	codeHost(patienceMs?: number): CodeHost | null;
	/** null if the host has no API for git objects. */
	repository(): Repository | null;
	runFacts(): RunFacts;
	/** Needs no token. @param retentionDays absent: the repository's default. */
	artifacts(retentionDays?: number): ArtifactStore;
	/** @param runId absent: our own run, which needs no permission. */
	runArtifacts(runId?: number): RunArtifacts;
	cache(): RemoteCache;
}
