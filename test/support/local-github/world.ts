import type { GitStore } from "./git.ts";
import type { LocalGitHubState, Permissions } from "./state.ts";

/** Right of a job in the cache: the first scope is its own, all are read in order. */
export interface CacheScope {
	scope: string;
	canWrite: boolean;
}

export interface JobRights {
	runId: number;
	attempt: number;
	runBackendId: string;
	jobBackendId: string;
	cacheScopes: readonly CacheScope[];
}

export interface World {
	url: string;
	repository: string;
	owner: string;
	name: string;
	state: LocalGitHubState;
	tokens: Map<string, { permissions: Permissions; login: string }>;
	/** By runtime token. */
	jobs: Map<string, JobRights>;
	blobSignature: string;
	git(): Promise<GitStore>;
	nextId(): number;
	now(): string;
}
