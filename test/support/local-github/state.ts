export type Access = "read" | "write" | "none";
export type Permissions = Readonly<Record<string, Access>>;

export interface SeenRequest {
	method: string;
	path: string;
	/** For a blob the number of its bytes. */
	body: unknown;
	headers: Readonly<Record<string, string>>;
	/** Status of the answer; 0 where the connection was cut before one. */
	status: number;
}

export interface Comment {
	id: number;
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
	path: string;
	name: string;
	createdAt: string;
}

export interface JobExecution {
	id: number;
	runId: number;
	attempt: number;
	name: string;
	runner: string;
	startedAt: string;
	completedAt: string | null;
}

export interface Artifact {
	id: number;
	name: string;
	runId: number;
	attempt: number;
	jobBackendId: string;
	mimeType: string;
	blob: string;
	sizeBytes: number;
	digest: string | null;
	isFinal: boolean;
	createdAt: string;
	expiresAt: string;
}

export interface Cache {
	id: number;
	key: string;
	version: string;
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
	requests: SeenRequest[];
	/** Requests that the real service would not know or would refuse as malformed. */
	violations: string[];
	/** An hour; GitHub's own figure for GITHUB_TOKEN. */
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
