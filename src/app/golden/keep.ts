// Keeps a golden on disk while it is recorded: written as soon as it is usable, improved, finished, or taken back.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { TensorToWrite } from "../../core/golden/manifest/draft.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import type { Files } from "../../ports/world.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { readManifestText } from "./read-old.ts";

/** Beside golden.json while a golden is recorded again: the manifest of before, whose tensors stay until the new one is finished. */
const previousName = "golden.previous.json";

interface Keeper {
	save(manifest: GoldenManifest): Promise<void>;
	/** Removes what belonged to the golden of before. */
	finish(manifest: GoldenManifest): Promise<void>;
	/** Puts the golden of before back; where there was none, nothing stays. */
	takeBack(): Promise<void>;
}

interface KeptGolden {
	/** Absolute. */
	folder: string;
	/** The golden on disk; null: none. */
	old: GoldenManifest | null;
	/** Whether that one is unfinished, and goes on. */
	goesOn: boolean;
	/** Of the new golden, known when it is put together; nothing that the old manifest names lies among them. */
	files(): readonly TensorToWrite[];
}

export async function keepGolden(kept: KeptGolden, files: Files): Promise<Keeper> {
	const { folder, old, goesOn } = kept;
	const path = (name: string): string => join(folder, name);
	const stale = goesOn ? null : old;
	const before = (await readPrevious(folder)) ?? stale;
	const removeStale = async (
		of: readonly (GoldenManifest | null)[],
		wanted: GoldenManifest | null,
	): Promise<void> => {
		for (const manifest of of)
			if (manifest !== null) await removeTensors({ folder, files }, manifest, wanted);
		await rm(path(previousName), { force: true });
	};
	let saved: GoldenManifest | null = goesOn ? old : null;
	const save = async (manifest: GoldenManifest): Promise<void> => {
		if (saved === null) {
			await files.makeFolder(folder);
			if (before !== null) await files.writeText(path(previousName), manifestText(before));
			await writeTensors(folder, kept.files(), files);
		}
		await files.writeText(path("golden.json"), manifestText(manifest));
		saved = manifest;
	};
	return {
		save,
		async finish(manifest) {
			await save(manifest);
			await removeStale([before, stale], manifest);
		},
		async takeBack() {
			if (saved === null) return;
			if (before !== null) await files.writeText(path("golden.json"), manifestText(before));
			else await rm(path("golden.json"), { force: true });
			await removeStale([saved, stale], before);
		},
	};
}

async function readPrevious(folder: string): Promise<GoldenManifest | null> {
	const path = join(folder, previousName);
	const text = await readManifestText(path);
	return text === null ? null : parseManifest(text, path);
}

// Writes and removes the files of a golden: each is written in one step, and only what a manifest names is removed.
function manifestText(manifest: GoldenManifest): string {
	return `${JSON.stringify(manifest, null, "\t")}\n`;
}

/** Their folder of the revision is empty before. */
async function writeTensors(folder: string, tensors: readonly TensorToWrite[], files: Files): Promise<void> {
	const [first] = tensors;
	if (first !== undefined)
		await rm(join(folder, first.path.split("/")[0] ?? ""), { recursive: true, force: true });
	const folders = new Set(tensors.map(({ path }) => dirname(join(folder, path))));
	for (const path of folders) await files.makeFolder(path);
	for (const { path, bytes } of tensors) await files.writeBytes(join(folder, path), bytes);
}

/** Removes what the manifest names and the kept one does not, and folders left empty; other files are the user's. */
async function removeTensors(
	{ folder, files }: { folder: string; files: Files },
	manifest: GoldenManifest,
	kept: GoldenManifest | null,
): Promise<void> {
	const wanted = new Set(kept === null ? [] : tensorPaths(kept));
	const paths = tensorPaths(manifest).filter((path) => !wanted.has(path));
	for (const path of paths) {
		await confine(files, folder, dirname(path));
		await rm(join(folder, path), { force: true });
	}
	for (const path of paths) await removeEmpty(folder, dirname(path));
	if (kept === null) await rmdir(folder).catch(() => {});
}

/** Of all tensors, relative to the manifest. */
export function tensorPaths({ cases }: GoldenManifest): string[] {
	const paths = cases.flatMap(({ inputs, outputs }) =>
		[...Object.values(inputs), ...Object.values(outputs)].map(({ path }) => path),
	);
	return [...new Set(paths)];
}

async function removeEmpty(folder: string, path: string): Promise<void> {
	try {
		for (let at = path; at !== "." && at !== ""; at = dirname(at)) await rmdir(join(folder, at));
	} catch {
		// It still holds files.
	}
}
