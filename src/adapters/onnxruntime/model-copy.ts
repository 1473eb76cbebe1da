// Copies a model with its external data into a folder where it may be changed.
import { constants } from "node:fs";
import { chmod, copyFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { ModelOnDisk } from "../../ports/world.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";

export interface Copy {
	path: string;
	external: string[];
}

/** Real copies, never links: they are written to. */
export async function copyModel(model: ModelOnDisk, folder: string): Promise<Copy> {
	const path = join(folder, basename(model.path));
	await copyWritable(model.path, path);
	return { path, external: await copyExternal(model, folder) };
}

export async function copyExternal(model: ModelOnDisk, folder: string): Promise<string[]> {
	const copies = externalCopies(model, folder);
	for (const { source, target } of copies) await copyWritable(source, target);
	return copies.map(({ location }) => location);
}

/** Files of external data with their places in the folder; those that would lie outside it are left out. */
export function externalCopies({ external }: ModelOnDisk, folder: string) {
	return external.flatMap(({ location, path: source }) => {
		const target = resolve(folder, location);
		return source === null || relative(folder, target).startsWith("..") ? [] : [{ location, source, target }];
	});
}

async function copyWritable(source: string, target: string): Promise<void> {
	await makeFolders(dirname(target));
	await orWriteError(copyFile(source, target, constants.COPYFILE_FICLONE), target);
	await chmod(target, 0o600);
}
