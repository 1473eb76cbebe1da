// Writes protobuf fields and small messages of ONNX, and rewrites the nodes of a file.
import {
	type AddedOutput,
	type ConstantValue,
	codeOfElementType,
	type GraphEdit,
	type KeptNode,
	type NewNode,
} from "../../core/onnx/model.ts";
import { type Field, readFields } from "../tensor/protobuf.ts";
import { unreadable } from "./head.ts";

const utf8 = new TextEncoder();

export function joinBytes(...parts: readonly Uint8Array[]): Uint8Array {
	const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.length;
	}
	return whole;
}

export function varint(value: number | bigint): Uint8Array {
	let rest = BigInt.asUintN(64, BigInt(value));
	const bytes: number[] = [];
	while (rest > 127n) {
		bytes.push(Number(rest & 127n) | 128);
		rest >>= 7n;
	}
	bytes.push(Number(rest));
	return Uint8Array.from(bytes);
}

export function integerField(field: number, value: number | bigint): Uint8Array {
	return joinBytes(varint(field * 8), varint(value));
}

export function fieldHeader(field: number, length: number): Uint8Array {
	return joinBytes(varint(field * 8 + 2), varint(length));
}

export function bytesField(field: number, payload: Uint8Array): Uint8Array {
	return joinBytes(fieldHeader(field, payload.length), payload);
}

export function textField(field: number, value: string): Uint8Array {
	return bytesField(field, utf8.encode(value));
}

export function floatValues(values: readonly number[]): Uint8Array {
	return new Uint8Array(new Float32Array(values).buffer);
}

export function int64Values(values: readonly number[]): Uint8Array {
	return new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
}

/** TensorProto: dims 1, data_type 2 (float is 1, int64 is 7), raw_data 9. */
function tensorMessage({ dtype, dims, values }: ConstantValue) {
	const raw = dtype === "float" ? floatValues(values) : int64Values(values);
	return joinBytes(
		...dims.map((size) => integerField(1, size)),
		integerField(2, dtype === "float" ? 1 : 7),
		bytesField(9, raw),
	);
}

/** AttributeProto: name 1, i 3, t 5, type 20 (2 is an integer, 4 a tensor). */
function attributeMessage(name: string, value: number | ConstantValue) {
	const parts =
		typeof value === "number"
			? [integerField(3, value), integerField(20, 2)]
			: [bytesField(5, tensorMessage(value)), integerField(20, 4)];
	return joinBytes(textField(1, name), ...parts);
}

/** A file of the nodes alone, without attributes and weights: GraphProto 7 with its nodes 1. */
export function nodesFile(nodes: readonly Omit<NewNode, "attributes">[]): Uint8Array {
	return bytesField(
		7,
		joinBytes(
			...nodes.map(({ name, op, inputs, outputs }) =>
				bytesField(1, nodeMessage({ name, op, inputs, outputs })),
			),
		),
	);
}

/** NodeProto: input 1, output 2, name 3, op_type 4, attribute 5. */
function nodeMessage({ name, op, inputs, outputs, attributes = {} }: NewNode): Uint8Array {
	return joinBytes(
		...inputs.map((input) => textField(1, input)),
		...outputs.map((output) => textField(2, output)),
		...(name === undefined ? [] : [textField(3, name)]),
		textField(4, op),
		...Object.entries(attributes).map(([name, value]) => bytesField(5, attributeMessage(name, value))),
	);
}

/** ValueInfoProto of a tensor: name 1, type 2; in it tensor_type 1: elem_type 1, shape 2; dim 1: dim_value 1. */
function valueInfo({ name, dtype, dims }: AddedOutput) {
	const sizes = dims?.map((size) => bytesField(1, size === null ? joinBytes() : integerField(1, size)));
	const shape = sizes === undefined ? [] : [bytesField(2, joinBytes(...sizes))];
	const tensor = joinBytes(integerField(1, codeOfElementType(dtype)), ...shape);
	return joinBytes(textField(1, name), bytesField(2, bytesField(1, tensor)));
}

export function rewriteOnnx(file: Uint8Array, edit: GraphEdit): Uint8Array {
	const fields = fieldsOf(file);
	// Protobuf merges a message that comes twice: its fields are those of both.
	const graphs = fields.flatMap((field) => (isMessage(field, 7) ? [field.bytes] : []));
	const graph = rewriteGraph(graphs.length === 1 && graphs[0] ? graphs[0] : joinBytes(...graphs), edit);
	const others = fields.filter(({ number }) => number !== 7).map(({ whole }) => whole);
	return joinBytes(...others, fieldHeader(7, graph.length), graph);
}

/** GraphProto: node 1, output 12. */
function rewriteGraph(graph: Uint8Array, { nodes, addedOutputs = [], keptTensors }: GraphEdit): Uint8Array {
	const fields = fieldsOf(graph);
	const old = fields.flatMap((field) => (isMessage(field, 1) ? [field.bytes] : []));
	const written = nodes.map((node) =>
		bytesField(1, "kept" in node ? keptNode(node, old) : nodeMessage(node)),
	);
	const others = fields
		.filter((field) => field.number !== 1 && (keptTensors === undefined || isKept(field, keptTensors)))
		.map(({ whole }) => whole);
	return joinBytes(...written, ...others, ...addedOutputs.map((output) => bytesField(12, valueInfo(output))));
}

/**
 * GraphProto: initializer 5 (its name 8), input 11, output 12, value_info 13, quantization_annotation 14 (names 1),
 * sparse_initializer 15 (values 1: name 8).
 */
function isKept(field: Field, tensors: ReadonlySet<string>) {
	const paths: Readonly<Record<number, number[]>> = { 5: [8], 11: [1], 13: [1], 14: [1], 15: [1, 8] };
	const path = paths[field.number];
	if (path === undefined) return field.number !== 12;
	const find = (message: Uint8Array | undefined, number: number) =>
		message && fieldsOf(message).findLast((inner) => isMessage(inner, number))?.bytes;
	const name = path.reduce(find, field.bytes);
	return tensors.has(new TextDecoder().decode(name ?? joinBytes()));
}

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

/** AttributeProto: name 1, g 6. */
function editedAttribute(attribute: Uint8Array, bodies: ReadonlyMap<string, GraphEdit>): Uint8Array {
	const fields = fieldsOf(attribute);
	const name = fields.findLast((field) => isMessage(field, 1))?.bytes ?? new Uint8Array(0);
	const edit = bodies.get(new TextDecoder().decode(name));
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
