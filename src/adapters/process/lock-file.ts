// A lock file that names its owner: taken whole or not at all, and broken when its owner has died.
import { randomBytes } from "node:crypto";
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolders } from "./folder.ts";
import { describeSelf, type Owner, parseOwner, stateOfOwner } from "./owner.ts";
import { classifyWriteError, errorCode } from "./write-error.ts";

export interface Lock {
	release(): Promise<void>;
}

export type LockAttempt = { state: "held"; lock: Lock } | { state: "busy"; owner: Owner | null };

/**
 * `staleMs`: an owner elsewhere cannot be asked; where it renews its file, one older than this is dead. Absent: such an
 * owner counts as alive.
 * @throws ConfigError output-unwritable; ToolError disk-full.
 */
export async function tryLock(path: string, options: { staleMs?: number } = {}): Promise<LockAttempt> {
	const owner = await describeSelf();
	for (let attempt = 0; attempt < 5; attempt++) {
		if (await claim(path, owner)) return { state: "held", lock: { release: () => releaseLock(path, owner) } };
		const text = await readLock(path);
		if (text === null) continue;
		const other = parseOwner(text);
		if (other !== null && (await holds(other, path, options.staleMs))) return { state: "busy", owner: other };
		await removeDead(path, text);
	}
	return { state: "busy", owner: null };
}

async function holds(owner: Owner, path: string, staleMs: number | undefined): Promise<boolean> {
	const state = await stateOfOwner(owner);
	if (state !== "elsewhere" || staleMs === undefined) return state !== "dead";
	try {
		return Date.now() - (await stat(path)).mtimeMs <= staleMs;
	} catch {
		return true;
	}
}

/** A link appears whole or not at all, so that a reader never sees half an owner. */
async function claim(path: string, owner: Owner): Promise<boolean> {
	const temporary = `${path}.${owner.token}`;
	await makeFolders(dirname(path));
	try {
		await writeFile(temporary, `${JSON.stringify(owner)}\n`);
		await link(temporary, path);
		return true;
	} catch (error) {
		if (errorCode(error) === "EEXIST" && (await readLock(path)) !== null) return false;
		throw classifyWriteError(error, path);
	} finally {
		await rm(temporary, { force: true }).catch(() => {});
	}
}

async function readLock(path: string): Promise<string | null> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
		throw classifyWriteError(error, path);
	}
}

/** Moves the dead lock aside; where a living one has come in between, it is put back. */
async function removeDead(path: string, dead: string): Promise<void> {
	const aside = `${path}.${randomBytes(6).toString("hex")}.dead`;
	try {
		await rename(path, aside);
	} catch (error) {
		if (errorCode(error) === "ENOENT") return;
		throw classifyWriteError(error, path);
	}
	if ((await readLock(aside)) !== dead) await link(aside, path).catch(() => {});
	await rm(aside, { force: true });
}

async function releaseLock(path: string, owner: Owner): Promise<void> {
	const text = await readLock(path);
	if (text !== null && parseOwner(text)?.token === owner.token) await rm(path, { force: true });
}
