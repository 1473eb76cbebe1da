// Finds the ONNX files that `init` was given, by name or by folder.
import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { ConfigError, usageError } from "../../core/errors.ts";

export interface ModelFile {
	path: string;
	/** Relative to the working folder, with `/`. */
	onnxPath: string;
	/** By its own name, not by its folder's. */
	isNamed: boolean;
}

const mostFiles = 100;
const mostFolders = 10_000;

/** @throws ConfigError path-outside-workspace, usage. */
export async function findModels(given: readonly string[], cwd: string): Promise<ModelFile[]> {
	const found = new Map<string, ModelFile>();
	for (const path of given.map((text) => resolve(cwd, text))) {
		const isFolder = (await stat(path).catch(() => null))?.isDirectory() === true;
		for (const file of isFolder ? await modelsBelow(path) : [path]) {
			const onnxPath = relative(cwd, file).replaceAll("\\", "/");
			if (onnxPath.startsWith("..")) throw outside(file, cwd);
			if (!found.has(onnxPath)) found.set(onnxPath, { path: file, onnxPath, isNamed: !isFolder });
		}
	}
	if (found.size <= mostFiles) return [...found.values()];
	throw usageError(
		`There are ${found.size} ONNX files; expected at most ${mostFiles}.`,
		"Name those that you serve.",
	);
}

async function modelsBelow(root: string) {
	const folders = [root];
	const models: string[] = [];
	for (let at = 0; at < Math.min(folders.length, mostFolders); at += 1) {
		const folder = folders[at] ?? root;
		for (const entry of await readdir(folder, { withFileTypes: true })) {
			const { name } = entry;
			if (entry.isDirectory() && !name.startsWith(".") && name !== "node_modules")
				folders.push(join(folder, name));
			else if (entry.isFile() && /\.onnx$/i.test(name)) models.push(join(folder, name));
		}
	}
	return models.sort();
}

function outside(path: string, cwd: string) {
	return new ConfigError({
		code: "path-outside-workspace",
		message: `${path} is not below ${cwd}.`,
		fix: `Run \`trtgate init\` in a folder above ${path}.`,
	});
}
