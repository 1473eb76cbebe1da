// A lock file that names its owner, and is broken if its owner has died; how processes are told apart.

import { randomBytes } from "node:crypto";
import { link, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { fieldsOf } from "../../core/found.ts";
import { digestOf } from "./input-file.ts";
import { classifyWriteError, errorCode, makeFolders } from "./write-error.ts";

export interface Lock {
	release(): Promise<void>;
}

type LockAttempt = { state: "held"; lock: Lock } | { state: "busy"; owner: Owner | null };

const maxAttempts = 100;

/**
 * Tries once, without waiting. link(2) must be atomic, as on local disks and NFS. No library does this:
 * `proper-lockfile` breaks a dead owner's lock only after a time, and two may then hold it; flock(2) takes
 * native code.
 * @param staleMs age at which a lock held in another container or on another machine counts as dead; its owner renews
 * it. Absent: never.
 * @throws ConfigError output-unwritable; ToolError disk-full.
 */
export async function tryLock(path: string, staleMs?: number): Promise<LockAttempt> {
	const owner = await describeSelf();
	await makeFolders(dirname(path));
	for (let attempt = 0; attempt < maxAttempts; attempt++) {
		await claim(path, owner);
		const text = await readLock(path);
		if (text === null) continue;
		const holder = parseOwner(text);
		if (holder?.token === owner.token)
			return { state: "held", lock: { release: () => releaseLock(path, owner) } };
		if (await holds(text, path, staleMs)) return { state: "busy", owner: holder };
		if (!(await removeDead(path, text, staleMs))) break;
	}
	return { state: "busy", owner: null };
}

async function holds(text: string, path: string, staleMs: number | undefined) {
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
async function removeDead(path: string, dead: string, staleMs: number | undefined) {
	const name = digestOf(dead).slice(0, 16);
	const breaking = await tryLock(`${path}.${name}.breaking`, staleMs);
	if (breaking.state === "busy") return false;
	try {
		if ((await readLock(path)) === dead && !(await holds(dead, path, staleMs)))
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

interface Owner {
	pid: number;
	host: string;
	/** The kernel's PID namespace; "" if unknown. */
	space: string;
	startedAt: string;
	/** The kernel's start time of the process; "" if unknown. */
	born: string;
	token: string;
}

async function describeSelf() {
	const { pid } = process;
	return {
		pid,
		host: hostname(),
		space: await numberSpace(),
		startedAt: new Date().toISOString(),
		born: (await readStat(pid)).born ?? "",
		token: randomBytes(8).toString("hex"),
	};
}

/** null: not one of our locks. */
function parseOwner(text: string) {
	try {
		const { pid, host, space, startedAt, born, token } = fieldsOf(JSON.parse(text));
		const wordOf = (value: unknown) => (typeof value === "string" ? value : "");
		if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1 || typeof host !== "string")
			return null;
		const words = { space: wordOf(space), born: wordOf(born) };
		return { pid, host, startedAt: String(startedAt), token: String(token), ...words };
	} catch {
		return null;
	}
}

export function describeOwner(owner: Owner | null): string {
	return owner === null ? "another run" : `process ${owner.pid} on ${owner.host}, since ${owner.startedAt}`;
}

/** elsewhere: on another machine or in another container. */
async function stateOfOwner(owner: Owner) {
	const space = await numberSpace();
	if (owner.host !== hostname() || (owner.space !== "" && space !== "" && owner.space !== space))
		return "elsewhere";
	try {
		process.kill(owner.pid, 0);
	} catch (error) {
		if (errorCode(error) === "ESRCH") return "dead";
	}
	const { state, born } = await readStat(owner.pid);
	// A zombie, which in a container may never be reaped.
	if (state === "Z" || state === "X") return "dead";
	return born === undefined || owner.born === "" || born === owner.born ? "alive" : "dead";
}

function numberSpace() {
	return readlink("/proc/self/ns/pid").catch(() => "");
}

export async function groupOf(pid: number): Promise<number | null> {
	const group = Number((await readStat(pid)).group);
	return Number.isSafeInteger(group) && group > 0 ? group : null;
}

/** Fields 3, 5 and 22 of /proc/PID/stat, after the name, which may hold anything. */
async function readStat(pid: number) {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
	if (text === null) return {};
	const [state = "", , group = "", ...others] = text.slice(text.lastIndexOf(")") + 2).split(" ");
	return { state, group, born: others[16] ?? "" };
}

export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
	try {
		process.kill(process.platform === "win32" ? pid : -pid, signal);
		return true;
	} catch (error) {
		// EPERM: someone in the group changed its user.
		return errorCode(error) === "EPERM";
	}
}
