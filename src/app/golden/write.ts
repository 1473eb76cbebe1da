// Writes a recorded golden: first the tensors into a new folder, then the manifest atomically, then removes the old tensors.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TensorToWrite } from "../../core/golden/manifest/draft.ts";
import type { GoldenManifest } from "../../core/schema/golden.ts";
import type { Files } from "../../ports/world.ts";

export interface GoldenToWrite {
	/** Absolute. */
	folder: string;
	manifest: GoldenManifest;
	files: readonly TensorToWrite[];
	/** Of this revision, relative to the folder; nothing that the old manifest names lies in it. */
	revisionFolder: string;
	old: GoldenManifest | null;
}

/** An interruption leaves either the old or the new manifest, with all its tensors. */
export async function writeGolden({ folder, manifest, files: tensors, revisionFolder, old }: GoldenToWrite, files: Files): Promise<void> {
	await rm(join(folder, revisionFolder), { recursive: true, force: true });
	const folders = new Set(tensors.map(({ path }) => dirname(join(folder, path))));
	for (const path of folders) await files.makeFolder(path);
	for (const { path, bytes } of tensors) await files.writeBytes(join(folder, path), bytes);
	await files.writeText(join(folder, "golden.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
	if (old !== null) await removeOld(folder, old, new Set(tensors.map(({ path }) => path)));
}

/** Removes only what the old manifest names, and folders left empty; other files are the user's. */
async function removeOld(folder: string, old: GoldenManifest, kept: ReadonlySet<string>): Promise<void> {
	const paths = old.cases.flatMap(({ inputs, outputs }) => [...Object.values(inputs), ...Object.values(outputs)].map(({ path }) => path));
	for (const path of paths) if (!kept.has(path)) await rm(join(folder, path), { force: true });
	for (const path of paths) await removeEmpty(folder, dirname(path));
}

async function removeEmpty(folder: string, path: string): Promise<void> {
	for (let at = path; at !== "." && at !== ""; at = dirname(at)) {
		const removed = await rmdir(join(folder, at)).then(
			() => true,
			() => false,
		);
		if (!removed) return;
	}
}
