// Moves entries between a store on this machine and a folder for the cache service: only complete ones, and only those of this run.
import { createHash, randomBytes } from "node:crypto";
import { cp, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { entriesOf, isContent, isWhole, readManifest } from "./entries.ts";

const maxEntries = 1000;
const entryPattern = /^[\w-]{1,128}$/;
const filePattern = /^[\w-][\w.-]{0,127}$/;

/** Moves complete entries of a folder into the store, keeping existing ones. @returns stored names, and a count of unusable entries. */
export async function importEntries(
	folder: string,
	store: string,
): Promise<{ names: readonly string[]; refused: number }> {
	const names: string[] = [];
	const found = (await readdir(folder).catch(() => [])).slice(0, maxEntries);
	await mkdir(store, { recursive: true });
	for (const name of found) {
		const place = join(folder, name);
		if (!entryPattern.test(name) || !(await isComplete(place).catch(() => false))) continue;
		await moveIn(place, store, name);
		names.push(name);
	}
	return { names, refused: found.length - names.length };
}

/** Whether the manifest's files are regular, have its sizes and digests, and are the only ones. */
async function isComplete(place: string): Promise<boolean> {
	if (!(await lstat(place)).isDirectory()) return false;
	const { files } = await readManifest(place);
	const there = (await readdir(place)).filter(isContent);
	if (there.length !== files.size) return false;
	for (const [name, kept] of files)
		if (!filePattern.test(name) || !(await isWhole(join(place, name), kept))) return false;
	return true;
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

interface Selection {
	/** Takes entries that were used or created since then, by file times; others may belong to other repositories. */
	sinceMs: number;
	/** Takes these entries, which were restored from there. */
	names: readonly string[];
	maxBytes: number;
}

/**
 * Copies entries into an empty folder, the last used first, as long as there is room.
 * @returns `left`: entries without room. `digest`: the same for the same names and contents.
 */
export async function collectEntries(store: string, folder: string, { sinceMs, names, maxBytes }: Selection) {
	const taken: string[] = [];
	let bytes = 0;
	let left = 0;
	await mkdir(folder, { recursive: true });
	for (const { name, usedMs, bytes: size } of await entriesOf(store)) {
		if (!entryPattern.test(name) || (usedMs < sinceMs && !names.includes(name))) continue;
		const manifest = await readManifest(join(store, name)).catch(() => null);
		if (manifest === null) continue;
		const content = [...manifest.files].map(([file, { sha256 }]) => [file, sha256] as const).sort();
		if (left > 0 || bytes + size > maxBytes) left += 1;
		else {
			await cp(join(store, name), join(folder, name), { recursive: true, preserveTimestamps: true });
			bytes += size;
			taken.push(JSON.stringify([name, content]));
		}
	}
	const digest = createHash("sha256").update(taken.sort().join("\n")).digest("hex").slice(0, 32);
	return { digest, entries: taken.length, bytes, left };
}
