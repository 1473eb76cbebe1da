// Reads a model from disk: its structure, its hash, its external data, and the weights that can be changed in place.
import { inputKinds } from "../../core/input-kind.ts";
import type { ExternalFile } from "../../core/onnx/model.ts";
import { findWeights } from "../../formats/onnx/reader.ts";
import type { Reference } from "../../ports/reference.ts";
import type { ModelOnDisk, ModelReader } from "../../ports/world.ts";
import { fileSource, withInput } from "../process/input-file.ts";
import { readStructure } from "./external-files.ts";
import { hashFile, hashOfLines, hashOpen } from "./store.ts";

export function fileModelReader(): ModelReader {
	return { read: readModel };
}

function readModel(path: string): Promise<ModelOnDisk> {
	return withInput(path, inputKinds.model, async (input) => {
		const model = readStructure(input, path);
		return { ...model, sha256: await hashModel(input.file, model.external) };
	});
}

/**
 * With external data, this is the hash of the sorted lines `sha256  location`; the model's own location is `-`. In a shell:
 * `{ sha256sum < model.onnx; sha256sum weights.bin; } | LC_ALL=C sort | sha256sum`.
 */
async function hashModel(file: number, external: readonly ExternalFile[]): Promise<string> {
	const own = await hashOpen(file);
	if (external.length === 0) return own;
	const lines = [`${own}  -`];
	for (const { path, location, problem } of external) {
		const isThere = path !== null && problem !== "missing";
		lines.push(`${isThere ? await hashFile(path, inputKinds.model) : (problem ?? "missing")}  ${location}`);
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

function isReachable(place: { file: string | null; bytes: number }, model: ModelOnDisk): boolean {
	if (place.bytes === 0 || place.bytes > maxWeightBytes) return false;
	const data = model.external.find(({ location }) => location === place.file);
	return place.file === null || (data !== undefined && data.path !== null && data.problem === null);
}
