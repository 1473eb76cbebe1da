// Restores engines and kernel timings from the repository's cache, and saves new ones.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Arm } from "../../../../generated/result.ts";
import { collectEntries, entriesOf, importEntries } from "../../../adapters/cache/entries.ts";
import { digestOf } from "../../../adapters/process/input-file.ts";
import { messageOf } from "../../../adapters/process/spawn.ts";
import type { PreparedRun } from "../../../app/run-context.ts";
import { counted } from "../../../core/text/labels.ts";
import { formatBytes } from "../../../core/text/units.ts";
import type { RemoteCache } from "../../../ports/code-host.ts";
import type { PreparedModel } from "../../../stages/prepared.ts";
import { type CacheKind, cachePrefix } from "../../formats/github/event.ts";
import type { Published } from "../../stages/publish/check-run.ts";

export interface SharedCacheOptions {
	remote: RemoteCache;
	cacheFolder: string;
	temp: string;
	/** Why nothing may be saved; null if it may. */
	refusal: string | null;
	always: boolean;
	startedMs: number;
}

export type SharedCaches = ReturnType<typeof sharedCaches>;

const kinds: readonly { kind: CacheKind; store: string; maxBytes: number }[] = [
	{ kind: "timing", store: "timing-caches", maxBytes: 256 * 1024 ** 2 },
	// A repository has 10 GB in all by default.
	{ kind: "engines", store: "engines", maxBytes: 2 * 1024 ** 3 },
];

interface Shared {
	prefix: string;
	/** Of this head's builds; a digest follows, since a key cannot be written twice. */
	head: string;
	base: string | null;
	store: string;
	folder: string;
	maxBytes: number;
	names: readonly string[];
	key: string | null;
}

const clockSlackMs = 2000;

export function sharedCaches(options: SharedCacheOptions) {
	const opened: Shared[] = [];
	const published: Published[] = [];
	/** @returns false after a failure: the service is not asked again. */
	const attempt = async (work: () => Promise<Published>) => {
		// A full disk must not end the run.
		const status = await work().catch((fault: unknown) =>
			skipped(`its files cannot be used here: ${messageOf(fault)}`),
		);
		published.push(status);
		return status.state !== "failed";
	};
	return {
		published: () => published,
		/** The head's builds, else the base's, else the newest of this kind of machine. */
		async restore(known: PreparedRun): Promise<void> {
			for (const shared of locationsOf(known, options)) {
				if (!options.always && (await entriesOf(shared.store)).length > 0) continue;
				if (!(await attempt(() => restoreOne(shared, options.remote)))) break;
				opened.push(shared);
			}
		},
		async save(): Promise<void> {
			for (const shared of opened) if (!(await attempt(() => saveOne(shared, options)))) break;
		},
	};
}

function skipped(why: string): Published {
	return { what: "cache", state: "skipped", why };
}

function locationsOf(
	{ config, fingerprint, models }: PreparedRun,
	{ cacheFolder, temp }: SharedCacheOptions,
) {
	const head = recipeDigest(models, "head");
	const base = recipeDigest(models, "base");
	return kinds.flatMap(({ kind, store, maxBytes }) => {
		const prefix = config.cache[kind] ? cachePrefix(kind, fingerprint) : null;
		if (prefix === null || head === null) return [];
		const keys = { prefix, head: `${prefix}${head}-`, base: base === null ? null : `${prefix}${base}-` };
		const folders = { store: join(cacheFolder, store), folder: join(temp, "trtgate-cache", kind) };
		return [{ ...keys, ...folders, maxBytes, names: [], key: null }];
	});
}

async function restoreOne(shared: Shared, remote: RemoteCache): Promise<Published> {
	const { folder, store, head, base, prefix } = shared;
	await rm(folder, { recursive: true, force: true });
	const restored = await remote.restore(folder, [head, ...(base === null ? [] : [base]), prefix]);
	if (restored.state === "failed") return { what: "cache", ...restored };
	const { key } = restored;
	if (key === null) return skipped(`nothing is stored under ${prefix} yet`);
	const { names, refused } = await importEntries(folder, store);
	await rm(folder, { recursive: true, force: true });
	Object.assign(shared, { names, key });
	const damaged = refused === 0 ? "" : `; ${refused} were damaged and are not used`;
	const note = `restored ${counted(names.length, "entry", "entries")} of ${key}, ${originOf(key, shared)}${damaged}`;
	return { what: "cache", state: "done", note };
}

function originOf(key: string, { head, base }: Shared) {
	if (key.startsWith(head)) return "built from the head's models and flags";
	return base !== null && key.startsWith(base)
		? "built from the base's models and flags"
		: "the newest of this kind of machine";
}

async function saveOne(
	shared: Shared,
	{ refusal, startedMs, remote }: SharedCacheOptions,
): Promise<Published> {
	const { prefix, folder, maxBytes, names, store, head } = shared;
	if (refusal !== null) return skipped(`${prefix} is not saved: ${refusal}`);
	try {
		await rm(folder, { recursive: true, force: true });
		const selection = { sinceMs: startedMs - clockSlackMs, names, maxBytes };
		const { entries, left, digest, bytes } = await collectEntries(store, folder, selection);
		const key = `${head}${digest}`;
		if (entries === 0 && left > 0)
			return skipped(`${key} is not saved: its engines are larger than ${formatBytes(maxBytes)}`);
		if (entries === 0 || shared.key?.endsWith(`-${digest}`)) return skipped(`${prefix} holds nothing new`);
		const saved = await remote.save(folder, { key, bytes });
		if (saved.state === "failed") return { what: "cache", ...saved };
		if (!saved.saved) return skipped(`${key} was not saved: it exists already, or the log above shows why`);
		const missing = left === 0 ? "" : `; ${left} older ones did not fit`;
		const note = `saved ${entries} entries, ${formatBytes(bytes)}, as ${key}${missing}`;
		return { what: "cache", state: "done", note };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

const digestChars = 16;

/** null if the side has no model. */
export function recipeDigest(models: readonly PreparedModel[], arm: Arm): string | null {
	const recipes = models.flatMap((prepared) => {
		if (prepared.arm !== arm || prepared.state !== "ready") return [];
		const { spec, model, assets } = prepared;
		const { precision, profiles, tensorrt } = spec.engine;
		const { workspaceBytes, optimizationLevel, dla, flags } = tensorrt;
		const plugins = assets?.plugins.map(({ sha256, dynamic }) => ({ sha256, dynamic }));
		const files = { model: model.sha256, plugins, calibration: assets?.calibration?.sha256 };
		const settings = { workspaceBytes, optimizationLevel, dla, flags };
		return JSON.stringify([spec.id, files, spec.model.inputs, precision, profiles, settings]);
	});
	if (recipes.length === 0) return null;
	return digestOf(recipes.sort().join("\n")).slice(0, digestChars);
}
