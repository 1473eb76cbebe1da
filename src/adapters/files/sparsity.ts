// Reads the 2:4 patterns of a model's weights, a few megabytes at a time.
import { inputKinds } from "../../core/input-kind.ts";
import { countGroups, prunableWeights, type WeightPattern } from "../../core/onnx/sparsity.ts";
import type { WeightLocation } from "../../golden/core/record/defects/weights.ts";
import { elementCount } from "../../golden/core/tensor/tensor.ts";
import type { ModelOnDisk, PatternReader } from "../../ports/world.ts";
import { fileSource, withInput } from "../process/input-file.ts";
import { readWeights } from "./model-reader.ts";

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
