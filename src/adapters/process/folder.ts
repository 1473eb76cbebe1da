// Makes a folder with all its parents. Node's own recursive mkdir never returns under /proc.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { classifyWriteError, errorCode } from "./write-error.ts";

/** @throws ConfigError output-unwritable, ToolError disk-full. */
export async function makeFolders(path: string): Promise<void> {
	try {
		await makeWithParents(path);
	} catch (error) {
		throw classifyWriteError(error, path);
	}
}

async function makeWithParents(path: string): Promise<void> {
	try {
		await mkdir(path);
	} catch (error) {
		if (errorCode(error) === "EEXIST" && (await stat(path)).isDirectory()) return;
		if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
		await makeWithParents(dirname(path));
		await makeOne(path);
	}
}

/** Another run may have been faster. */
async function makeOne(path: string): Promise<void> {
	try {
		await mkdir(path);
	} catch (error) {
		if (errorCode(error) !== "EEXIST") throw error;
	}
}
