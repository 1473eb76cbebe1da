// Reads the results of several jobs from folders on disk.

import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { readInputText } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { tooLargeFix } from "../../core/merge/merge.ts";
import type { PartContent, PartInput } from "../../core/merge/parts.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { formatBytes } from "../../core/text/units.ts";
import { reportFiles } from "../../stages/report.ts";

export const maxResultBytes = inputKinds.result.maxBytes;
/** Bounds memory: all results are read at once. */
export const maxTextBytes = 512 * 1024 * 1024;
export const maxParts = 300;

/** Each folder holds a result.json, or folders that do. @throws ConfigError result-invalid if there is none. */
export async function readParts(folders: readonly string[], cwd: string): Promise<PartInput[]> {
	const found = (await Promise.all(folders.map((folder) => partFolders(resolve(cwd, folder))))).flat();
	if (found.length === 0)
		throw new ConfigError({
			code: "result-invalid",
			message: `There is no ${reportFiles.result} in ${folders.slice(0, 5).join(", ")}, nor directly below.`,
			fix: "Name the output folders of the runs, or one folder that holds them.",
		});
	if (found.length > maxParts)
		throw new ConfigError({
			code: "result-invalid",
			message: `${found.length} results to merge; at most ${maxParts} are allowed.`,
			fix: "Merge fewer, or remove old folders.",
		});
	const parts: PartInput[] = [];
	const budget = { textBytes: maxTextBytes };
	// Parts are read one after the other, because each may be tens of megabytes of text.
	for (const folder of found)
		parts.push({
			name: basename(folder),
			content: await readContent(join(folder, reportFiles.result), budget),
		});
	return parts;
}

async function partFolders(folder: string): Promise<string[]> {
	if (await hasResult(folder)) return [folder];
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	const inside = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
	const withResult = await Promise.all(inside.map(async (path) => ((await hasResult(path)) ? [path] : [])));
	return withResult.flat().sort();
}

async function hasResult(folder: string): Promise<boolean> {
	return (await stat(join(folder, reportFiles.result)).catch(() => null))?.isFile() === true;
}

async function readContent(path: string, budget: { textBytes: number }): Promise<PartContent> {
	const { size } = await stat(path);
	const reason = `Its ${reportFiles.result} has ${size} bytes; at most ${maxResultBytes} are read.`;
	if (size > maxResultBytes) return { state: "refused", reason, kind: "runner" };
	budget.textBytes -= size;
	if (budget.textBytes < 0) return beyondAll();
	return parsePart(await readInputText(path, inputKinds.result), path);
}

export function beyondAll(): PartContent {
	const reason = `All results together are larger than ${formatBytes(maxTextBytes)}; this one was not read.`;
	return { state: "refused", reason, kind: "configuration", fix: tooLargeFix };
}

/** A file that is not a result becomes a refused part; the others are still merged. */
export function parsePart(text: string, path: string): PartContent {
	try {
		return { state: "read", result: parseResult(text, path) };
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return { state: "refused", reason: error.message, kind: "runner" };
	}
}
