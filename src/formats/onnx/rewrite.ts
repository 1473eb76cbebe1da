// Rewrites the nodes of an ONNX file; everything else, unknown fields included, stays byte for byte.
import type { GraphEdit, KeptNode } from "../../core/onnx/graph-edit.ts";
import { type Field, readFields } from "../tensor/protobuf.ts";
import { unreadable } from "./head.ts";
import { bytesField, fieldHeader, joinBytes, nodeMessage, textField, valueInfo } from "./write.ts";

/**
 * The file with its graph edited. External data stays where it is.
 *
 * @throws ConfigError model-unreadable if the file is not the one that was read.
 */
export function rewriteOnnx(file: Uint8Array, edit: GraphEdit): Uint8Array {
	const fields = fieldsOf(file);
	// Protobuf merges a message that comes twice: its fields are those of both.
	const graphs = fields.flatMap((field) => (isMessage(field, 7) ? [field.bytes] : []));
	const graph = rewriteGraph(graphs.length === 1 && graphs[0] ? graphs[0] : joinBytes(...graphs), edit);
	const others = fields.filter(({ number }) => number !== 7).map(({ whole }) => whole);
	return joinBytes(...others, fieldHeader(7, graph.length), graph);
}

/** GraphProto: node 1, output 12. */
function rewriteGraph(graph: Uint8Array, { nodes, addedOutputs = [] }: GraphEdit): Uint8Array {
	const fields = fieldsOf(graph);
	const old = fields.flatMap((field) => (isMessage(field, 1) ? [field.bytes] : []));
	const written = nodes.map((node) =>
		bytesField(1, "kept" in node ? keptNode(node, old) : nodeMessage(node)),
	);
	const others = fields.filter(({ number }) => number !== 1).map(({ whole }) => whole);
	return joinBytes(...written, ...others, ...addedOutputs.map((output) => bytesField(12, valueInfo(output))));
}

/** NodeProto: input 1, output 2, attribute 5. */
function keptNode({ kept, inputs, outputs, bodies }: KeptNode, nodes: readonly Uint8Array[]): Uint8Array {
	const message = nodes[kept];
	if (message === undefined) throw damaged();
	if (inputs === undefined && outputs === undefined && bodies === undefined) return message;
	const fields = fieldsOf(message);
	const rest = fields.flatMap((field) => {
		if ((field.number === 1 && inputs !== undefined) || (field.number === 2 && outputs !== undefined))
			return [];
		return [
			isMessage(field, 5) && bodies !== undefined
				? bytesField(5, editedAttribute(field.bytes, bodies))
				: field.whole,
		];
	});
	return joinBytes(
		...(inputs ?? []).map((name) => textField(1, name)),
		...(outputs ?? []).map((name) => textField(2, name)),
		...rest,
	);
}

const utf8 = new TextDecoder();

/** AttributeProto: name 1, g 6. */
function editedAttribute(attribute: Uint8Array, bodies: ReadonlyMap<string, GraphEdit>): Uint8Array {
	const fields = fieldsOf(attribute);
	const name = fields.findLast((field) => isMessage(field, 1))?.bytes ?? new Uint8Array(0);
	const edit = bodies.get(utf8.decode(name));
	if (edit === undefined) return attribute;
	return joinBytes(
		...fields.map((field) =>
			isMessage(field, 6) ? bytesField(6, rewriteGraph(field.bytes, edit)) : field.whole,
		),
	);
}

function isMessage({ number, type }: Field, wanted: number): boolean {
	return number === wanted && type === 2;
}

function fieldsOf(message: Uint8Array): Field[] {
	const fields: Field[] = [];
	if (readFields(message, (field) => fields.push(field)) !== null) throw damaged();
	return fields;
}

function damaged() {
	return unreadable("The model changed while it was read.", "", "Run it again when nothing writes the file.");
}
