// Finds the byte ranges of the float weights of a model, so that they can be changed in place.
import { toDType } from "../../core/onnx/element-type.ts";
import type { OnnxInitializer, OnnxNode, OnnxSubgraph } from "../../core/onnx/model.ts";
import {
	accessors,
	type WeightDType,
	type WeightLocation,
} from "../../golden/core/record/defects/weights.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { readOnnx } from "./reader.ts";
import { spans } from "./tensor.ts";

interface Body {
	nodes: readonly OnnxNode[];
	initializers: readonly OnnxInitializer[];
	subgraphs: readonly OnnxSubgraph[];
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
	const keep = (tensor: OnnxInitializer, name: string, least: number): void => {
		const dtype = toDType(tensor.dtype) as WeightDType | null;
		if (dtype === null || tensor.sparse || !Object.hasOwn(accessors, dtype)) return;
		const { size } = accessors[dtype];
		const elements = tensor.dims.reduce((product, each) => product * each, 1);
		if (elements < (size === 1 ? minElements : least)) return;
		const place = placeOf(tensor, elements * size);
		if (place === null) unplaced.push(name);
		else places.push({ name, dtype, dims: tensor.dims, bytes: elements * size, ...place });
	};
	const walk = ({ nodes, initializers, subgraphs }: Body): void => {
		const inner = subgraphs.values();
		let next = inner.next();
		for (const [index, { attributes, outputs }] of nodes.entries()) {
			for (; next.value?.nodeIndex === index; next = inner.next()) walk(next.value.graph);
			for (const { tensor } of attributes)
				if (tensor !== undefined) keep(tensor, tensor.name || (outputs[0] ?? ""), minElements);
		}
		for (const tensor of initializers) keep(tensor, tensor.name, 1);
	};
	walk(readOnnx(source, path).graph);
	return { places, unplaced };
}

function placeOf(tensor: OnnxInitializer, bytes: number): Pick<WeightLocation, "file" | "offset"> | null {
	if (tensor.external !== undefined) {
		const { location, offset, length } = tensor.external;
		return length === null || length >= bytes ? { file: location, offset } : null;
	}
	const span = spans.get(tensor);
	return span !== undefined && span.end - span.start === bytes ? { file: null, offset: span.start } : null;
}
