// Converts the nodes of ONNX Runtime's optimised graph to layers of an engine.

import type { OnnxGraph, OnnxNode } from "../../core/onnx/model.ts";
import type { EngineLayer, EngineLayers, LayerProfile, LayerTensor } from "../../engine/core/layer.ts";
import { nameOnly } from "../../engine/core/model.ts";
import type { CountedNode, NodeTensor } from "./profile.ts";

const dtypes: Readonly<Record<string, string>> = { float: "fp32", float16: "fp16", double: "fp64" };
const bytesOf: Readonly<Record<string, number>> = {
	fp64: 8,
	int64: 8,
	uint64: 8,
	fp16: 2,
	int16: 2,
	uint16: 2,
	int8: 1,
	uint8: 1,
	bool: 1,
};

const shapeOps = new Set(["Shape", "Size", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"]);

export function countedLayers(
	nodes: readonly CountedNode[],
	graph: OnnxGraph,
): { info: EngineLayers; times: LayerProfile } {
	const known = new Map(graph.nodes.map((node) => [node.name, node]));
	const total = nodes.reduce((sum, { instructions }) => sum + instructions, 0) || 1;
	const layers = nodes.map(({ name, instructions }) => ({
		name,
		// Millions of instructions take the place of milliseconds.
		averageMs: instructions / 1e6,
		share: instructions / total,
	}));
	return {
		info: { detail: "detailed", layers: nodes.map((node) => layerOf(node, known.get(node.name))), io: [] },
		times: { iterations: 1, layers },
	};
}

/** Makes a layer of a counted node; for a fused node, the model has only the first of its nodes. */
function layerOf(
	{ name, op, inputs, outputs, weightBytes }: CountedNode,
	node: OnnxNode | undefined,
): EngineLayer {
	const named = (
		tensors: readonly NodeTensor[],
		names: readonly string[] = [],
		way: "in" | "out",
	): LayerTensor[] =>
		tensors.map(({ dtype, dims }, at) => ({
			name: names[at] || `${name} ${way} ${at}`,
			dims,
			dtype: dtypes[dtype] ?? dtype,
			format: "",
		}));
	const read = named(inputs, node?.inputs, "in");
	const [data, weights] = read;
	const dtype = (weightBytes > 0 ? weights?.dtype : undefined) ?? data?.dtype ?? null;
	return {
		...nameOnly(name),
		kind: shapeOps.has(op) ? "shape" : "compute",
		type: op,
		inputs: read,
		outputs: named(outputs, node?.outputs, "out"),
		precision: dtype,
		weights: weightBytes === 0 ? null : { dtype, elements: weightBytes / (bytesOf[dtype ?? ""] ?? 4) },
		onnxNodes: [name],
	};
}
