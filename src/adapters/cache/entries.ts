// Entries of the local cache, each complete or absent, also on their way to and from the cache service.

import { randomBytes } from "node:crypto";
import {
	copyFile,
	cp,
	lstat,
	mkdir,
	readdir,
	readFile,
	rename,
	rm,
	stat,
	utimes,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { fieldsOf, isObject } from "../../core/found.ts";
import type { FileCache, KeptVerdicts } from "../../ports/world.ts";
import { digestFile, digestOf } from "../process/input-file.ts";
import { messageOf } from "../process/spawn.ts";
import { makeFolders } from "../process/write-error.ts";

interface KeptFile {
	bytes: number;
	sha256: string;
}

const manifestName = "entry.json";
const maxManifestBytes = 1024 * 1024;

async function readManifest(place: string) {
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

const abandonedMs = 60 * 60_000;

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
				return messageOf(error);
			} finally {
				await rm(aside, { recursive: true, force: true }).catch(() => {});
			}
		},
	};
}

async function copyOut(place: string, targets: Readonly<Record<string, string>>) {
	if ((await stat(join(place, manifestName)).catch(() => null)) === null) return null;
	const { files, facts } = await readManifest(place);
	const suffix = randomBytes(4).toString("hex");
	const partOf = (target: string) => `${target}.${suffix}`;
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

async function isWhole(path: string, { bytes, sha256 }: KeptFile) {
	const found = await lstat(path);
	return found.isFile() && found.size === bytes && (await digestFile(path)) === sha256;
}

async function copyWhole(source: string, target: string, kept: KeptFile | undefined) {
	if (kept === undefined || !(await lstat(source)).isFile()) throw new Error("not whole");
	await copyFile(source, target);
	if (!(await isWhole(target, kept))) throw new Error("damaged");
}

async function copyIn(
	aside: string,
	{ files, facts }: { files: Readonly<Record<string, string>>; facts: unknown },
) {
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
async function replace(aside: string, place: string) {
	try {
		await rename(aside, place);
	} catch {
		await rm(place, { recursive: true, force: true });
		await rename(aside, place);
	}
}

export async function entriesOf(folder: string) {
	const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith("."));
	const found = await Promise.all(names.map((name) => measure(folder, name)));
	return found.flat().sort((left, right) => right.usedMs - left.usedMs);
}

async function measure(folder: string, name: string) {
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

async function prune(folder: string, maxBytes: number) {
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

export function verdictStore(store: FileCache): KeptVerdicts {
	return {
		async recall(key) {
			const facts = await store.fetch(digestOf(key), {});
			const { key: own, verdicts, at } = fieldsOf(facts);
			// The key includes our version, so an entry has the form that this version writes.
			const isKept = own === key && Array.isArray(verdicts) && typeof at === "string";
			return isKept ? { verdicts: verdicts as GoldenVerdict[], at } : null;
		},
		async keep(key, verdicts, at) {
			await store.keep(digestOf(key), { files: {}, facts: { key, verdicts, at } });
		},
	};
}

const maxEntries = 1000;
const entryPattern = /^[\w-]{1,128}$/;
const filePattern = /^[\w-][\w.-]{0,127}$/;

/** Keeps existing entries. @returns stored names, and a count of unusable entries. */
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

async function isComplete(place: string) {
	if (!(await lstat(place)).isDirectory()) return false;
	const { files } = await readManifest(place);
	const there = (await readdir(place)).filter((name) => name !== manifestName);
	if (there.length !== files.size) return false;
	for (const [name, kept] of files)
		if (!filePattern.test(name) || !(await isWhole(join(place, name), kept))) return false;
	return true;
}

async function moveIn(place: string, store: string, name: string) {
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
	/** By file times; older entries may be another repository's. */
	sinceMs: number;
	names: readonly string[];
	maxBytes: number;
}

/** Last used first, as long as there is room. `digest` is the same for the same names and contents. */
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
	const digest = digestOf(taken.sort().join("\n")).slice(0, 32);
	return { digest, entries: taken.length, bytes, left };
}
