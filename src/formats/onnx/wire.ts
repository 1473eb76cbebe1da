// The protobuf wire format: messages and fields over a cursor, with depth, counts and text bounded.
import type { ConfigError } from "../../core/errors.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { ByteCursor, limits } from "./cursor.ts";

const varintType = 0;
const fixed64Type = 1;
const lengthType = 2;
const fixed32Type = 5;

export type NumberKind = "int64" | "int32" | "uint64" | "float" | "double";
const wireTypes: Readonly<Record<NumberKind, number>> = {
	int64: varintType,
	int32: varintType,
	uint64: varintType,
	float: fixed32Type,
	double: fixed64Type,
};

export interface Span {
	start: number;
	end: number;
}

/** A subgraph is nested three messages deeper than its graph: node, attribute, graph. */
const messagesPerSubgraph = 3;

export class WireReader {
	#cursor: ByteCursor;
	#type = varintType;
	#fields = 0;
	#elements = 0;
	#textBytes = 0;

	constructor(source: ByteSource, path: string) {
		this.#cursor = new ByteCursor(source, path);
	}

	recognise(): void {
		this.#cursor.recognised = true;
	}

	fault(what: string, fix?: string): ConfigError {
		return this.#cursor.fault(what, fix);
	}

	/** Calls `onField` for each field of the outermost message; fields that it does not read are skipped. */
	fields(onField: (field: number) => void): void {
		this.#walk(onField);
	}

	message(onField: (field: number) => void): void {
		const cursor = this.#cursor;
		const outerEnd = cursor.end;
		cursor.end = this.#payloadEnd();
		this.#deeper(1);
		this.#walk(onField);
		this.#cursor.depth--;
		cursor.end = outerEnd;
	}

	span(): Span {
		const end = this.#payloadEnd();
		const start = this.#cursor.position;
		this.#cursor.position = end;
		return { start, end };
	}

	revisit(span: Span, onField: (field: number) => void): void {
		const cursor = this.#cursor;
		const back = { position: cursor.position, end: cursor.end };
		cursor.position = span.start;
		cursor.end = span.end;
		this.#deeper(messagesPerSubgraph);
		this.#walk(onField);
		this.#cursor.depth -= messagesPerSubgraph;
		cursor.position = back.position;
		cursor.end = back.end;
	}

	/** A signed 64-bit integer; beyond 2^53 it is rounded. */
	int64(): number {
		return this.#number("int64");
	}

	int32(): number {
		return this.#number("int32");
	}

	float(): number {
		return this.#number("float");
	}

	numbers(kind: NumberKind, onValue: (value: number) => void): void {
		if (this.#type !== lengthType) {
			onValue(this.#number(kind));
			return;
		}
		const cursor = this.#cursor;
		const outerEnd = cursor.end;
		cursor.end = this.#payloadEnd();
		this.#type = wireTypes[kind];
		while (cursor.position < cursor.end) onValue(this.#number(kind));
		cursor.end = outerEnd;
	}

	text(): string {
		const length = this.#payloadLength();
		if (length > limits.textBytes)
			throw this.fault(
				`holds a name of ${length} bytes`,
				`Shorten it: a name may have ${limits.textBytes} bytes.`,
			);
		return this.#decode(length);
	}

	/** Text up to `most` bytes, else null: the field is skipped. */
	shortText(most: number): string | null {
		const length = this.#payloadLength();
		if (length <= most) return this.#decode(length);
		this.#cursor.advance(length);
		return null;
	}

	bytes(most: number): Uint8Array | null {
		const length = this.#payloadLength();
		const start = this.#cursor.position;
		this.#cursor.advance(length);
		return length > most ? null : this.#cursor.window.copy(start, length);
	}

	peekLength(): number {
		if (this.#type !== lengthType) return 1;
		const start = this.#cursor.position;
		const length = this.#payloadLength();
		this.#cursor.position = start;
		return length;
	}

	keep(weight = 1): void {
		this.#elements += weight;
		if (this.#elements <= limits.elements) return;
		throw this.fault(
			"contains more nodes, tensors and names than any model",
			"Split the model: nothing builds a graph of this size.",
		);
	}

	#decode(length: number): string {
		this.#textBytes += length;
		if (this.#textBytes > limits.allTextBytes)
			throw this.fault(`contains more than ${limits.allTextBytes} bytes of names`, "Shorten the names.");
		this.keep();
		const start = this.#cursor.position;
		this.#cursor.advance(length);
		return length === 0 ? "" : this.#cursor.window.text(start, length);
	}

	#deeper(messages: number): void {
		this.#cursor.depth += messages;
		if (this.#cursor.depth <= limits.messageDepth) return;
		throw this.fault(
			`is nested too deep (more than ${limits.messageDepth} messages)`,
			"TensorRT and ONNX Runtime reject it too: flatten the subgraphs of If, Loop and Scan.",
		);
	}

	#walk(onField: (field: number) => void): void {
		const cursor = this.#cursor;
		const end = cursor.end;
		while (cursor.position < end) {
			if (++this.#fields > limits.fields)
				throw this.fault(`contains more than ${limits.fields} fields`, "No real model has so many.");
			cursor.varint();
			const tag = cursor.low >>> 0;
			if (tag < 8 || cursor.high !== 0) throw this.fault("is damaged (no field begins here)");
			this.#type = tag & 7;
			const before = cursor.position;
			onField(tag >>> 3);
			if (cursor.position === before) this.#skip();
		}
	}

	#skip(): void {
		if (this.#type === varintType) this.#cursor.varint();
		else if (this.#type === fixed64Type) this.#cursor.advance(8);
		else if (this.#type === lengthType) this.#cursor.advance(this.#payloadLength());
		else if (this.#type === fixed32Type) this.#cursor.advance(4);
		else throw this.fault(`has a field of wire type ${this.#type}, which ONNX does not use,`);
	}

	#number(kind: NumberKind): number {
		this.#expect(wireTypes[kind]);
		const cursor = this.#cursor;
		if (kind === "float") return cursor.fixed(4).getFloat32(0, true);
		if (kind === "double") return cursor.fixed(8).getFloat64(0, true);
		cursor.varint();
		if (kind === "int32") return cursor.low;
		return kind === "int64" ? cursor.signed() : cursor.unsigned();
	}

	#expect(type: number): void {
		if (this.#type !== type)
			throw this.fault(`is damaged (a field has wire type ${this.#type} where ${type} belongs)`);
	}

	#payloadLength(): number {
		this.#expect(lengthType);
		this.#cursor.varint();
		const length = this.#cursor.unsigned();
		const start = this.#cursor.position;
		this.#cursor.advance(length);
		this.#cursor.position = start;
		return length;
	}

	#payloadEnd(): number {
		const length = this.#payloadLength();
		return this.#cursor.position + length;
	}
}
