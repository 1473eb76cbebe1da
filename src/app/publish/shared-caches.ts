// Restores kernel timings and engines from the repository's cache on a machine without its own, and saves new ones.
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Arm } from "../../../generated/result.ts";
import { collectEntries, importEntries } from "../../adapters/cache/transfer.ts";
import type { RemoteCache } from "../../adapters/github/cache.ts";
import { formatBytes } from "../../core/text/units.ts";
import { type CacheKind, cachePrefix } from "../../formats/github/cache.ts";
import type { PreparedModel } from "../../stages/prepared.ts";
import type { Published } from "../../stages/publish/plan.ts";
import type { PreparedRun } from "../run-context.ts";

export interface SharedCacheOptions {
	remote: RemoteCache;
	/** Folder of the stores on this machine. */
	cacheFolder: string;
	/** Folder for transfers; its path is part of the key by which the service finds entries. */
	temp: string;
	/** Why nothing may be saved; null where it may. */
	refusal: string | null;
	/** Also where this machine keeps a store of its own. */
	always: boolean;
	/** Time of day when the run began, milliseconds. */
	startedMs: number;
	/** Absent: kernel timings and engines. pin: the engines of the pinned base alone, under a key of their own. */
	of?: "pin";
}

export interface SharedCaches {
	/** Restores what was built from the head's models and flags, else the base's, else the newest of this kind of machine. */
	restore(known: PreparedRun): Promise<void>;
	/** @param pinned SHA-256 of the base's engines, which are all that is saved of a pin. */
	save(pinned: ReadonlySet<string>): Promise<void>;
	/** What was restored and saved so far. */
	published(): readonly Published[];
}

export const maxPinBytes = 512 * 1024 ** 2;

const kinds: readonly { kind: Exclude<CacheKind, "pin">; store: string; maxBytes: number }[] = [
	// Some hundred kilobytes an engine.
	{ kind: "timing", store: "timing-caches", maxBytes: 256 * 1024 ** 2 },
	// A repository has 10 GB in all by default.
	{ kind: "engines", store: "engines", maxBytes: 2 * 1024 ** 3 },
];

/** Prefixes of keys, and the folders of the entries. */
interface CacheLocation {
	/** For anything saved by this kind of machine. */
	prefix: string;
	/** Of what was built from this head; goes on with the digest of what is kept, since a key cannot be written twice. */
	head: string;
	/** Of what was built when this base was the head. */
	base: string | null;
	store: string;
	folder: string;
	maxBytes: number;
}

interface Restored {
	status: Published;
	/** Entries that came from the repository's cache. */
	names: readonly string[];
	/** Key that they came from. */
	key: string | null;
}

type Opened = CacheLocation & Omit<Restored, "status">;

/** File systems may count in whole seconds. */
const clockSlackMs = 2000;

export function sharedCaches(options: SharedCacheOptions): SharedCaches {
	const opened: Opened[] = [];
	const published: Published[] = [];
	return {
		published: () => published,
		async restore(known) {
			for (const location of locationsOf(known, options)) {
				const found = await restoreOne(location, options).catch((fault) => ({
					status: unusable(fault),
					names: [],
					key: null,
				}));
				// What a machine of its own has may still be lost with it.
				if (found === null && options.of === "pin") opened.push({ ...location, names: [], key: null });
				if (found === null) continue;
				published.push(found.status);
				// A service that cannot be read now cannot be read again or written to.
				if (found.status.state === "failed") break;
				opened.push({ ...location, ...found });
			}
		},
		async save(pinned) {
			for (const one of opened) {
				const status = await saveOne(one, options, pinned).catch(unusable);
				published.push(status);
				if (status.state === "failed") break;
			}
		},
	};
}

/** None where the machine is not known well enough. */
function locationsOf(
	{ config, fingerprint, models }: PreparedRun,
	{ cacheFolder, temp, of }: SharedCacheOptions,
): CacheLocation[] {
	const [head, base] = [recipeDigest(models, "head"), recipeDigest(models, "base")];
	if (of === "pin") {
		const prefix = cachePrefix("pin", fingerprint);
		if (prefix === null || base === null || config.baseline.from !== "pin" || !config.cache.engines)
			return [];
		const own = { prefix: `${prefix}${base}`, head: `${prefix}${base}`, base: null, maxBytes: maxPinBytes };
		return [{ ...own, store: join(cacheFolder, "engines"), folder: join(temp, "trtgate-cache", "pin") }];
	}
	return kinds.flatMap(({ kind, store, maxBytes }) => {
		const prefix = config.cache[kind] ? cachePrefix(kind, fingerprint) : null;
		if (prefix === null || head === null) return [];
		const keys = { prefix, head: `${prefix}${head}-`, base: base === null ? null : `${prefix}${base}-` };
		return [
			{ ...keys, maxBytes, store: join(cacheFolder, store), folder: join(temp, "trtgate-cache", kind) },
		];
	});
}

