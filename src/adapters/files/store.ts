// The file system: reads whole files and writes atomically.

import { createHash, randomBytes } from "node:crypto";
import { read } from "node:fs";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../../core/errors.ts";
import { type InputKind, inputKinds } from "../../core/input-kind.ts";
import { formatBytes } from "../../core/text/units.ts";
import type { Files, Progress } from "../../ports/world.ts";
import { digestOf, inputError, readInput, readInputText, withInput } from "../process/input-file.ts";
import { describeOwner, type Lock, tryLock } from "../process/lock-file.ts";
import { classifyWriteError, errorCode, makeFolders } from "../process/write-error.ts";

export function fileStore(progress?: Progress): Files {
	return {
		readText: readInputText,
		readBytes: readInput,
		writeText: writeWhole,
		writeBytes: writeWhole,
		async size(path) {
			const found = await nullIfMissing(stat(path), path);
			return found?.isFile() ? found.size : null;
		},
		changedMs: async (path) => (await nullIfMissing(stat(path), path))?.ctimeMs ?? null,
		sha256: (path, kind) =>
			withInput(path, kind, ({ file, facts }) => hashOpen(file, watchReading(facts.size, progress))),
		realPath: (path) => nullIfMissing(realpath(path), path),
		makeFolder: makeFolders,
	};
}

/** Writes beside the target, flushes, then renames: a crash leaves the old file intact. */
async function writeWhole(path: string, content: string | Uint8Array) {
	// Cut, because the target's own name may have the maximum length.
	const name = `.${basename(path).slice(0, 100)}.${randomBytes(6).toString("hex")}.tmp`;
	const temporary = join(dirname(path), name);
	try {
		const file = await open(temporary, "wx");
		try {
			await file.writeFile(content);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
	} catch (error) {
		await rm(temporary, { force: true }).catch(() => {});
		throw classifyWriteError(error, path);
	}
}

async function nullIfMissing<T>(promise: Promise<T>, path: string) {
	try {
		return await promise;
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
		throw inputError(error, inputKinds.path, path);
	}
}

/** Keeps two runs from writing into one folder. @throws ConfigError output-busy, output-unwritable; ToolError disk-full. */
export async function lockFolder(folder: string, staleMs?: number): Promise<Lock> {
	const path = join(folder, ".trtgate.lock");
	const attempt = await tryLock(path, staleMs);
	if (attempt.state === "held") return attempt.lock;
	throw new ConfigError({
		code: "output-busy",
		message: `The output folder ${folder} is in use by ${describeOwner(attempt.owner)}.`,
		fix: `Wait for it to end, or give this run another output folder. If nothing runs, delete ${path}.`,
	});
}

const blockBytes = 1024 * 1024;
const readBlock = promisify(read);

const longReadBytes = 1024 ** 3;
const shownEveryBytes = longReadBytes / 16;

/** Shows how much of a long read is done: as a stage of its own, or as the detail of the item that is open. */
export function watchReading(total: number, progress?: Progress, stage?: string) {
	if (progress === undefined || total < longReadBytes) return undefined;
	if (stage !== undefined) progress.stage(stage, 0);
	let done = 0;
	let next = shownEveryBytes;
	return (bytes: number) => {
		done += bytes;
		if (done >= total)
			return stage === undefined ? progress.detail("") : progress.done(`${formatBytes(total)} read`);
		if (done < next) return;
		next = done + shownEveryBytes;
		progress.detail(`${formatBytes(done)} of ${formatBytes(total)} read`);
	};
}

export function hashFile(path: string, kind: InputKind, onRead?: (bytes: number) => void): Promise<string> {
	return withInput(path, kind, ({ file }) => hashOpen(file, onRead));
}

export async function hashOpen(file: number, onRead?: (bytes: number) => void): Promise<string> {
	const hash = createHash("sha256");
	const block = new Uint8Array(blockBytes);
	for (let position = 0; ; ) {
		const { bytesRead } = await readBlock(file, block, 0, blockBytes, position);
		if (bytesRead === 0) return hash.digest("hex");
		hash.update(block.subarray(0, bytesRead));
		onRead?.(bytesRead);
		position += bytesRead;
	}
}

export function hashOfLines(lines: readonly string[]): string {
	const sorted = lines.map((line) => Buffer.from(`${line}\n`)).sort(Buffer.compare);
	return digestOf(Buffer.concat(sorted));
}
