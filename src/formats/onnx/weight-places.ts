// Finds the byte ranges of the float weights of a model, so that they can be changed in place.
import { groupBy } from "../../core/group.ts";
import { toDType } from "../../core/onnx/element-type.ts";
import type { OnnxGraph, OnnxInitializer } from "../../core/onnx/model.ts";
import {
	accessors,
	type WeightDType,
	type WeightLocation,
} from "../../golden/core/record/defects/weights.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { readOnnx } from "./reader.ts";
import { spans } from "./tensor.ts";

interface Found {
	tensor: OnnxInitializer;
	name: string;
	least: number;
}

/** Tensors inside Constant nodes, and of single bytes, are weights from this size on; smaller ones are shapes, limits and scales. */
const minElements = 16;

/**
 * `unplaced`: float weights stored as protobuf numbers of changing length, which cannot be changed in place.
 *
 * @throws ConfigError model-unreadable.
 */
export function findWeights(source: ByteSource, path: string) {
	const places: WeightLocation[] = [];
	const unplaced: string[] = [];
	for (const { tensor, name, least } of tensorsIn(readOnnx(source, path).graph)) {
		const dtype = toDType(tensor.dtype) as WeightDType | null;
		if (dtype === null || tensor.sparse || !Object.hasOwn(accessors, dtype)) continue;
		const { size } = accessors[dtype];
		const elements = tensor.dims.reduce((product, each) => product * each, 1);
		if (elements < (size === 1 ? minElements : least)) continue;
		const place = placeOf(tensor, elements * size);
		if (place === null) unplaced.push(name);
		else places.push({ name, dtype, dims: tensor.dims, bytes: elements * size, ...place });
	}
	return { places, unplaced };
}

/** In the order of the file: each node's subgraphs and tensors, then the initialisers. */
function* tensorsIn({ nodes, initializers, subgraphs }: OnnxGraph): Generator<Found> {
	const inner = groupBy(subgraphs, ({ nodeIndex }) => nodeIndex);
	for (const [index, { attributes, outputs }] of nodes.entries()) {
		for (const { graph } of inner.get(index) ?? []) yield* tensorsIn(graph);
		for (const { tensor } of attributes)
			if (tensor !== undefined) yield { tensor, name: tensor.name || (outputs[0] ?? ""), least: minElements };
	}
	for (const tensor of initializers) yield { tensor, name: tensor.name, least: 1 };
}

function placeOf(tensor: OnnxInitializer, bytes: number): Pick<WeightLocation, "file" | "offset"> | null {
	if (tensor.external !== undefined) {
		const { location, offset, length } = tensor.external;
		return length === null || length >= bytes ? { file: location, offset } : null;
	}
	const span = spans.get(tensor);
	return span !== undefined && span.end - span.start === bytes ? { file: null, offset: span.start } : null;
}
