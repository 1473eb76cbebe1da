// Classifies failed writes, and makes folders.
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigError, faultOf, ToolError } from "../../core/errors.ts";

const fullDisk = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const unwritable: Readonly<Record<string, string>> = {
	EACCES: "permission denied",
	EPERM: "the operation is not permitted",
	EROFS: "the file system is read-only",
	ENOTDIR: "a file is where a folder is needed",
	EEXIST: "a file is where a folder is needed",
	EISDIR: "a folder is where a file is needed",
	ENOENT: "its folder does not exist",
	ELOOP: "its path is a loop of links",
	ENAMETOOLONG: "its name is too long",
};

export function classifyWriteError(error: unknown, path: string): unknown {
	const code = errorCode(error);
	if (fullDisk.has(code)) {
		return new ToolError({
			code: "disk-full",
			message: `No space left for ${path} (${code}).`,
			cause: error,
			fix: "Free space on this disk, or choose another output folder.",
		});
	}
	const why = Object.hasOwn(unwritable, code) ? unwritable[code] : undefined;
	if (why === undefined) return error;
	return new ConfigError({
		code: "output-unwritable",
		message: `Cannot write ${path}: ${why} (${code}).`,
		cause: error,
		fix: "Choose an output folder that this user may write to.",
	});
}

export function errorCode(error: unknown): string {
	if (typeof error !== "object" || error === null || !("code" in error)) return "";
	return typeof error.code === "string" ? error.code : "";
}

/**
 * Node's recursive mkdir never returns under /proc.
 * @throws ConfigError output-unwritable, ToolError disk-full.
 */
export function makeFolders(path: string): Promise<void> {
	return orWriteError(makeWithParents(path), path);
}

async function makeWithParents(path: string) {
	try {
		await mkdir(path);
	} catch (error) {
		if (errorCode(error) === "EEXIST" && (await stat(path)).isDirectory()) return;
		if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
		await makeWithParents(dirname(path));
		await mkdir(path).catch((again: unknown) => {
			if (errorCode(again) !== "EEXIST") throw again;
		});
	}
}

export async function orWriteError<Value>(writing: Promise<Value>, path: string): Promise<Value> {
	try {
		return await writing;
	} catch (error) {
		throw classifyWriteError(error, path);
	}
}

/** The folder is gone afterwards; a log in it that an error names is kept beside it. @throws as orWriteError. */
export async function inNewFolder<Value>(
	prefix: string,
	work: (folder: string) => Promise<Value>,
	parent = tmpdir(),
): Promise<Value> {
	const folder = await orWriteError(mkdtemp(join(parent, prefix)), parent);
	try {
		return await work(folder);
	} catch (error) {
		if (!(error instanceof ToolError && error.log?.startsWith(join(folder, "/")))) throw error;
		const kept = `${folder}.log`;
		const isKept =
			error.code !== "interrupted" &&
			(await rename(error.log, kept).then(
				() => true,
				() => false,
			));
		throw new ToolError({ ...faultOf(error), log: isKept ? kept : undefined, cause: error });
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}
