// Finds the float weights of a model on disk that can be changed in place, in its own file or beside it.
import { inputKinds } from "../../core/input-kind.ts";
import { findWeights } from "../../formats/onnx/weight-places.ts";
import type { Reference } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { fileSource } from "../process/file-source.ts";
import { withInput } from "../process/input-file.ts";

/** One read of Node takes no more. */
const mostWeightBytes = 2 ** 31 - 1;

export const readWeights: Reference["weights"] = (model) =>
	withInput(model.path, inputKinds.model, ({ file, facts }) => {
		const found = findWeights(fileSource(file, facts.size), model.path);
		const places = found.places.filter((place) => isReachable(place, model));
		const others = found.places.filter((place) => !isReachable(place, model));
		return { places, unplaced: [...found.unplaced, ...others.map(({ name }) => name)] };
	});

function isReachable(place: { file: string | null; bytes: number }, model: ModelOnDisk): boolean {
	if (place.bytes === 0 || place.bytes > mostWeightBytes) return false;
	return (
		place.file === null ||
		model.external.some(({ location, path, problem }) => location === place.file && path !== null && problem === null)
	);
}
