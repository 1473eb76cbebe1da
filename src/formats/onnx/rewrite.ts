// Rewrites the nodes of an ONNX file; everything else, unknown fields included, stays byte for byte.
import type { GraphEdit, KeptNode } from "../../core/onnx/graph-edit.ts";
import { unreadable } from "./cursor.ts";
import { bytesField, fieldHeader, joinBytes, nodeMessage, textField, valueInfo } from "./write.ts";

/** One field of a message: its number, all its bytes, and its payload where it is length-delimited. */
interface Field {
	number: number;
	whole: Uint8Array;
	payload: Uint8Array | null;
}

/**
 * The file with its graph edited. External data stays where it is.
 *
 * @throws ConfigError model-unreadable where the file is not the one that was read.
 */
export function rewriteOnnx(file: Uint8Array, edit: GraphEdit): Uint8Array {
	const fields = fieldsOf(file);
	// Protobuf merges a message that comes twice: its fields are those of both.
	const graphs = fields.flatMap(({ number, payload }) => (number === 7 && payload !== null ? [payload] : []));
	const graph = rewriteGraph(graphs.length === 1 && graphs[0] ? graphs[0] : joinBytes(...graphs), edit);
	const others = fields.filter(({ number }) => number !== 7).map(({ whole }) => whole);
	return joinBytes(...others, fieldHeader(7, graph.length), graph);
}

/** GraphProto: node 1, output 12. */
function rewriteGraph(graph: Uint8Array, { nodes, addedOutputs = [] }: GraphEdit): Uint8Array {
	const fields = fieldsOf(graph);
	const old = fields.flatMap(({ number, payload }) => (number === 1 && payload !== null ? [payload] : []));
	const written = nodes.map((node) => bytesField(1, "kept" in node ? keptNode(node, old) : nodeMessage(node)));
	const others = fields.filter(({ number }) => number !== 1).map(({ whole }) => whole);
	return joinBytes(...written, ...others, ...addedOutputs.map((output) => bytesField(12, valueInfo(output))));
}

/** NodeProto: input 1, output 2, attribute 5. */
function keptNode({ kept, inputs, outputs, bodies }: KeptNode, nodes: readonly Uint8Array[]): Uint8Array {
	const message = nodes[kept];
	if (message === undefined) throw damaged();
	if (inputs === undefined && outputs === undefined && bodies === undefined) return message;
	const fields = fieldsOf(message);
	const rest = fields.flatMap(({ number, whole, payload }) => {
		if ((number === 1 && inputs !== undefined) || (number === 2 && outputs !== undefined)) return [];
		return [number === 5 && payload !== null && bodies !== undefined ? bytesField(5, editedAttribute(payload, bodies)) : whole];
	});
	return joinBytes(...(inputs ?? []).map((name) => textField(1, name)), ...(outputs ?? []).map((name) => textField(2, name)), ...rest);
}

const utf8 = new TextDecoder();

/** AttributeProto: name 1, g 6. */
function editedAttribute(attribute: Uint8Array, bodies: ReadonlyMap<string, GraphEdit>): Uint8Array {
	const fields = fieldsOf(attribute);
	const name = fields.findLast(({ number }) => number === 1)?.payload ?? new Uint8Array(0);
	const edit = bodies.get(utf8.decode(name));
	if (edit === undefined) return attribute;
	return joinBytes(
		...fields.map(({ number, whole, payload }) => (number === 6 && payload !== null ? bytesField(6, rewriteGraph(payload, edit)) : whole)),
	);
}

function fieldsOf(message: Uint8Array): Field[] {
	const fields: Field[] = [];
	for (let at = 0; at < message.length; ) {
		const tag = varintAt(message, at);
		const payload = payloadOf(message, tag);
		fields.push({ number: Math.floor(tag.value / 8), whole: message.subarray(at, payload.end), payload: payload.bytes });
		at = payload.end;
	}
	return fields;
}

/** Varints here are tags and lengths; a value that JavaScript's numbers cannot hold is skipped. */
function varintAt(message: Uint8Array, start: number): { value: number; end: number } {
	let value = 0;
	for (let at = start; ; at += 1) {
		const byte = message[at];
		if (byte === undefined) throw damaged();
		value += (byte & 127) * 128 ** (at - start);
		if (byte < 128) return { value, end: at + 1 };
	}
}

/** Where the field ends, and what it holds where it has a length. */
function payloadOf(message: Uint8Array, tag: { value: number; end: number }): { bytes: Uint8Array | null; end: number } {
	const type = tag.value % 8;
	if (type === 0) return { bytes: null, end: varintAt(message, tag.end).end };
	const length = type === 2 ? varintAt(message, tag.end) : { value: type === 1 ? 8 : 4, end: tag.end };
	const end = length.end + length.value;
	if (![1, 2, 5].includes(type) || end > message.length) throw damaged();
	return { bytes: type === 2 ? message.subarray(length.end, end) : null, end };
}

function damaged() {
	return unreadable("The model changed while it was read.", "", "Run it again when nothing writes the file.");
}
