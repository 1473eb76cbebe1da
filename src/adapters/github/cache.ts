// The cache of the repository, through the toolkit's own client: a folder under a key, found again by the key or its beginning.
import type { Forged } from "../../ports/forge.ts";
import { serviceFault, unsupported } from "./service-faults.ts";
import { within } from "./within.ts";

export interface RemoteCache {
	/** Fills the folder; `key` is that of what was found, or null. */
	restore(folder: string, wanted: { key: string; prefix: string }): Promise<Forged<{ key: string | null }>>;
	/** saved: false where the service has this key already, or did not take it and said why in the log. */
	save(folder: string, key: string): Promise<Forged<{ saved: boolean }>>;
}

export interface CacheOptions {
	available: boolean;
	limitMs?: number;
}

/** Two gigabytes at 10 MB a second. */
const usualLimitMs = 200_000;

export function githubCache({ available, limitMs = usualLimitMs }: CacheOptions): RemoteCache {
	const attempt = async <Value extends object>(what: string, work: () => Promise<Value>): Promise<Forged<Value>> => {
		if (!available) return { state: "failed", fault: unsupported("caches") };
		try {
			return { state: "done", ...(await within(limitMs, work())) };
		} catch (error) {
			return { state: "failed", fault: serviceFault(error, what) };
		}
	};
	return {
		restore: (folder, { key, prefix }) =>
			attempt(`restore of the cache ${prefix}`, async () => {
				const { restoreCache } = await import("@actions/cache");
				return { key: (await restoreCache([folder], key, [prefix])) ?? null };
			}),
		save: (folder, key) =>
			attempt(`save of the cache ${key}`, async () => {
				const { saveCache } = await import("@actions/cache");
				return { saved: (await saveCache([folder], key)) !== -1 };
			}),
	};
}
