// Entries of the local cache: files with a manifest, each written completely or not at all.
import { randomBytes } from "node:crypto";
import { copyFile, lstat, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fieldsOf, isObject } from "../../core/found.ts";
import type { FileCache } from "../../ports/world.ts";
import { digestFile } from "../process/input-file.ts";
import { makeFolders } from "../process/write-error.ts";

export interface KeptFile {
	bytes: number;
	sha256: string;
}

const manifestName = "entry.json";
const maxManifestBytes = 1024 * 1024;

export function isContent(name: string): boolean {
	return name !== manifestName;
}

/** @throws Error if the manifest is missing or not trtgate's. */
export async function readManifest(place: string): Promise<{ files: Map<string, KeptFile>; facts: unknown }> {
	const path = join(place, manifestName);
	const found = await lstat(path);
	if (!found.isFile() || found.size > maxManifestBytes) throw new Error("not a manifest of trtgate");
	const value: unknown = JSON.parse(await readFile(path, "utf8"));
	const { version, files, facts } = fieldsOf(value);
	if (version !== 1 || !isObject(files)) throw new Error("not a manifest of trtgate");
	const kept = new Map<string, KeptFile>();
	for (const [name, file] of Object.entries(files)) {
		const { bytes, sha256 } = fieldsOf(file);
		if (typeof bytes === "number" && typeof sha256 === "string") kept.set(name, { bytes, sha256 });
	}
	return { files: kept, facts };
}

/** Deletes incomplete entries of a killed run. */
const abandonedMs = 60 * 60_000;

/** `folder` is absolute and shared by concurrent runs. */
export function entryStore({ folder, maxBytes }: { folder: string; maxBytes: number }): FileCache {
	return {
		async list(prefix) {
			const found = await entriesOf(folder);
			return found.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => name);
		},
		async fetch(name, targets) {
			const place = join(folder, name);
			try {
				return await copyOut(place, targets);
			} catch {
				await rm(place, { recursive: true, force: true }).catch(() => {});
				return null;
			}
		},
		async keep(name, entry) {
			const aside = join(folder, `.${randomBytes(6).toString("hex")}`);
			try {
				await copyIn(aside, entry);
				await replace(aside, join(folder, name));
				await prune(folder, maxBytes);
				return null;
			} catch (error) {
				return error instanceof Error ? error.message : String(error);
			} finally {
				await rm(aside, { recursive: true, force: true }).catch(() => {});
			}
		},
	};
}

/** @throws if the entry is incomplete. */
async function copyOut(place: string, targets: Readonly<Record<string, string>>): Promise<unknown> {
	if ((await stat(join(place, manifestName)).catch(() => null)) === null) return null;
	const { files, facts } = await readManifest(place);
	const suffix = randomBytes(4).toString("hex");
	const partOf = (target: string): string => `${target}.${suffix}`;
	try {
		for (const [name, target] of Object.entries(targets))
			await copyWhole(join(place, name), partOf(target), files.get(name));
		for (const target of Object.values(targets)) await rename(partOf(target), target);
	} finally {
		for (const target of Object.values(targets)) await rm(partOf(target), { force: true });
	}
	const now = new Date();
	await utimes(join(place, manifestName), now, now).catch(() => {});
	return facts;
}

export async function isWhole(path: string, { bytes, sha256 }: KeptFile): Promise<boolean> {
	const found = await lstat(path);
	return found.isFile() && found.size === bytes && (await digestFile(path)) === sha256;
}

async function copyWhole(source: string, target: string, kept: KeptFile | undefined): Promise<void> {
	if (kept === undefined || !(await lstat(source)).isFile()) throw new Error("not whole");
	await copyFile(source, target);
	if (!(await isWhole(target, kept))) throw new Error("damaged");
}

async function copyIn(
	aside: string,
	{ files, facts }: { files: Readonly<Record<string, string>>; facts: unknown },
): Promise<void> {
	await makeFolders(aside);
	const kept: [string, KeptFile][] = [];
	for (const [name, source] of Object.entries(files)) {
		const copy = join(aside, name);
		await copyFile(source, copy);
		kept.push([name, { bytes: (await stat(copy)).size, sha256: await digestFile(copy) }]);
	}
	const manifest = JSON.stringify({ version: 1, files: Object.fromEntries(kept), facts });
	await writeFile(join(aside, manifestName), manifest);
}

/** A folder cannot be renamed onto a non-empty one, so the old one is removed first. */
async function replace(aside: string, place: string): Promise<void> {
	try {
		await rename(aside, place);
	} catch {
		await rm(place, { recursive: true, force: true });
		await rename(aside, place);
	}
}

interface StoredEntry {
	name: string;
	usedMs: number;
	bytes: number;
}

/** Sorted by last use, newest first. */
export async function entriesOf(folder: string): Promise<StoredEntry[]> {
	const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith("."));
	const found = await Promise.all(names.map((name) => measure(folder, name)));
	return found.flat().sort((left, right) => right.usedMs - left.usedMs);
}

async function measure(folder: string, name: string): Promise<StoredEntry[]> {
	try {
		const place = join(folder, name);
		let bytes = 0;
		for (const file of await readdir(place)) bytes += (await lstat(join(place, file))).size;
		const { mtimeMs } = await stat(join(place, manifestName)).catch(() => stat(place));
		return [{ name, usedMs: mtimeMs, bytes }];
	} catch {
		return [];
	}
}

async function prune(folder: string, maxBytes: number): Promise<void> {
	let sum = 0;
	for (const { name, bytes } of await entriesOf(folder)) {
		sum += bytes;
		if (sum > maxBytes) await rm(join(folder, name), { recursive: true, force: true });
	}
	for (const name of (await readdir(folder)).filter((one) => one.startsWith("."))) {
		const left = await stat(join(folder, name)).catch(() => null);
		if (left !== null && Date.now() - left.mtimeMs > abandonedMs)
			await rm(join(folder, name), { recursive: true, force: true });
	}
}
