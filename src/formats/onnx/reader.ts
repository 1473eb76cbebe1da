// Reads an ONNX file's structure in one pass; weights are skipped, never read.
import { groupBy } from "../../core/group.ts";
import {
	elementTypeOfCode,
	type OnnxAttribute,
	type OnnxDim,
	type OnnxFunction,
	type OnnxGraph,
	type OnnxInitializer,
	type OnnxModel,
	type OnnxNode,
	type OnnxSubgraph,
	type OnnxValue,
	toDType,
} from "../../core/onnx/model.ts";
import { type WeightLocation, weightDTypes } from "../../golden/core/record/defects/weights.ts";
import { elementBytes } from "../../golden/core/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { checkHead, headBytes, limits, unreadable } from "./head.ts";
import { readAttribute, readSparseTensor, readTensor, spans } from "./tensor.ts";
import { type Span, WireReader } from "./wire.ts";

/** ONNX is at IR 14; a far higher number is a random file, not a model. */
const isPlausibleIr = (version: number) => version > 0 && version <= 1000;

/**
 * ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8, functions 25.
 *
 * @throws ConfigError model-unreadable: empty, text, Git LFS pointer, truncated, damaged, not ONNX, beyond `limits`.
 */
export function readOnnx(source: ByteSource, path: string): OnnxModel {
	checkHead(source.read(0, Math.min(headBytes, source.size)), source.size, path);
	const wire = new WireReader(source, path);
	const model = { irVersion: 0, producer: "", producerVersion: "" };
	const opsets = emptyOpsets();
	const functions: OnnxFunction[] = [];
	// Protobuf merges repeated messages, so fields only add.
	const graph = emptyGraph();
	let hasGraph = false;
	const readGraphPart = (field: number) => readGraphField(wire, field, graph);
	wire.fields((field) => {
		if (field === 1) {
			model.irVersion = wire.number("int64");
			if (isPlausibleIr(model.irVersion)) wire.recognise();
		} else if (field === 2) model.producer = wire.text();
		else if (field === 3) model.producerVersion = wire.text();
		else if (field === 7) {
			hasGraph = true;
			wire.message(readGraphPart);
		} else if (field === 8) readOpset(wire, opsets);
		else if (field === 25) functions.push(readFunction(wire));
	});
	if (!hasGraph)
		throw unreadable(
			`${path} contains no graph: it is not an ONNX model, or only a part of one.`,
			path,
			"Give the .onnx file that the exporter wrote.",
		);
	return { bytes: source.size, ...model, opsets, graph, functions };
}

function domainOf(text: string) {
	return text === "ai.onnx" ? "" : text;
}

interface GraphDraft extends OnnxGraph {
	inputs: OnnxValue[];
	outputs: OnnxValue[];
	nodes: OnnxNode[];
	initializers: OnnxInitializer[];
	valueInfo: OnnxValue[];
	subgraphs: OnnxSubgraph[];
}

function emptyGraph() {
	return { name: "", inputs: [], outputs: [], nodes: [], initializers: [], valueInfo: [], subgraphs: [] };
}

/** GraphProto: node 1, name 2, initializer 5, input 11, output 12, value_info 13, sparse_initializer 15. */
function readGraphField(wire: WireReader, field: number, graph: GraphDraft) {
	if (field === 1) readNode(wire, graph);
	else if (field === 2) graph.name = wire.text();
	else if (field === 5) graph.initializers.push(readTensor(wire));
	else if (field === 11) graph.inputs.push(readValueInfo(wire));
	else if (field === 12) graph.outputs.push(readValueInfo(wire));
	else if (field === 13) graph.valueInfo.push(readValueInfo(wire, false));
	else if (field === 15) graph.initializers.push(readSparseTensor(wire));
}

/** NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. Its subgraphs are read after it. */
function readNode(wire: WireReader, body: Pick<GraphDraft, "nodes" | "subgraphs">) {
	wire.keep(4);
	let [name, op, domain] = ["", "", ""];
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
	const nodeIndex = body.nodes.push({ name, domain, op, inputs, outputs, attributes }) - 1;
	for (const { attribute, span } of graphs) {
		const graph = emptyGraph();
		wire.revisit(span, (field) => readGraphField(wire, field, graph));
		body.subgraphs.push({ nodeIndex, attribute, graph });
	}
}

