// Moves entries between a store on this machine and a folder for the cache service: only complete ones, and only those of this run.
import { createHash, randomBytes } from "node:crypto";
import { cp, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { digestOf, entriesOf, isContent, type KeptFile, readManifest, type StoredEntry } from "./entries.ts";

const maxEntries = 1000;
const entryPattern = /^[\w-]{1,128}$/;
const filePattern = /^[\w-][\w.-]{0,127}$/;

export interface ImportedEntry {
	/** Entries of the folder that are in the store now, including earlier ones. */
	names: readonly string[];
	/** Entries that are incomplete, or not of trtgate. */
	refused: number;
}

/** Moves every complete entry of a folder into the store; existing entries are kept. */
export async function importEntries(folder: string, store: string): Promise<ImportedEntry> {
	const names: string[] = [];
	let refused = 0;
	const found = (await readdir(folder).catch(() => [])).slice(0, maxEntries);
	await mkdir(store, { recursive: true });
	for (const name of found) {
		const place = join(folder, name);
		if (!entryPattern.test(name) || (await readWhole(place)) === null) refused += 1;
		else {
			await moveIn(place, store, name);
			names.push(name);
		}
	}
	return { names, refused };
}

/** The manifest's files, if each is a regular file of its size and digest, and there are no others. */
async function readWhole(place: string): Promise<ReadonlyMap<string, KeptFile> | null> {
	try {
		if (!(await lstat(place)).isDirectory()) return null;
		const { files } = await readManifest(place);
		const there = (await readdir(place)).filter(isContent);
		if (there.length !== files.size) return null;
		for (const [name, kept] of files) if (!(await isWhole(place, name, kept))) return null;
		return files;
	} catch {
		return null;
	}
}

async function isWhole(place: string, name: string, kept: KeptFile): Promise<boolean> {
	if (!filePattern.test(name)) return false;
	const path = join(place, name);
	const found = await lstat(path);
	return found.isFile() && found.size === kept.bytes && (await digestOf(path)) === kept.sha256;
}

async function moveIn(place: string, store: string, name: string): Promise<void> {
	const target = join(store, name);
	if ((await stat(target).catch(() => null)) !== null) return;
	const aside = join(store, `.${randomBytes(6).toString("hex")}`);
	try {
		await cp(place, aside, { recursive: true, preserveTimestamps: true });
		await rename(aside, target);
	} finally {
		await rm(aside, { recursive: true, force: true });
	}
}

export interface Collected {
	/** Of the names and contents: the same entries, the same digest. */
	digest: string;
	entries: number;
	bytes: number;
	/** Entries for which there was no room. */
	left: number;
}

export interface Selection {
	/** Entries that were used or created since then, by file times; others may belong to other repositories. */
	sinceMs: number;
	/** Entries that were restored from there. */
	names: readonly string[];
	/** Only entries with one of these files, by SHA-256. */
	holding?: ReadonlySet<string>;
	maxBytes: number;
}

/** Copies entries into an empty folder, the last used first, as long as there is room. */
export async function collectEntries(
	store: string,
	folder: string,
	selection: Selection,
): Promise<Collected> {
	const { sinceMs, names, holding } = selection;
	const wanted = (await usedEntries(store)).filter(
		({ name, usedMs, content }) =>
			(usedMs >= sinceMs || names.includes(name)) &&
			(holding === undefined || content.some(([, sha256]) => holding.has(sha256))),
	);
	const taken: string[] = [];
	let bytes = 0;
	await mkdir(folder, { recursive: true });
	for (const entry of wanted) {
		if (bytes + entry.bytes > selection.maxBytes) break;
		await cp(join(store, entry.name), join(folder, entry.name), {
			recursive: true,
			preserveTimestamps: true,
		});
		bytes += entry.bytes;
		taken.push(JSON.stringify([entry.name, entry.content]));
	}
	const digest = createHash("sha256").update(taken.sort().join("\n")).digest("hex").slice(0, 32);
	return { digest, entries: taken.length, bytes, left: wanted.length - taken.length };
}

interface Used extends StoredEntry {
	content: readonly [string, string][];
}

async function usedEntries(store: string): Promise<Used[]> {
	const used: Used[] = [];
	for (const entry of await entriesOf(store)) {
		const manifest = entryPattern.test(entry.name)
			? await readManifest(join(store, entry.name)).catch(() => null)
			: null;
		const content = [...(manifest?.files ?? [])]
			.map(([file, { sha256 }]): [string, string] => [file, sha256])
			.sort();
		if (manifest !== null) used.push({ ...entry, content });
	}
	return used;
}
