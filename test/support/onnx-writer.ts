import { readFileSync } from "node:fs";
import type { ExternalFile, InspectedModel, OnnxModel } from "../../src/core/onnx/model.ts";
import { memorySource } from "../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	floatValues,
	int64Values,
	integerField as integer,
	joinBytes as join,
	textField as text,
	varint,
} from "../../src/formats/onnx/write.ts";

export type Bytes = Uint8Array;

function float(field: number, value: number): Bytes {
	return join(varint(field * 8 + 5), new Uint8Array(new Float32Array([value]).buffer));
}

export function packed(field: number, values: readonly number[]): Bytes {
	return bytes(field, join(...values.map(varint)));
}

export interface TensorInit {
	name?: string;
	/** `TensorProto.DataType`; 1 is float. */
	dtype?: number;
	dims?: readonly number[];
	raw?: Bytes;
	more?: Bytes;
}

export function tensor(init: TensorInit): Bytes {
	const { name = "", dtype = 1, dims = [], raw, more = new Uint8Array(0) } = init;
	return join(
		...dims.map((size) => integer(1, size)),
		integer(2, dtype),
		text(8, name),
		...(raw ? [bytes(9, raw)] : []),
		more,
	);
}

export function floats(...values: readonly number[]): Bytes {
	return floatValues(values);
}

export function int64s(...values: readonly number[]): Bytes {
	return int64Values(values);
}

export function externalTensor(
	name: string,
	dims: readonly number[],
	entries: Readonly<Record<string, string>>,
): Bytes {
	const pairs = Object.entries(entries).map(([key, value]) => bytes(13, join(text(1, key), text(2, value))));
	return tensor({ name, dims, more: join(...pairs, integer(14, 1)) });
}

export type Dim = number | string | null;

export function tensorType(dtype: number, dims: readonly Dim[] | null): Bytes {
	const shape = (dims ?? []).map((dim) =>
		bytes(1, dim === null ? new Uint8Array(0) : typeof dim === "number" ? integer(1, dim) : text(2, dim)),
	);
	return bytes(1, join(integer(1, dtype), ...(dims === null ? [] : [bytes(2, join(...shape))])));
}

export function value(name: string, dims: readonly Dim[] | null = [1, 4], dtype = 1): Bytes {
	return join(text(1, name), bytes(2, tensorType(dtype, dims)));
}

export interface NodeInit {
	op: string;
	inputs?: readonly string[];
	outputs?: readonly string[];
	name?: string;
	domain?: string;
	attributes?: readonly Bytes[];
}

export function node(init: NodeInit): Bytes {
	const { op, inputs = ["x"], outputs = ["y"], name, domain, attributes = [] } = init;
	return join(
		...inputs.map((input) => text(1, input)),
		...outputs.map((output) => text(2, output)),
		...(name === undefined ? [] : [text(3, name)]),
		text(4, op),
		...attributes.map((attribute) => bytes(5, attribute)),
		...(domain === undefined ? [] : [text(7, domain)]),
	);
}

/** Attributes by kind; AttributeType in field 20. */
export const attribute = {
	integer: (name: string, number: number): Bytes => join(text(1, name), integer(3, number), integer(20, 2)),
	integers: (name: string, numbers: readonly number[]): Bytes =>
		join(text(1, name), ...numbers.map((number) => integer(8, number)), integer(20, 7)),
	float: (name: string, number: number): Bytes => join(text(1, name), float(2, number), integer(20, 1)),
	text: (name: string, words: string): Bytes => join(text(1, name), text(4, words), integer(20, 3)),
	tensor: (name: string, message: Bytes): Bytes => join(text(1, name), bytes(5, message), integer(20, 4)),
	graph: (name: string, message: Bytes): Bytes => join(text(1, name), bytes(6, message), integer(20, 5)),
};

/**
 * Nodes in the syntax of `onnx.parser`, between semicolons: `[name] a, b = domain.Op<axis=1, mode="add", axes=[0, 1]>(x, , y)`.
 * An attribute `$0` is the first graph of `messages`, `#0` the first tensor.
 */
