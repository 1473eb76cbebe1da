// Reads a model from disk: its structure, its hash, its external data, and the weights that can be changed in place.
import { closeSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep, win32 } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import type { ExternalFile, InspectedModel, OnnxModel } from "../../core/onnx/model.ts";
import { countGroups, prunableWeights, type WeightPattern } from "../../core/onnx/sparsity.ts";
import { scopesOf, tensorsOf } from "../../core/onnx/walk.ts";
import { isLfsPointer } from "../../formats/onnx/head.ts";
import { findWeights, readOnnx } from "../../formats/onnx/reader.ts";
import type { WeightLocation } from "../../golden/core/record/defects/weights.ts";
import { elementCount } from "../../golden/core/tensor/tensor.ts";
import type { Reference } from "../../ports/reference.ts";
import type { ModelOnDisk, PatternReader, Progress } from "../../ports/world.ts";
import { fileSource, type InputFile, openInput, withInput } from "../process/input-file.ts";
import { hashFile, hashOfLines, hashOpen, watchReading } from "./store.ts";

export function readModel(path: string, progress?: Progress, stage?: string): Promise<ModelOnDisk> {
	return withInput(path, inputKinds.model, async (input) => {
		const model = readStructure(input, path);
		const sizes = model.external.map((data) => (data.path === null ? 0 : (sizeOfFile(data.path) ?? 0)));
		const total = sizes.reduce((sum, size) => sum + size, input.facts.size);
		const onRead = watchReading(total, progress, stage);
		return { ...model, sha256: await hashModel(input.file, model.external, onRead) };
	});
}

/**
 * With external data, this is the hash of the sorted lines `sha256  location`; the model's own location is `-`. In a shell:
 * `{ sha256sum < model.onnx; sha256sum weights.bin; } | LC_ALL=C sort | sha256sum`.
 */
async function hashModel(
	file: number,
	external: readonly ExternalFile[],
	onRead: ReturnType<typeof watchReading>,
) {
	const own = await hashOpen(file, onRead);
	if (external.length === 0) return own;
	const lines = [`${own}  -`];
	for (const { path, location, problem } of external) {
		const isThere = path !== null && problem !== "missing";
		lines.push(
			`${isThere ? await hashFile(path, inputKinds.model, onRead) : (problem ?? "missing")}  ${location}`,
		);
	}
	return hashOfLines(lines);
}

const maxWeightBytes = 2 ** 31 - 1;

export const readWeights: Reference["weights"] = (model) =>
	withInput(model.path, inputKinds.model, ({ file, facts }) => {
		const found = findWeights(fileSource(file, facts.size), model.path);
		const places = found.places.filter((place) => isReachable(place, model));
		const others = found.places.filter((place) => !isReachable(place, model));
		return { places, unplaced: [...found.unplaced, ...others.map(({ name }) => name)] };
	});

function isReachable(place: { file: string | null; bytes: number }, model: ModelOnDisk) {
	if (place.bytes === 0 || place.bytes > maxWeightBytes) return false;
	const data = model.external.find(({ location }) => location === place.file);
	return place.file === null || (data !== undefined && data.path !== null && data.problem === null);
}

/** A pointer has about 130 bytes; Git LFS treats anything longer than this as data. */
const maxPointerBytes = 1024;

/** Does not hash, which takes longer than all other reading. */
export function readStructure({ file, facts }: InputFile, path: string): InspectedModel {
	const onnx = readOnnx(fileSource(file, facts.size), path);
	return { path, onnx, sha256: "", external: findExternalFiles(path, onnx) };
}

/** Locations are relative to the model's folder (ExternalData.md of ONNX), in order of appearance. */
function findExternalFiles(modelPath: string, model: OnnxModel): ExternalFile[] {
	const needed = new Map<string, number>();
	for (const tensor of tensorsOf(scopesOf(model))) {
		if (tensor.external === undefined) continue;
		const end = tensor.external.offset + (tensor.external.length ?? tensor.bytes);
		needed.set(tensor.external.location, Math.max(end, needed.get(tensor.external.location) ?? 0));
	}
	if (needed.size === 0) return [];
	const folder = dirname(resolve(modelPath));
	// A model cache links both the model and its data, so the real folder of a linked model counts too.
	const allowed = [realpathSync(folder), dirname(realpathSync(modelPath))];
	return [...needed].map(([location, neededBytes]) => {
		const { path, problem } = inspect(location, { neededBytes, folder, allowed });
		return { location, neededBytes, path, problem };
	});
}

function inspect(
	location: string,
	{ neededBytes, folder, allowed }: { neededBytes: number; folder: string; allowed: readonly string[] },
): Pick<ExternalFile, "path" | "problem"> {
	if (isAbsolute(location) || win32.isAbsolute(location)) return { path: null, problem: "absolute" };
	const path = join(folder, location);
	if (!isInside(path, folder)) return { path: null, problem: "outside" };
	if (location === "") return { path: null, problem: "missing" };
	const size = sizeOfFile(path);
	if (size === null) return { path, problem: "missing" };
	const real = realpathSync(path);
	if (!allowed.some((one) => isInside(real, one))) return { path: null, problem: "outside" };
	if (size <= maxPointerBytes && isLfsPointer(readStart(path))) return { path, problem: "lfs-pointer" };
	return { path, problem: size < neededBytes ? "short" : null };
}

function sizeOfFile(path: string) {
	try {
		const facts = statSync(path);
		return facts.isFile() ? facts.size : null;
	} catch {
		return null;
	}
}

function isInside(path: string, folder: string) {
	const steps = relative(folder, path);
	return steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}

function readStart(path: string) {
	const { file, facts } = openInput(path, inputKinds.model);
	try {
		return fileSource(file, facts.size).read(0, 64);
	} finally {
		closeSync(file);
	}
}

const chunkBytes = 4 * 1024 * 1024;

export const readPatterns: PatternReader["patterns"] = async (model) => {
	const { places } = await readWeights(model);
	const byName = new Map(places.map((place) => [place.name, place]));
	const found: WeightPattern[] = [];
	for (const weight of prunableWeights(model.onnx.graph)) {
		const place = byName.get(weight.name);
		const counter = place && countGroups(place.dims, weight.axis, place.dtype);
		if (!place || !counter) continue;
		await readChunks(model, place, counter.feed);
		const elements = elementCount(place.dims);
		found.push({ ...weight, elements, ...counter.result() });
	}
	return found;
};

function readChunks(
	{ path, external }: ModelOnDisk,
	{ file, offset, bytes }: WeightLocation,
	feed: (bytes: Uint8Array) => void,
) {
	const data = external.find(({ location }) => location === file)?.path ?? path;
	return withInput(data, inputKinds.model, (input) => {
		const source = fileSource(input.file, input.facts.size);
		for (let at = 0; at < bytes; at += chunkBytes)
			feed(source.read(offset + at, Math.min(chunkBytes, bytes - at)));
	});
}
