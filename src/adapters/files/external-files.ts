// Finds the external data of a model on disk: what is missing, short, a pointer, or outside the model's folder.
import { closeSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep, win32 } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import type { ExternalFile, InspectedModel, OnnxModel } from "../../core/onnx/model.ts";
import { scopesOf, tensorsOf } from "../../core/onnx/walk.ts";
import { isLfsPointer } from "../../formats/onnx/head.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { fileSource, type InputFile, openInput } from "../process/input-file.ts";

/** A pointer is a text of about 130 bytes; Git LFS itself calls anything longer data. */
const maxPointerBytes = 1024;

/** A model's structure and the files beside it, without its hash: hashing takes longer than all other reading. */
export function readStructure({ file, facts }: InputFile, path: string): InspectedModel {
	const onnx = readOnnx(fileSource(file, facts.size), path);
	return { path, onnx, sha256: "", external: findExternalFiles(path, onnx) };
}

/** Locations are relative to the model's folder (ONNX, docs/ExternalData.md), in order of appearance. */
function findExternalFiles(modelPath: string, model: OnnxModel): ExternalFile[] {
	const needed = new Map<string, number>();
	for (const tensor of tensorsOf(scopesOf(model))) {
		if (tensor.external === undefined) continue;
		const end = tensor.external.offset + (tensor.external.length ?? tensor.bytes);
		needed.set(tensor.external.location, Math.max(end, needed.get(tensor.external.location) ?? 0));
	}
	if (needed.size === 0) return [];
	const folders = allowedFolders(modelPath);
	return [...needed].map(([location, neededBytes]) => inspect(modelPath, { location, neededBytes, folders }));
}

/** The folder of the path, and the real folder of a linked model: model caches link both model and data. */
function allowedFolders(modelPath: string): string[] {
	return [realpathSync(dirname(resolve(modelPath))), dirname(realpathSync(modelPath))];
}

function inspect(
	modelPath: string,
	wanted: { location: string; neededBytes: number; folders: readonly string[] },
): ExternalFile {
	const { location, neededBytes, folders } = wanted;
	const refused = (problem: ExternalFile["problem"]): ExternalFile => ({
		location,
		neededBytes,
		path: null,
		problem,
	});
	if (isAbsolute(location) || win32.isAbsolute(location)) return refused("absolute");
	const folder = dirname(resolve(modelPath));
	const path = join(folder, location);
	if (!isInside(path, folder)) return refused("outside");
	if (location === "") return refused("missing");
	const facts = factsOf(path);
	if (!facts?.isFile()) return { location, neededBytes, path, problem: "missing" };
	const real = realpathSync(path);
	if (!folders.some((allowed) => isInside(real, allowed))) return refused("outside");
	return { location, neededBytes, path, problem: problemOf(path, facts.size, neededBytes) };
}

/** The file at a path, or null where there is none (no such file, a loop of links, a name too long). */
function factsOf(path: string): Stats | null {
	try {
		return statSync(path);
	} catch {
		return null;
	}
}

function isInside(path: string, folder: string): boolean {
	const steps = relative(folder, path);
	return steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}

function problemOf(path: string, size: number, neededBytes: number): ExternalFile["problem"] {
	if (size <= maxPointerBytes && isLfsPointer(readStart(path))) return "lfs-pointer";
	return size < neededBytes ? "short" : null;
}

function readStart(path: string): Uint8Array {
	const { file, facts } = openInput(path, inputKinds.model);
	try {
		return fileSource(file, facts.size).read(0, 64);
	} finally {
		closeSync(file);
	}
}
