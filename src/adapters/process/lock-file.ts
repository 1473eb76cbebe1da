// A lock file that names its owner, and is broken if its owner has died.
import { createHash } from "node:crypto";
import { link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describeSelf, type Owner, parseOwner, stateOfOwner } from "./owner.ts";
import { classifyWriteError, errorCode, makeFolders } from "./write-error.ts";

export interface Lock {
	release(): Promise<void>;
}

type LockAttempt = { state: "held"; lock: Lock } | { state: "busy"; owner: Owner | null };

export interface LockOptions {
	/**
	 * Age at which a lock held in another container or on another machine counts as dead; its owner renews
	 * it. Absent: never.
	 */
	staleMs?: number;
}

const maxAttempts = 100;

/**
 * Tries once, without waiting. link(2) must be atomic, as on local disks and NFS. No library does this:
 * `proper-lockfile` breaks a dead owner's lock only after a time, and two may then hold it; flock(2) takes
 * native code.
 * @throws ConfigError output-unwritable; ToolError disk-full.
 */
export async function tryLock(path: string, options: LockOptions = {}): Promise<LockAttempt> {
	const owner = await describeSelf();
	await makeFolders(dirname(path));
	for (let attempt = 0; attempt < maxAttempts; attempt++) {
		await claim(path, owner);
		const text = await readLock(path);
		if (text === null) continue;
		const holder = parseOwner(text);
		if (holder?.token === owner.token)
			return { state: "held", lock: { release: () => releaseLock(path, owner) } };
		if (await holds(text, path, options)) return { state: "busy", owner: holder };
		if (!(await removeDead(path, text, options))) break;
	}
	return { state: "busy", owner: null };
}

async function holds(text: string, path: string, { staleMs }: LockOptions) {
	const owner = parseOwner(text);
	if (owner === null) return false;
	const state = await stateOfOwner(owner);
	if (state !== "elsewhere" || staleMs === undefined) return state !== "dead";
	try {
		return Date.now() - (await stat(path)).mtimeMs <= staleMs;
	} catch {
		return true;
	}
}

/** A link appears whole or not at all, so a reader never sees half an owner. */
async function claim(path: string, owner: Owner) {
	const temporary = `${path}.${owner.token}`;
	try {
		await writeFile(temporary, `${JSON.stringify(owner)}\n`);
		await link(temporary, path);
	} catch (error) {
		if (errorCode(error) !== "EEXIST") throw classifyWriteError(error, path);
	} finally {
		await rm(temporary, { force: true }).catch(() => {});
	}
}

async function readLock(path: string) {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
		throw classifyWriteError(error, path);
	}
}

/**
 * Only the holder of a lock named after a dead lock's text removes that lock, so nobody changes it between
 * check and removal. Who dies in between leaves a dead lock of this second kind, which is broken in the
 * same way.
 */
async function removeDead(path: string, dead: string, options: LockOptions) {
	const name = createHash("sha256").update(dead).digest("hex").slice(0, 16);
	const breaking = await tryLock(`${path}.${name}.breaking`, options);
	if (breaking.state === "busy") return false;
	try {
		if ((await readLock(path)) === dead && !(await holds(dead, path, options)))
			await rm(path, { force: true });
		return true;
	} catch (error) {
		throw classifyWriteError(error, path);
	} finally {
		await breaking.lock.release();
	}
}

async function releaseLock(path: string, owner: Owner) {
	const text = await readLock(path);
	if (text !== null && parseOwner(text)?.token === owner.token) await rm(path, { force: true });
}
