// A history in a folder.
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { fileStore, lockFolder } from "../../adapters/files/store.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { errorCode, orWriteError } from "../../adapters/process/write-error.ts";
import { ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { HistoryFile } from "../core/files.ts";

const staleMs = 24 * 60 * 60_000;
const maxDepth = 4;
const maxFiles = 200_000;

export function historyFolder(root: string): HistoryStore {
	const files = fileStore();
	const write = async (file: HistoryFile) => {
		await files.makeFolder(join(root, dirname(file.path)));
		await files.writeBytes(join(root, file.path), toBytes(file));
	};
	return {
		name: root,
		read: () => readFolder(root),
		async add(added) {
			for (const file of added) await write(file);
		},
		async compact(plan) {
			await files.makeFolder(root);
			const lock = await lockFolder(root, staleMs);
			try {
				const planned = plan(await readFolder(root));
				if (planned === null) return false;
				// A run is removed only once its month is on disk.
				for (const file of planned.write) await write(file);
				for (const path of planned.remove)
					await orWriteError(rm(join(root, path), { force: true }), join(root, path));
				return true;
			} finally {
				await lock.release();
			}
		},
	};
}

/** Follows no links. A missing folder has no files; an unreadable file counts as empty. */
export async function readFolder(root: string): Promise<HistoryFile[]> {
	const paths: string[] = [];
	await collect(root, "", paths);
	if (paths.length > maxFiles)
		throw new ToolError({
			code: "history-unreadable",
			message: `${root} contains more than ${maxFiles} files.`,
			fix: "Run `trtgate history compact` on it, or name the folder of the history itself.",
		});
	const found: HistoryFile[] = [];
	for (const path of paths) {
		const bytes = readInput(join(root, path), inputKinds.history);
		found.push({ path, text: await bytes.then((whole) => toText(path, whole)).catch(() => "") });
	}
	return found;
}

async function collect(root: string, folder: string, paths: string[]) {
	for (const entry of await listed(join(root, folder))) {
		const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
		if (entry.name.startsWith(".") || paths.length > maxFiles) continue;
		if (entry.isFile()) paths.push(path);
		else if (entry.isDirectory() && path.split("/").length < maxDepth) await collect(root, path, paths);
	}
}

function listed(folder: string) {
	return readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
		const code = errorCode(error);
		if (code === "ENOENT") return [];
		throw new ToolError({
			code: "history-unreadable",
			message: `${folder} cannot be read as the folder of a history (${code}).`,
			fix: "Name the folder that `history.folder` or --folder named, and let this user read it.",
			cause: error,
		});
	});
}

const maxBytes = 256 * 1024 * 1024;

export function toBytes({ path, text }: { path: string; text: string }): Buffer {
	return path.endsWith(".gz") ? gzipSync(text, { level: 9 }) : Buffer.from(text);
}

export function toText(path: string, bytes: Uint8Array): string {
	return (
		path.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength: maxBytes }) : Buffer.from(bytes)
	).toString("utf8");
}