/** FunctionProto: name 1, input 4, output 5, node 7, opset_import 9, domain 10. */
function readFunction(wire: WireReader) {
	wire.keep(8);
	let [name, domain] = ["", ""];
	const inputs: string[] = [];
	const outputs: string[] = [];
	const opsets = emptyOpsets();
	const body = { nodes: [] as OnnxNode[], subgraphs: [] as OnnxSubgraph[] };
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 4) inputs.push(wire.text());
		else if (field === 5) outputs.push(wire.text());
		else if (field === 7) readNode(wire, body);
		else if (field === 9) readOpset(wire, opsets);
		else if (field === 10) domain = domainOf(wire.text());
	});
	return { domain, name, inputs, outputs, opsets, ...body };
}

function emptyOpsets() {
	return Object.create(null) as Record<string, number>;
}

function readOpset(wire: WireReader, opsets: Record<string, number>) {
	wire.keep();
	let domain = "";
	let version = 0;
	wire.message((field) => {
		if (field === 1) domain = domainOf(wire.text());
		else if (field === 2) version = wire.number("int64");
	});
	opsets[domain] = version;
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
		const stored = toDType(tensor.dtype);
		const dtype = weightDTypes.find((one) => one === stored);
		if (dtype === undefined || tensor.sparse) continue;
		const size = elementBytes[dtype];
		const elements = tensor.dims.reduce((product, each) => product * each, 1);
		if (elements < (size === 1 ? minElements : least)) continue;
		const place = placeOf(tensor, elements * size);
		if (place === null) unplaced.push(name);
		else places.push({ name, dtype, dims: tensor.dims, bytes: elements * size, ...place });
	}
	return { places, unplaced };
}

/** In the order of the file: each node's subgraphs and tensors, then the initialisers. */
function* tensorsIn({
	nodes,
	initializers,
	subgraphs,
}: OnnxGraph): Generator<{ tensor: OnnxInitializer; name: string; least: number }> {
	const inner = groupBy(subgraphs, ({ nodeIndex }) => nodeIndex);
	for (const [index, { attributes, outputs }] of nodes.entries()) {
		for (const { graph } of inner.get(index) ?? []) yield* tensorsIn(graph);
		for (const { tensor } of attributes)
			if (tensor !== undefined) yield { tensor, name: tensor.name || (outputs[0] ?? ""), least: minElements };
	}
	for (const tensor of initializers) yield { tensor, name: tensor.name, least: 1 };
}

function placeOf(tensor: OnnxInitializer, bytes: number) {
	if (tensor.external !== undefined) {
		const { location, offset, length } = tensor.external;
		return length === null || length >= bytes ? { file: location, offset } : null;
	}
	const span = spans.get(tensor);
	return span !== undefined && span.end - span.start === bytes ? { file: null, offset: span.start } : null;
}

/** Fields of onnx.proto: name 1, type 2. */
function readValueInfo(wire: WireReader, hasShape = true) {
	wire.keep(2);
	let name = "";
	let type = noType;
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 2) type = readType(wire, hasShape);
	});
	return { name, ...type };
}

const noType: Pick<OnnxValue, "kind" | "dtype" | "dims"> = {
	kind: "unknown",
	dtype: "undefined",
	dims: null,
};
/** Fields of TypeProto; opaque is 7. */
const typeKinds: Readonly<Record<number, OnnxValue["kind"]>> = {
	1: "tensor",
	4: "sequence",
	5: "map",
	8: "sparse-tensor",
	9: "optional",
};

function readType(wire: WireReader, hasShape: boolean) {
	let type = noType;
	wire.message((field) => {
		const kind = typeKinds[field];
		if (kind !== undefined) type = readTypeOf(wire, kind, hasShape);
	});
	return type;
}

/** A tensor's element type 1 and shape 2; the element type of sequences and optionals 1, of maps 2. */
function readTypeOf(wire: WireReader, kind: OnnxValue["kind"], hasShape: boolean) {
	const isTensor = kind === "tensor" || kind === "sparse-tensor";
	let dtype: OnnxValue["dtype"] = "undefined";
	let dims: OnnxDim[] | null = null;
	wire.message((field) => {
		if (isTensor && field === 1) dtype = elementTypeOfCode(wire.number("int32"));
		else if (isTensor && field === 2 && hasShape) dims = readShape(wire);
		else if (!isTensor && field === (kind === "map" ? 2 : 1)) dtype = readType(wire, false).dtype;
	});
	return { kind, dtype, dims };
}

function readShape(wire: WireReader) {
	const dims: OnnxDim[] = [];
	wire.message((field) => {
		if (field !== 1) return;
		if (dims.length >= limits.rank) throw wire.fault(`has a tensor of more than ${limits.rank} dimensions`);
		wire.keep();
		let dim: OnnxDim = null;
		wire.message((inner) => {
			if (inner === 1) dim = wire.number("int64");
			else if (inner === 2) dim = wire.text() || null;
		});
		dims.push(typeof dim === "number" && dim < 0 ? null : dim);
	});
	return dims;
}
