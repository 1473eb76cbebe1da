// The file system: whole files in, atomic writes out.
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Files } from "../../ports/world.ts";
import { makeFolders } from "../process/folder.ts";
import { classifyWriteError, errorCode } from "../process/write-error.ts";

export function fileStore(): Files {
	return {
		readText: (path) => readFile(path, "utf8"),
		readBytes: (path) => readFile(path),
		writeText: (path, text) => writeWhole(path, text),
		writeBytes: (path, bytes) => writeWhole(path, bytes),
		size: sizeOf,
		sha256: hashOf,
		realPath: (path) => nullIfMissing(realpath(path)),
		makeFolder: makeFolders,
	};
}

/** Writes beside the target, flushes, then renames: a crash leaves the old file whole. */
async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
	// The name is cut so that it stays legal where the target's own is at the limit.
	const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomBytes(6).toString("hex")}.tmp`);
	try {
		await writeFlushed(temporary, content);
		await rename(temporary, path);
	} catch (error) {
		await rm(temporary, { force: true }).catch(() => {});
		throw classifyWriteError(error, path);
	}
}

async function writeFlushed(path: string, content: string | Uint8Array): Promise<void> {
	const file = await open(path, "wx");
	try {
		await file.writeFile(content);
		await file.sync();
	} finally {
		await file.close();
	}
}

async function sizeOf(path: string): Promise<number | null> {
	const found = await nullIfMissing(stat(path));
	return found?.isFile() ? found.size : null;
}

async function hashOf(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
	return hash.digest("hex");
}

async function nullIfMissing<T>(promise: Promise<T>): Promise<T | null> {
	try {
		return await promise;
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
		throw error;
	}
}
