// Reads GraphProto and, once a node is read, the subgraphs in its attributes.
import type { OnnxGraph, OnnxInitializer, OnnxNode, OnnxSubgraph, OnnxValue } from "../../core/onnx/model.ts";
import { readNode } from "./node.ts";
import { readSparseTensor, readTensor } from "./tensor.ts";
import { readValueInfo } from "./value-info.ts";
import type { WireReader } from "./wire.ts";

/** A graph while it is read: protobuf merges a message that comes twice, so fields only ever add. */
export interface GraphDraft extends OnnxGraph {
	inputs: OnnxValue[];
	outputs: OnnxValue[];
	nodes: OnnxNode[];
	initializers: OnnxInitializer[];
	valueInfo: OnnxValue[];
	subgraphs: OnnxSubgraph[];
}

export function emptyGraph(): GraphDraft {
	return { name: "", inputs: [], outputs: [], nodes: [], initializers: [], valueInfo: [], subgraphs: [] };
}

/** Fields of onnx.proto: node 1, name 2, initializer 5, input 11, output 12, value_info 13, sparse_initializer 15. */
export function readGraphField(wire: WireReader, field: number, graph: GraphDraft): void {
	if (field === 1) readNodeInto(wire, graph);
	else if (field === 2) graph.name = wire.text();
	else if (field === 5) graph.initializers.push(readTensor(wire));
	else if (field === 11) graph.inputs.push(readValueInfo(wire));
	else if (field === 12) graph.outputs.push(readValueInfo(wire));
	else if (field === 13) graph.valueInfo.push(readValueInfo(wire));
	else if (field === 15) graph.initializers.push(readSparseTensor(wire));
}

/** Adds the node at hand, and the graphs inside it, to a graph or a function's body. */
export function readNodeInto(wire: WireReader, body: { nodes: OnnxNode[]; subgraphs: OnnxSubgraph[] }): void {
	const { node, graphs } = readNode(wire);
	const nodeIndex = body.nodes.push(node) - 1;
	for (const { attribute, span } of graphs) {
		const graph = emptyGraph();
		wire.revisit(span, (field) => readGraphField(wire, field, graph));
		body.subgraphs.push({ node: node.name, nodeIndex, attribute, graph });
	}
}
