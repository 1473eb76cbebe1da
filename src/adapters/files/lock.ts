// Keeps two runs from writing into one folder: a lock file that names its owner.
import { randomBytes } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { makeFolders } from "../process/folder.ts";
import { classifyWriteError, errorCode } from "../process/write-error.ts";

export interface Lock {
	release(): Promise<void>;
}

interface Owner {
	pid: number;
	host: string;
	/** ISO 8601, UTC. */
	startedAt: string;
	/** The kernel's start time of the process, so that another with the same number is not taken for it; "" where unknown. */
	born: string;
	token: string;
}

const lockName = ".trtgate.lock";

/** @throws ConfigError output-busy (naming the owner), output-unwritable; ToolError disk-full. */
export async function lockFolder(folder: string): Promise<Lock> {
	const path = join(folder, lockName);
	const owner = await describeSelf();
	for (let attempt = 0; attempt < 5; attempt++) {
		if (await claim(folder, path, owner)) return { release: () => releaseLock(path, owner) };
		const text = await readLock(path);
		if (text === null) continue;
		const other = parseOwner(text);
		if (other !== null && (await isAlive(other))) throw busy(folder, other);
		await removeDead(path, text);
	}
	throw busy(folder, null);
}

async function describeSelf(): Promise<Owner> {
	const { pid } = process;
	return {
		pid,
		host: hostname(),
		startedAt: new Date().toISOString(),
		born: (await bornAt(pid)) ?? "",
		token: randomBytes(8).toString("hex"),
	};
}

/** A link appears whole or not at all, so that a reader never sees half an owner. */
async function claim(folder: string, path: string, owner: Owner): Promise<boolean> {
	const temporary = `${path}.${owner.token}`;
	await makeFolders(folder);
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

/** null: not a lock of ours; whoever wrote it does not hold it by our rules. */
function parseOwner(text: string): Owner | null {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || value === null) return null;
		const { pid, host, startedAt, born, token } = value as Record<string, unknown>;
		if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1 || typeof host !== "string") return null;
		return { pid, host, startedAt: String(startedAt), born: typeof born === "string" ? born : "", token: String(token) };
	} catch {
		return null;
	}
}

/** An owner on another machine cannot be asked and counts as alive. */
async function isAlive(owner: Owner): Promise<boolean> {
	if (owner.host !== hostname()) return true;
	try {
		process.kill(owner.pid, 0);
	} catch (error) {
		if (errorCode(error) === "ESRCH") return false;
	}
	const born = await bornAt(owner.pid);
	return born === null || owner.born === "" || born === owner.born;
}

/** Field 22 of /proc/PID/stat, after the name that may hold anything. */
async function bornAt(pid: number): Promise<string | null> {
	try {
		const text = await readFile(`/proc/${pid}/stat`, "utf8");
		return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
	} catch {
		return null;
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

function busy(folder: string, owner: Owner | null): ConfigError {
	const who = owner === null ? "another run" : `process ${owner.pid} on ${owner.host}, since ${owner.startedAt}`;
	return new ConfigError({
		code: "output-busy",
		message: `The output folder ${folder} is in use by ${who}.`,
		details: {
			fix: `Wait for it to end, or give this run another output folder. If nothing runs, delete ${join(folder, lockName)}.`,
			got: who,
		},
	});
}
