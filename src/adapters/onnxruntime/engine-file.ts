// Puts a model into the engine folder as the engine: with all its external data, and hashed.
import { constants } from "node:fs";
import { copyFile, link, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ModelOnDisk } from "../../ports/world.ts";
import { classifyWriteError, makeFolders } from "../process/write-error.ts";
import { externalCopies } from "./model-copy.ts";

/** Smaller files are copied, so that a later export into the same file cannot change the engine; larger ones are linked. */
const copyBelowBytes = 256 * 1024 * 1024;

/** @throws ConfigError output-unwritable, ToolError disk-full. */
export async function placeModel(
	model: ModelOnDisk,
	folder: string,
): Promise<{ path: string; bytes: number }> {
	const path = join(folder, basename(model.path));
	let bytes = await placeFile(model.path, path);
	for (const { source, target } of externalCopies(model, folder)) {
		await makeFolders(dirname(target));
		bytes += await placeFile(source, target);
	}
	return { path, bytes };
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
