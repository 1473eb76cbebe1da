// What a run of a model depends on, of its file: the ranks of its inputs, and its largest tensor at given sizes.
import { elementBits } from "./element-type.ts";
import { subjectOf } from "./findings/subject.ts";
import type { InspectedModel } from "./model.ts";
import { feeds } from "./model.ts";
import { formatDims } from "./shapes.ts";
import { elementsOf } from "./static-shapes/operator.ts";

export interface ModelFacts {
	inputRanks: ReadonlyMap<string, number>;
	/** null where no shape is known. Weights do not count. */
	largestTensor: { name: string; shape: string; bytes: number } | null;
}

export interface ModelSizes {
	/** Shapes of inputs, which size the symbolic dimensions. */
	shapes: ReadonlyMap<string, readonly number[]>;
	/** Bits that an element takes at least. */
	minBits: number;
}

export function modelFacts(model: InspectedModel, { shapes, minBits }: ModelSizes): ModelFacts {
	const inputs = feeds(model.onnx.graph);
	const sizes = new Map(
		inputs.flatMap(({ name, dims }) =>
			(dims ?? []).map((dim, axis) => [dim, shapes.get(name)?.[axis]] as const).filter(([dim]) => typeof dim === "string"),
		),
	);
	const { static: inferred, scopes, types, constants } = subjectOf(model, { backend: "onnxruntime" });
	const [graph] = scopes;
	let largest: ModelFacts["largestTensor"] = null;
	for (const [name, symbolic] of inferred.shapes) {
		if (graph === undefined || constants.get(graph)?.has(name)) continue;
		const dims = symbolic.map((dim) => sizes.get(dim) ?? dim);
		const elements = elementsOf(dims);
		const bits = Math.min(elementBits(types.get(graph)?.get(name) ?? "float") ?? minBits, minBits);
		const bytes = elements === null ? 0 : (elements * bits) / 8;
		if (bytes > (largest?.bytes ?? 0)) largest = { name, shape: formatDims(dims), bytes };
	}
	return {
		inputRanks: new Map(inputs.flatMap(({ name, dims }) => (dims === null ? [] : [[name, dims.length] as const]))),
		largestTensor: largest,
	};
}
