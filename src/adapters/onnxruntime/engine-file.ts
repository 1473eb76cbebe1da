// Puts a model into the engine folder as the engine: with all its external data, and hashed.
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { copyFile, link, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ModelOnDisk } from "../../ports/world.ts";
import { classifyWriteError, makeFolders } from "../process/write-error.ts";

/** Smaller files are copied, so that a later export into the same file cannot change the engine; larger ones are linked. */
const copyBelowBytes = 256 * 1024 * 1024;

export interface EngineFile {
	path: string;
	bytes: number;
	sha256: string;
}

/** @throws ConfigError output-unwritable, ToolError disk-full. */
export async function placeModel(model: ModelOnDisk, folder: string): Promise<EngineFile> {
	const path = join(folder, basename(model.path));
	let bytes = await placeFile(model.path, path);
	for (const { location, path: source } of model.external) {
		const target = resolve(folder, location);
		if (source === null || relative(folder, target).startsWith("..")) continue;
		await makeFolders(dirname(target));
		bytes += await placeFile(source, target);
	}
	return { path, bytes, sha256: model.sha256 };
}

async function placeFile(source: string, target: string): Promise<number> {
	const { size } = await stat(source);
	try {
		await rm(target, { force: true });
		if (size >= copyBelowBytes && (await tryLink(source, target))) return size;
		await copyFile(source, target, constants.COPYFILE_FICLONE);
	} catch (error) {
		throw classifyWriteError(error, target);
	}
	return size;
}

/** Not on every file system, and never across two. */
function tryLink(source: string, target: string): Promise<boolean> {
	return link(source, target).then(
		() => true,
		() => false,
	);
}

export async function describeFile(path: string): Promise<EngineFile> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
	return { path, bytes: (await stat(path)).size, sha256: hash.digest("hex") };
}
