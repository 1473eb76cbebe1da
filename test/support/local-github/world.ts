// Shared by every handler of the local GitHub: the state, the names, the clock, the counters and the keys.

import type { GitStore } from "./git.ts";
import type { LocalGitHubState, Permissions } from "./state.ts";

/** Right of a job in the cache: the first scope is its own, all are read in order. */
export interface CacheScope {
	scope: string;
	canWrite: boolean;
}

/** The job that a runtime token stands for. */
export interface JobRights {
	runId: number;
	attempt: number;
	runBackendId: string;
	jobBackendId: string;
	cacheScopes: readonly CacheScope[];
}

export interface World {
	url: string;
	/** owner/name. */
	repository: string;
	owner: string;
	name: string;
	state: LocalGitHubState;
	/** Tokens of REST: what each may do. */
	tokens: Map<string, { permissions: Permissions; login: string }>;
	/** Tokens of the artifact and cache services. */
	jobs: Map<string, JobRights>;
	/** Signature that a blob's address must carry. */
	blobSignature: string;
	git(): Promise<GitStore>;
	nextId(): number;
	now(): string;
}