export function nodes(text: string, ...messages: readonly Bytes[]): Bytes[] {
	const lines = text.split(";").map((line) => line.trim());
	return lines.map((line) => {
		const found = /^(?:\[(\S+)\] )?([^=]*) = (?:([\w.]+)\.)?(\w+)(?:<(.*)>)?\((.*)\)$/.exec(line);
		if (found === null) throw new Error(`no node: ${line}`);
		const [, name, outputs = "", domain, op = "", given = "", inputs = ""] = found;
		const attributes =
			given === "" ? [] : given.split(/, (?![^[]*\])/).map((each) => attributeOf(each, messages));
		const names = { ...(name && { name }), ...(domain && { domain }) };
		return node({ op, inputs: listOf(inputs), outputs: listOf(outputs), attributes, ...names });
	});
}

function listOf(text: string): string[] {
	return text === "" ? [] : text.split(",").map((word) => word.trim());
}

function attributeOf(text: string, messages: readonly Bytes[]): Bytes {
	const [name = "", written = ""] = text.split(/=(.*)/);
	const message = messages[Number(written.slice(1))] ?? new Uint8Array(0);
	if (written.startsWith("$")) return attribute.graph(name, message);
	if (written.startsWith("#")) return attribute.tensor(name, message);
	const literal: unknown = JSON.parse(written);
	if (typeof literal === "string") return attribute.text(name, literal);
	if (Array.isArray(literal)) return attribute.integers(name, literal);
	return written.includes(".")
		? attribute.float(name, Number(literal))
		: attribute.integer(name, Number(literal));
}

export interface GraphInit {
	nodes?: readonly Bytes[] | string;
	inputs?: readonly Bytes[];
	outputs?: readonly Bytes[];
	initializers?: readonly Bytes[];
	name?: string;
	more?: Bytes;
}

export function graph(init: GraphInit = {}): Bytes {
	const {
		nodes: given = "y = Relu(x)",
		inputs = [value("x")],
		outputs = [value("y")],
		initializers = [],
		name = "g",
	} = init;
	const messages = typeof given === "string" ? nodes(given) : given;
	return join(
		...messages.map((message) => bytes(1, message)),
		text(2, name),
		...initializers.map((message) => bytes(5, message)),
		...inputs.map((message) => bytes(11, message)),
		...outputs.map((message) => bytes(12, message)),
		init.more ?? new Uint8Array(0),
	);
}

/** The model's field of a function, e.g. `b = acme.Twice(a)` and its body `b = Add(a, a)`. */
export function definition(signature: string, body: string): Bytes {
	const [, outputs = "", domain = "", name = "", inputs = ""] =
		/^(.*) = (\w+)\.(\w+)\((.*)\)$/.exec(signature) ?? [];
	return bytes(
		25,
		join(
			text(1, name),
			...listOf(inputs).map((input) => text(4, input)),
			...listOf(outputs).map((output) => text(5, output)),
			...nodes(body).map((each) => bytes(7, each)),
			bytes(9, opset("", 17)),
			text(10, domain),
		),
	);
}

export function ints(name: string, ...values: readonly number[]): Bytes {
	return tensor({ name, dtype: 7, dims: [values.length], raw: int64s(...values) });
}

export interface ModelInit extends GraphInit {
	irVersion?: number;
	opsets?: Readonly<Record<string, number>>;
	modelMore?: Bytes;
}

export function opset(domain: string, version: number): Bytes {
	return join(...(domain === "" ? [] : [text(1, domain)]), integer(2, version));
}

export function model(init: ModelInit = {}): Bytes {
	const { irVersion = 8, opsets = { "": 17 }, modelMore = new Uint8Array(0) } = init;
	return join(
		integer(1, irVersion),
		text(2, "test"),
		bytes(7, graph(init)),
		...Object.entries(opsets).map(([domain, version]) => bytes(8, opset(domain, version))),
		modelMore,
	);
}

export function modelOf(init: ModelInit = {}): OnnxModel {
	return readOnnx(memorySource(model(init)), "m.onnx");
}

export function readFixture(path: string): OnnxModel {
	return readOnnx(memorySource(readFileSync(`test/fixtures/${path}`)), path);
}

export function inspectedOf(onnx: OnnxModel, external: readonly ExternalFile[] = []): InspectedModel {
	return { path: "m.onnx", onnx, sha256: "0".repeat(64), external };
}
