// Writes and removes the files of a golden: each is written in one step, and only what a manifest names is removed.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TensorToWrite } from "../../core/golden/manifest/draft.ts";
import type { GoldenManifest } from "../../core/schema/golden.ts";
import type { Files } from "../../ports/world.ts";

export function manifestText(manifest: GoldenManifest): string {
	return `${JSON.stringify(manifest, null, "\t")}\n`;
}

/** Their folder of the revision is empty before. */
export async function writeTensors(folder: string, tensors: readonly TensorToWrite[], files: Files): Promise<void> {
	const [first] = tensors;
	if (first !== undefined) await rm(join(folder, first.path.split("/")[0] ?? ""), { recursive: true, force: true });
	const folders = new Set(tensors.map(({ path }) => dirname(join(folder, path))));
	for (const path of folders) await files.makeFolder(path);
	for (const { path, bytes } of tensors) await files.writeBytes(join(folder, path), bytes);
}

/** Removes what the manifest names and the kept one does not, and folders left empty; other files are the user's. */
export async function removeTensors(folder: string, manifest: GoldenManifest, kept: GoldenManifest | null): Promise<void> {
	const wanted = new Set(kept === null ? [] : tensorPaths(kept));
	const paths = tensorPaths(manifest).filter((path) => !wanted.has(path));
	for (const path of paths) await rm(join(folder, path), { force: true });
	for (const path of paths) await removeEmpty(folder, dirname(path));
	if (kept === null) await rmdir(folder).catch(() => {});
}

/** Of all tensors, relative to the manifest. */
export function tensorPaths({ cases }: GoldenManifest): string[] {
	const paths = cases.flatMap(({ inputs, outputs }) => [...Object.values(inputs), ...Object.values(outputs)].map(({ path }) => path));
	return [...new Set(paths)];
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
