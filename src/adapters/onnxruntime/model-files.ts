// Copies a model with its external data: as an engine, for changes, or with further outputs.

import { constants } from "node:fs";
import { chmod, copyFile, link, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import type { GraphEdit } from "../../core/onnx/model.ts";
import { scopesOf, tensorsOf } from "../../core/onnx/walk.ts";
import { memorySource } from "../../formats/bytes/byte-source.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { rewriteOnnx } from "../../formats/onnx/write.ts";
import type { MarkJob } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { digestOf, readInput } from "../process/input-file.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";

export function externalOf({ external }: ModelOnDisk): string[] {
	return external.flatMap(({ location, path }) => (path === null ? [] : [location]));
}

/** Files of external data with their places in the folder; those that would lie outside it are left out. */
function externalCopies({ external }: ModelOnDisk, folder: string) {
	return external.flatMap(({ location, path: source }) => {
		const target = resolve(folder, location);
		return source === null || relative(folder, target).startsWith("..") ? [] : [{ location, source, target }];
	});
}

export async function copyModel(
	model: ModelOnDisk,
	folder: string,
): Promise<{ path: string; external: string[] }> {
	const path = join(folder, basename(model.path));
	await copyWritable(model.path, path);
	return { path, external: await copyExternal(model, folder) };
}

export async function copyExternal(model: ModelOnDisk, folder: string): Promise<string[]> {
	const copies = externalCopies(model, folder);
	for (const { source, target } of copies) await copyWritable(source, target);
	return copies.map(({ location }) => location);
}

async function copyWritable(source: string, target: string) {
	await makeFolders(dirname(target));
	await orWriteError(copyFile(source, target, constants.COPYFILE_FICLONE), target);
	await chmod(target, 0o600);
}

/** Smaller files are copied, so that a later export into the same file cannot change the engine; larger ones are linked. */
const copyBelowBytes = 256 * 1024 * 1024;

/** Puts a model into the engine folder as the engine. @throws ConfigError output-unwritable, ToolError disk-full. */
export async function placeModel(
	model: ModelOnDisk,
	folder: string,
): Promise<{ path: string; bytes: number }> {
	const path = join(folder, basename(model.path));
	let bytes = 0;
	for (const { source, target } of [{ source: model.path, target: path }, ...externalCopies(model, folder)]) {
		await makeFolders(dirname(target));
		bytes += await orWriteError(placeFile(source, target), target);
	}
	return { path, bytes };
}

async function placeFile(source: string, target: string) {
	const { size } = await stat(source);
	await rm(target, { force: true });
	// Not every file system can link, and none across two.
	const isLinked =
		size >= copyBelowBytes &&
		(await link(source, target).then(
			() => true,
			() => false,
		));
	if (!isLinked) await copyFile(source, target, constants.COPYFILE_FICLONE);
	return size;
}

export function markOutputs({ model, outputs, folder }: MarkJob): Promise<ModelOnDisk> {
	const nodes = model.onnx.graph.nodes.map((_, kept) => ({ kept }));
	return editModel(model, { nodes, addedOutputs: outputs }, folder);
}

/** Files of external data that the edited model reads are copied whole. */
export async function editModel(model: ModelOnDisk, edit: GraphEdit, folder: string): Promise<ModelOnDisk> {
	const path = join(folder, basename(model.path));
	const bytes = rewriteOnnx(await readInput(model.path, inputKinds.model), edit);
	const onnx = readOnnx(memorySource(bytes), path);
	const read = new Set(tensorsOf(scopesOf(onnx)).map(({ external }) => external?.location));
	const external = model.external.filter(({ location }) => read.has(location));
	await makeFolders(folder);
	await copyExternal({ ...model, external }, folder);
	await orWriteError(writeFile(path, bytes), path);
	return {
		path,
		onnx,
		sha256: digestOf(bytes),
		external: external.map((file) => ({
			...file,
			path: file.path === null ? null : join(folder, file.location),
		})),
	};
}