/** A full disk must not end the run. */
function unusable(fault: unknown): Published {
	return {
		what: "cache",
		state: "skipped",
		why: `its files cannot be used here: ${fault instanceof Error ? fault.message : String(fault)}`,
	};
}

/** null where the machine has a store of its own. */
async function restoreOne(location: CacheLocation, options: SharedCacheOptions): Promise<Restored | null> {
	const own = await collectEntries(location.store, `${location.folder}-own`, {
		sinceMs: 0,
		names: [],
		maxBytes: 0,
	});
	await rm(`${location.folder}-own`, { recursive: true, force: true });
	if (own.left > 0 && !options.always) return null;
	await rm(location.folder, { recursive: true, force: true });
	const restored = await options.remote.restore(location.folder, [
		location.head,
		...(location.base === null ? [] : [location.base]),
		location.prefix,
	]);
	if (restored.state === "failed") return { status: { what: "cache", ...restored }, names: [], key: null };
	if (restored.key === null)
		return {
			status: { what: "cache", state: "skipped", why: `nothing is stored under ${location.prefix} yet` },
			names: [],
			key: null,
		};
	const { names, refused } = await importEntries(location.folder, location.store);
	await rm(location.folder, { recursive: true, force: true });
	const damaged = refused === 0 ? "" : `; ${refused} were damaged and are not used`;
	return {
		status: {
			what: "cache",
			state: "done",
			note: `restored ${names.length} entries of ${restored.key}, ${originOf(restored.key, location)}${damaged}`,
		},
		names,
		key: restored.key,
	};
}

function originOf(key: string, { head, base }: CacheLocation): string {
	if (key === head) return "of the pin";
	if (key.startsWith(head)) return "built from the head's models and flags";
	return base !== null && key.startsWith(base)
		? "built from the base's models and flags"
		: "the newest of this kind of machine";
}

async function saveOne(
	one: Opened,
	options: SharedCacheOptions,
	pinned: ReadonlySet<string>,
): Promise<Published> {
	const what = "cache";
	if (options.refusal !== null)
		return { what, state: "skipped", why: `${one.prefix} is not saved: ${options.refusal}` };
	await rm(one.folder, { recursive: true, force: true });
	const { maxBytes, names } = one;
	const holding = options.of === "pin" ? { holding: pinned } : {};
	const selection = { sinceMs: options.startedMs - clockSlackMs, names, maxBytes, ...holding };
	const collected = await collectEntries(one.store, one.folder, selection);
	const key = options.of === "pin" ? one.head : `${one.head}${collected.digest}`;
	try {
		if (collected.entries === 0 && collected.left > 0)
			return {
				what,
				state: "skipped",
				why: `${key} is not saved: its engines are larger than ${formatBytes(maxBytes)}`,
			};
		if (collected.entries === 0 || one.key?.endsWith(`-${collected.digest}`))
			return { what, state: "skipped", why: `${one.prefix} holds nothing new` };
		const saved = await options.remote.save(one.folder, { key, bytes: collected.bytes });
		if (saved.state === "failed") return { what, ...saved };
		if (!saved.saved)
			return {
				what,
				state: "skipped",
				why: `${key} was not saved: it exists already, or the log above shows why`,
			};
		const left = collected.left === 0 ? "" : `; ${collected.left} older ones did not fit`;
		return {
			what,
			state: "done",
			note: `saved ${collected.entries} entries, ${formatBytes(collected.bytes)}, as ${key}${left}`,
		};
	} finally {
		await rm(one.folder, { recursive: true, force: true });
	}
}

const digestChars = 16;

/** null where the side has no model. Machine and TensorRT are not part of it: they precede it in the key. */
export function recipeDigest(models: readonly PreparedModel[], arm: Arm): string | null {
	const recipes = models.filter((prepared) => prepared.arm === arm).flatMap(recipeOf);
	if (recipes.length === 0) return null;
	return createHash("sha256").update(recipes.sort().join("\n")).digest("hex").slice(0, digestChars);
}

/** Files by their digests, wherever they lie. */
function recipeOf(prepared: PreparedModel): string[] {
	if (prepared.state !== "ready") return [];
	const { spec, model, assets } = prepared;
	const { precision, profiles, tensorrt } = spec.engine;
	const { workspaceBytes, optimizationLevel, dla, flags } = tensorrt;
	const plugins = assets?.plugins.map(({ sha256, dynamic }) => ({ sha256, dynamic }));
	const files = { model: model.sha256, plugins, calibration: assets?.calibration?.sha256 };
	return [
		JSON.stringify([
			spec.id,
			files,
			spec.model.inputs,
			precision,
			profiles,
			{ workspaceBytes, optimizationLevel, dla, flags },
		]),
	];
}
