// What a code host offers: comments, checks, issues, artifacts, branches and pull requests. Types only.
import type { PlatformCode } from "../core/errors.ts";

/** A failure of the code host, as a value: it is reported, and never changes the outcome. */
export interface ApiFault {
	code: PlatformCode;
	/** The request and the response. */
	message: string;
	fix: string;
	/** The line under `permissions:` that the token lacks. */
	lacks?: string;
	/** The request may have succeeded: check before retrying. */
	unclear?: true;
}

export type ApiResult<Value extends object> =
	| ({ state: "done" } & Value)
	| { state: "failed"; fault: ApiFault };

export interface HostedComment {
	id: number;
	/** For operations that only GraphQL offers. */
	nodeId: string;
	body: string;
	/** Login and type of who wrote it, e.g. `github-actions[bot]`, `Bot`. */
	author: { login: string; type: string } | null;
	/** For people. */
	url: string;
}

export interface HostedIssue {
	number: number;
	body: string;
	author: HostedComment["author"];
	url: string;
}

export interface CheckAnnotation {
	path: string;
	line: number;
	level: "failure" | "warning" | "notice";
	title: string;
	message: string;
}

export interface CheckRunDraft {
	name: string;
	sha: string;
	/** Distinguishes our check runs of one name. */
	externalId: string;
	/** null: in progress. */
	conclusion: "success" | "failure" | "neutral" | "cancelled" | null;
	title: string;
	/** Markdown, at most 65,535 characters. */
	summary: string;
	detailsUrl?: string;
	annotations: readonly CheckAnnotation[];
}

export interface HostedCheckRun {
	id: number;
	url: string;
	/** In progress. */
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

/** Comments, checks and issues. Every call resolves, in bounded time; nothing throws. */
export interface CodeHost {
	/** Waits before the search for what a lost request may have created, longer each time; false where it gives up. */
	pause(tries: number): Promise<boolean>;
	/** Login of the token's owner; null where the code host does not report it. */
	login(): Promise<string | null>;
	/** All comments of a pull request or an issue, oldest first. */
	comments(issue: number): Promise<ApiResult<{ comments: readonly HostedComment[] }>>;
	createComment(
		issue: number,
		body: string,
		on?: "pull-request" | "issue",
	): Promise<ApiResult<{ comment: HostedComment }>>;
	updateComment(id: number, body: string): Promise<ApiResult<{ comment: HostedComment }>>;
	deleteComment(id: number): Promise<ApiResult<object>>;
	/** Minimises a comment as outdated. */
	minimiseComment(nodeId: string): Promise<ApiResult<object>>;
	/** Our check run of this name and external id on a commit, or one that an earlier attempt of its run left open. */
	findCheckRun(
		wanted: Pick<CheckRunDraft, "name" | "sha" | "externalId">,
	): Promise<ApiResult<{ found: HostedCheckRun | null }>>;
	createCheckRun(draft: CheckRunDraft): Promise<ApiResult<{ found: HostedCheckRun }>>;
	/** Annotations are added to those that are there. */
	updateCheckRun(id: number, draft: CheckRunDraft): Promise<ApiResult<{ found: HostedCheckRun }>>;
	setStatus(draft: StatusDraft): Promise<ApiResult<object>>;
	/** Open issues with a label, oldest first. */
	openIssues(label: string): Promise<ApiResult<{ issues: readonly HostedIssue[] }>>;
	createIssue(draft: {
		title: string;
		body: string;
		labels: readonly string[];
	}): Promise<ApiResult<{ issue: HostedIssue }>>;
	updateIssue(
		number: number,
		change: { title?: string; body?: string; state?: "closed" },
	): Promise<ApiResult<{ issue: HostedIssue }>>;
	/** Commit of the newest successful run; null where there is none. */
	lastGoodCommit(source: {
		event: string;
		ref: string;
		workflow: string;
	}): Promise<ApiResult<{ sha: string | null }>>;
}

/** Stores files with the workflow run. */
export interface ArtifactStore {
	/** A name that the run already has gets the attempt as a suffix. */
	upload(artifact: ArtifactDraft): Promise<ApiResult<{ artifact: KeptArtifact }>>;
}

export interface ArtifactDraft {
	name: string;
	/** Absolute folder; paths in the artifact are relative to it. */
	root: string;
	/** Absolute paths of regular files. */
	files: readonly string[];
	/** As in gzip; 0 for what does not shrink. */
	compression: number;
	/** Uploads the one file uncompressed under its own name, so that a browser opens it. */
	asIs?: true;
}

export interface KeptArtifact {
	id: number;
	name: string;
	url: string;
	bytes: number;
}

/** A file as git stores it: its path from the top of the repository, and the hash of its content. */
export interface GitFile {
	path: string;
	blob: string;
}

export interface GitCommit {
	sha: string;
	message: string;
}

/** How two commits relate: `head` contains all of `base` (ahead), the reverse (behind), or neither. */
export interface CommitRelation {
	relation: "identical" | "ahead" | "behind" | "diverged";
	/** Those of `head` that `base` does not have; `total` may be more than the code host lists. */
	commits: readonly GitCommit[];
	total: number;
}

export interface HostedPull {
	number: number;
	title: string;
	body: string;
	/** For people. */
	url: string;
}

export interface PullDraft {
	title: string;
	/** At most 65,536 characters. */
	body: string;
	/** Branches of the repository itself. */
	head: string;
	base: string;
	draft: boolean;
}

/** A file as a stored blob; null takes it out. */
export interface TreeChange {
	path: string;
	blob: string | null;
}

/** Commits, branches and pull requests of a repository, with no clone and no credentials on disk. Nothing throws. */
export interface Repository {
	defaultBranch(): Promise<ApiResult<{ branch: string }>>;
	/** The commit that a branch is at; null where there is no such branch. */
	branchHead(name: string): Promise<ApiResult<{ sha: string | null }>>;
	compare(base: string, head: string): Promise<ApiResult<CommitRelation>>;
	treeOf(commit: string): Promise<ApiResult<{ tree: string }>>;
	/** All files of a commit below a folder, its path from the top; none where there is no such folder. */
	filesUnder(commit: string, folder: string): Promise<ApiResult<{ files: readonly GitFile[] }>>;
	readBlob(sha: string): Promise<ApiResult<{ bytes: Uint8Array }>>;
	writeBlob(bytes: Uint8Array): Promise<ApiResult<{ sha: string }>>;
	/** The tree `base`, where there is one, with files put into it, and those without a blob taken out of it. */
	writeTree(base: string | null, files: readonly TreeChange[]): Promise<ApiResult<{ sha: string }>>;
	writeCommit(commit: {
		message: string;
		tree: string;
		parents: readonly string[];
	}): Promise<ApiResult<{ sha: string }>>;
	/** Fails where the branch exists. */
	createBranch(name: string, sha: string): Promise<ApiResult<object>>;
	/** Fails where `sha` does not contain the branch's commit, so that no commit is lost. */
	advanceBranch(name: string, sha: string): Promise<ApiResult<object>>;
	/** Open ones between two branches of this repository. */
	openPulls(between: { head: string; base: string }): Promise<ApiResult<{ pulls: readonly HostedPull[] }>>;
	createPull(draft: PullDraft): Promise<ApiResult<{ pull: HostedPull }>>;
	updatePull(
		number: number,
		change: { title: string; body: string },
	): Promise<ApiResult<{ pull: HostedPull }>>;
}
