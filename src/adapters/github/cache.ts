// The cache of the repository, through the toolkit's own client: a folder under a key, found again by the key or its beginning.
import type { ApiResult } from "../../ports/code-host.ts";
import { attempt, unsupported, withTimeout } from "./service-faults.ts";

export interface RemoteCache {
	/** Fills the folder with the newest whose key begins with the first of these, else with the next; `key` is that of what was found. */
	restore(folder: string, wanted: readonly [string, ...string[]]): Promise<ApiResult<{ key: string | null }>>;
	/** saved: false where the service has this key already, or refused it and logged why. */
	save(folder: string, kept: { key: string; bytes: number }): Promise<ApiResult<{ saved: boolean }>>;
}

export interface CacheOptions {
	available: boolean;
	/** For the service to list what it has, or to accept an upload. */
	answerMs?: number;
}

/** The client tries five times, for some 30 seconds, where the service is at fault: a runner with a GPU waits for no cache that long. */
const usualAnswerMs = 10_000;
/** Two gigabytes at 10 MB a second. */
const downloadMs = 200_000;
const bytesPerMs = 10_000;

export function githubCache({ available, answerMs = usualAnswerMs }: CacheOptions): RemoteCache {
	const call = async <Value extends object>(
		what: string,
		work: () => Promise<Value>,
	): Promise<ApiResult<Value>> =>
		available ? attempt(what, work) : { state: "failed", fault: unsupported("caches") };
	return {
		restore: (folder, [first, ...others]) =>
			call(`restore of the cache ${first}`, async () => {
				const { restoreCache } = await import("@actions/cache");
				const found = await withTimeout(
					answerMs,
					restoreCache([folder], first, others, { lookupOnly: true }),
				);
				if (found === undefined) return { key: null };
				return { key: (await withTimeout(downloadMs, restoreCache([folder], found, []))) ?? null };
			}),
		save: (folder, { key, bytes }) =>
			call(`save of the cache ${key}`, async () => {
				const { saveCache } = await import("@actions/cache");
				return { saved: (await withTimeout(answerMs + bytes / bytesPerMs, saveCache([folder], key))) !== -1 };
			}),
	};
}
