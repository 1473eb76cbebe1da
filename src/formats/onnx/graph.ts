// Reads GraphProto, NodeProto and FunctionProto; subgraphs in attributes are read after their node.
import type { OnnxAttribute, OnnxFunction, OnnxGraph, OnnxInitializer, OnnxNode, OnnxSubgraph, OnnxValue } from "../../core/onnx/model.ts";
import { readAttribute } from "./attribute.ts";
import { readSparseTensor, readTensor } from "./tensor.ts";
import { readValueInfo } from "./value-info.ts";
import type { Span, WireReader } from "./wire.ts";

export interface ReadNode {
	node: OnnxNode;
	/** Subgraphs that wait to be read, by attribute. */
	graphs: readonly { attribute: string; span: Span }[];
}

/** The standard domain has two spellings. */
export function domainOf(text: string): string {
	return text === "ai.onnx" ? "" : text;
}

/** Fields of onnx.proto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. */
export function readNode(wire: WireReader): ReadNode {
	wire.keep(4);
	let name = "";
	let op = "";
	let domain = "";
	const inputs: string[] = [];
	const outputs: string[] = [];
	const attributes: OnnxAttribute[] = [];
	const graphs: { attribute: string; span: Span }[] = [];
	wire.message((field) => {
		if (field === 1) inputs.push(wire.text());
		else if (field === 2) outputs.push(wire.text());
		else if (field === 3) name = wire.text();
		else if (field === 4) op = wire.text();
		else if (field === 7) domain = domainOf(wire.text());
		else if (field === 5) {
			const read = readAttribute(wire);
			attributes.push(read.attribute);
			for (const span of read.graphs) graphs.push({ attribute: read.attribute.name, span });
		}
	});
	return { node: { name, domain, op, inputs, outputs, attributes }, graphs };
}

/** A graph while it is read: protobuf merges repeated messages, so fields only add. */
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

/** Adds the current node, and the graphs inside it, to a graph or a function's body. */
export function readNodeInto(wire: WireReader, body: { nodes: OnnxNode[]; subgraphs: OnnxSubgraph[] }): void {
	const { node, graphs } = readNode(wire);
	const nodeIndex = body.nodes.push(node) - 1;
	for (const { attribute, span } of graphs) {
		const graph = emptyGraph();
		wire.revisit(span, (field) => readGraphField(wire, field, graph));
		body.subgraphs.push({ node: node.name, nodeIndex, attribute, graph });
	}
}

/** Fields of onnx.proto: name 1, input 4, output 5, node 7, opset_import 9, domain 10. */
export function readFunction(wire: WireReader): OnnxFunction {
	wire.keep(8);
	let name = "";
	let domain = "";
	const inputs: string[] = [];
	const outputs: string[] = [];
	const opsets = emptyOpsets();
	const body: { nodes: OnnxNode[]; subgraphs: OnnxSubgraph[] } = { nodes: [], subgraphs: [] };
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 4) inputs.push(wire.text());
		else if (field === 5) outputs.push(wire.text());
		else if (field === 7) readNodeInto(wire, body);
		else if (field === 9) readOpset(wire, opsets);
		else if (field === 10) domain = domainOf(wire.text());
	});
	return { domain, name, inputs, outputs, opsets, ...body };
}

/** Without a prototype: domains come from the file. */
export function emptyOpsets(): Record<string, number> {
	return Object.create(null) as Record<string, number>;
}

/** Domain 1, version 2. */
export function readOpset(wire: WireReader, opsets: Record<string, number>): void {
	wire.keep();
	let domain = "";
	let version = 0;
	wire.message((field) => {
		if (field === 1) domain = domainOf(wire.text());
		else if (field === 2) version = wire.int64();
	});
	opsets[domain] = version;
}
