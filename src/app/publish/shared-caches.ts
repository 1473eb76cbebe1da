// Brings kernel timings and engines from the repository's cache to a machine that has none of its own, and what is new back.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { adoptEntries, collectEntries } from "../../adapters/cache/transfer.ts";
import type { RemoteCache } from "../../adapters/github/cache.ts";
import type { Config } from "../../core/config/config.ts";
import { formatBytes } from "../../core/units.ts";
import { type CacheKind, cachePrefix } from "../../formats/github/cache-key.ts";
import type { Published } from "../../stages/publish/plan.ts";

export interface SharedCacheOptions {
	remote: RemoteCache;
	/** Folder of the stores on this machine. */
	cacheFolder: string;
	/** Folder for what travels; its path is part of what the service finds entries by. */
	temp: string;
	/** Why nothing may be saved; null where it may. */
	refusal: string | null;
	/** Also where this machine keeps a store of its own. */
	always: boolean;
	/** Time of day when the run began, milliseconds. */
	startedMs: number;
}

export interface SharedCaches {
	restore(known: { config: Pick<Config, "cache">; fingerprint: Readonly<Record<string, string>> }): Promise<void>;
	save(): Promise<void>;
	/** What became of it so far. */
	published(): readonly Published[];
}

const kinds: readonly { kind: CacheKind; store: string; maxBytes: number }[] = [
	// Some hundred kilobytes an engine.
	{ kind: "timing", store: "timing-caches", maxBytes: 256 * 1024 ** 2 },
	// A repository has 10 GB in all by default.
	{ kind: "engines", store: "engines", maxBytes: 2 * 1024 ** 3 },
];

interface Opened {
	prefix: string;
	store: string;
	folder: string;
	maxBytes: number;
	/** Entries that came from the repository's cache. */
	names: readonly string[];
	/** Key that they came from. */
	key: string | null;
}

/** File systems may count in whole seconds. */
const clockSlackMs = 2000;

export function sharedCaches(options: SharedCacheOptions): SharedCaches {
	const opened: Opened[] = [];
	const published: Published[] = [];
	return {
		published: () => published,
		async restore({ config, fingerprint }) {
			for (const { kind, store, maxBytes } of kinds) {
				const prefix = config.cache[kind] ? cachePrefix(kind, fingerprint) : null;
				if (prefix === null) continue;
				const place = { prefix, maxBytes, store: join(options.cacheFolder, store), folder: join(options.temp, "trtgate-cache", kind) };
				const found = await restoreOne(place, options);
				if (found === null) continue;
				published.push(found.said);
				// A service that is not there to read from is not there to read more from, or to write to.
				if (found.said.state === "failed") break;
				opened.push({ ...place, ...found });
			}
		},
		async save() {
			for (const one of opened) {
				const said = await saveOne(one, options);
				published.push(said);
				if (said.state === "failed") break;
			}
		},
	};
}

type Place = Omit<Opened, "names" | "key">;

async function restoreOne(
	place: Place,
	options: SharedCacheOptions,
): Promise<{ said: Published; names: readonly string[]; key: string | null } | null> {
	const own = await collectEntries(place.store, `${place.folder}-own`, { sinceMs: 0, names: [], maxBytes: 0 });
	await rm(`${place.folder}-own`, { recursive: true, force: true });
	if (own.left > 0 && !options.always) return null;
	await rm(place.folder, { recursive: true, force: true });
	// Keys end in the digest of what they hold, which nobody knows beforehand: the newest of this machine's is wanted.
	const restored = await options.remote.restore(place.folder, { key: `${place.prefix}newest`, prefix: place.prefix });
	if (restored.state === "failed") return { said: { what: "cache", ...restored }, names: [], key: null };
	if (restored.key === null)
		return { said: { what: "cache", state: "skipped", why: `nothing is kept under ${place.prefix} yet` }, names: [], key: null };
	const { names, refused } = await adoptEntries(place.folder, place.store);
	await rm(place.folder, { recursive: true, force: true });
	const damaged = refused === 0 ? "" : `; ${refused} were not whole and are not used`;
	return {
		said: { what: "cache", state: "done", note: `restored ${names.length} entries of ${restored.key}${damaged}` },
		names,
		key: restored.key,
	};
}

async function saveOne(one: Opened, options: SharedCacheOptions): Promise<Published> {
	const what = "cache";
	if (options.refusal !== null) return { what, state: "skipped", why: `${one.prefix} is not saved: ${options.refusal}` };
	await rm(one.folder, { recursive: true, force: true });
	const { maxBytes, names } = one;
	const collected = await collectEntries(one.store, one.folder, { sinceMs: options.startedMs - clockSlackMs, names, maxBytes });
	const key = `${one.prefix}${collected.digest}`;
	try {
		if (collected.entries === 0 || key === one.key) return { what, state: "skipped", why: `${one.prefix} holds nothing new` };
		const saved = await options.remote.save(one.folder, { key, bytes: collected.bytes });
		if (saved.state === "failed") return { what, ...saved };
		if (!saved.saved) return { what, state: "skipped", why: `${key} was not taken: it is there already, or the service says above why` };
		const left = collected.left === 0 ? "" : `; ${collected.left} older ones found no room`;
		return { what, state: "done", note: `saved ${collected.entries} entries, ${formatBytes(collected.bytes)}, as ${key}${left}` };
	} finally {
		await rm(one.folder, { recursive: true, force: true });
	}
}
