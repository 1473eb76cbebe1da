// The state of the local GitHub: plain arrays and maps that a test may read and change.

export type Access = "read" | "write" | "none";
/** Scopes of a job's token, as `permissions:` of a workflow names them. */
export type Permissions = Readonly<Record<string, Access>>;

export interface SeenRequest {
	method: string;
	/** Path and query as they came, not decoded. */
	path: string;
	/** Parsed JSON; for a blob the number of its bytes. */
	body: unknown;
	headers: Readonly<Record<string, string>>;
	/** Status of the answer; 0 where the connection was cut before one. */
	status: number;
}

export interface Comment {
	id: number;
	/** Number of the issue or pull request. */
	issue: number;
	author: string;
	body: string;
}

export interface Annotation {
	path: string;
	start_line: number;
	end_line: number;
	annotation_level: string;
	title?: string;
	message: string;
}

export interface CheckRun {
	id: number;
	name: string;
	headSha: string;
	status: string;
	conclusion: string | null;
	title: string | null;
	summary: string | null;
	annotations: Annotation[];
	detailsUrl: string;
	externalId: string;
}

export interface Issue {
	id: number;
	number: number;
	title: string;
	body: string | null;
	author: string;
	state: string;
	labels: string[];
}

/** Numbered with the issues; its title, labels and state are those of the issue of the same number. */
export interface Pull {
	id: number;
	number: number;
	headRef: string;
	headSha: string;
	/** owner/name; another one than ours is a fork. */
	headRepository: string;
	baseRef: string;
	baseSha: string;
	mergeSha: string | null;
	isDraft: boolean;
}

export interface Run {
	id: number;
	attempt: number;
	event: string;
	headSha: string;
	headBranch: string | null;
	headRepository: string;
	status: string;
	conclusion: string | null;
	/** Path of the workflow file. */
	path: string;
	name: string;
	createdAt: string;
}

/** One execution of a job. */
export interface JobExecution {
	id: number;
	runId: number;
	attempt: number;
	name: string;
	runner: string;
	startedAt: string;
	/** null: it runs. */
	completedAt: string | null;
}

export interface Artifact {
	id: number;
	name: string;
	runId: number;
	attempt: number;
	/** Job that made it, as its token calls it. */
	jobBackendId: string;
	mimeType: string;
	/** Key in `blobs`. */
	blob: string;
	sizeBytes: number;
	digest: string | null;
	/** Only a finalised artifact is seen. */
	isFinal: boolean;
	createdAt: string;
	expiresAt: string;
}

export interface Cache {
	id: number;
	key: string;
	version: string;
	/** Ref that may write it, as `refs/heads/main`. */
	scope: string;
	blob: string;
	isFinal: boolean;
}

export interface Blob {
	content: Buffer;
	contentType: string;
	disposition: string | null;
	isComplete: boolean;
	blocks: Map<string, Buffer>;
}

export interface LocalGitHubState {
	defaultBranch: string;
	comments: Comment[];
	checkRuns: CheckRun[];
	issues: Issue[];
	pulls: Pull[];
	runs: Run[];
	jobs: JobExecution[];
	artifacts: Artifact[];
	caches: Cache[];
	blobs: Map<string, Blob>;
	/** In order of arrival. */
	requests: SeenRequest[];
	/** Requests that the real service would not know or would refuse as malformed. A test demands that it is empty. */
	violations: string[];
	/** Requests an hour that a job's token has; GitHub's own figure for GITHUB_TOKEN. */
	rateLimit: { limit: number; used: number };
}

export function createState(): LocalGitHubState {
	return {
		defaultBranch: "main",
		...{ comments: [], checkRuns: [], issues: [], pulls: [], runs: [], jobs: [], artifacts: [], caches: [] },
		blobs: new Map(),
		...{ requests: [], violations: [] },
		rateLimit: { limit: 1000, used: 0 },
	};
}
