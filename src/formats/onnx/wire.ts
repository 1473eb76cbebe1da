// Reads the protobuf wire format, with depth, counts and text bounded.
import type { ConfigError } from "../../core/errors.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { limits, unreadable } from "./head.ts";

const windowBytes = 16 * 1024;

class ByteWindow {
	#source: ByteSource;
	#bytes: Buffer = Buffer.alloc(0);
	#start = 0;

	constructor(source: ByteSource) {
		this.#source = source;
	}

	byte(position: number) {
		const inWindow = this.#bytes[position - this.#start];
		if (inWindow !== undefined) return inWindow;
		this.#fill(position, 1);
		return this.#bytes[position - this.#start] ?? -1;
	}

	bytes({ start, end }: Span) {
		if (start < this.#start || end > this.#start + this.#bytes.length) this.#fill(start, end - start);
		return this.#bytes.subarray(start - this.#start, end - this.#start);
	}

	#fill(position: number, atLeast: number) {
		const length = Math.min(Math.max(windowBytes, atLeast), Math.max(0, this.#source.size - position));
		const { buffer, byteOffset, length: read } = this.#source.read(position, length);
		this.#bytes = Buffer.from(buffer, byteOffset, read);
		this.#start = position;
	}
}

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

/** No file is longer; a length beyond it is damage, not a sign of truncation. */
const longestFileBytes = 2 ** 47;

export class WireReader {
	#window: ByteWindow;
	#path: string;
	#size: number;
	#position = 0;
	#end: number;
	#depth = 0;
	#recognised = false;
	/** Halves of the last varint, both signed: JavaScript's bit operators have 32 bits. */
	#low = 0;
	#high = 0;
	#view = new DataView(new ArrayBuffer(8));
	#type = varintType;
	#fields = 0;
	#elements = 0;
	#textBytes = 0;

	constructor(source: ByteSource, path: string) {
		this.#window = new ByteWindow(source);
		this.#path = path;
		this.#size = source.size;
		this.#end = source.size;
	}

	/** Until then, a fault means that the file is no ONNX model. */
	recognise(): void {
		this.#recognised = true;
	}

	fault(what: string, fix?: string): ConfigError {
		const prefix = this.#recognised ? this.#path : `${this.#path} is not an ONNX model: it`;
		return unreadable(`${prefix} ${what} at byte ${this.#position}.`, this.#path, fix);
	}

	/** Calls `onField` for each field of the outermost message; fields that it does not read are skipped. */
	fields(onField: (field: number) => void): void {
		while (this.#position < this.#end) {
			if (++this.#fields > limits.fields)
				throw this.fault(`contains more than ${limits.fields} fields`, "No real model has so many.");
			this.#varint();
			const tag = this.#low >>> 0;
			if (tag < 8 || this.#high !== 0) throw this.fault("is damaged (no field begins here)");
			this.#type = tag & 7;
			const before = this.#position;
			onField(tag >>> 3);
			if (this.#position === before) this.#skip();
		}
	}

	message(onField: (field: number) => void): void {
		this.#inside(this.#payload(), 1, onField);
	}

	span(): Span {
		const payload = this.#payload();
		this.#position = payload.end;
		return payload;
	}

	revisit(span: Span, onField: (field: number) => void): void {
		const back = this.#position;
		// A subgraph is nested three messages deeper than its graph: node, attribute, graph.
		this.#inside(span, 3, onField);
		this.#position = back;
	}

	/** Integers beyond 2^53 are rounded. */
	number(kind: NumberKind): number {
		this.#expect(wireTypes[kind]);
		if (kind === "float") return this.#fixed(4).getFloat32(0, true);
		if (kind === "double") return this.#fixed(8).getFloat64(0, true);
		this.#varint();
		if (kind === "int32") return this.#low;
		return (kind === "int64" ? this.#high : this.#high >>> 0) * 2 ** 32 + (this.#low >>> 0);
	}

	numbers(kind: NumberKind, onValue: (value: number) => void): void {
		if (this.#type !== lengthType) {
			onValue(this.number(kind));
			return;
		}
		const outerEnd = this.#end;
		this.#end = this.#payload().end;
		this.#type = wireTypes[kind];
		while (this.#position < this.#end) onValue(this.number(kind));
		this.#end = outerEnd;
	}

	text(): string {
		const { start, end } = this.#payload();
		if (end - start > limits.textBytes)
			throw this.fault(
				`holds a name of ${end - start} bytes`,
				`Shorten it: a name may have ${limits.textBytes} bytes.`,
			);
		return this.#decode({ start, end });
	}

	shortText(most: number): string | null {
		const payload = this.#payload();
		if (payload.end - payload.start <= most) return this.#decode(payload);
		this.#position = payload.end;
		return null;
	}

	/** The payload, without moving on; an unpacked number counts as one byte. */
	peek(): Span {
		const before = this.#position;
		if (this.#type !== lengthType) return { start: before, end: before + 1 };
		const payload = this.#payload();
		this.#position = before;
		return payload;
	}

	peekLength(): number {
		const { start, end } = this.peek();
		return end - start;
	}

	bytes(span: Span): Uint8Array {
		return Uint8Array.from(this.#window.bytes(span));
	}

	keep(weight = 1): void {
		this.#elements += weight;
		if (this.#elements <= limits.elements) return;
		throw this.fault(
			"contains more nodes, tensors and names than any model",
			"Split the model: nothing builds a graph of this size.",
		);
	}

	#inside(span: Span, messages: number, onField: (field: number) => void) {
		const outerEnd = this.#end;
		this.#position = span.start;
		this.#end = span.end;
		this.#depth += messages;
		if (this.#depth > limits.messageDepth)
			throw this.fault(
				`is nested too deep (more than ${limits.messageDepth} messages)`,
				"TensorRT and ONNX Runtime reject it too: flatten the subgraphs of If, Loop and Scan.",
			);
		this.fields(onField);
		this.#depth -= messages;
		this.#end = outerEnd;
	}

	#decode(span: Span) {
		this.#textBytes += span.end - span.start;
		if (this.#textBytes > limits.allTextBytes)
			throw this.fault(`contains more than ${limits.allTextBytes} bytes of names`, "Shorten the names.");
		this.keep();
		this.#position = span.end;
		return span.end === span.start ? "" : this.#window.bytes(span).toString("utf8");
	}

	#skip() {
		if (this.#type === varintType) this.#varint();
		else if (this.#type === fixed64Type) this.#advance(8);
		else if (this.#type === lengthType) this.#position = this.#payload().end;
		else if (this.#type === fixed32Type) this.#advance(4);
		else throw this.fault(`has a field of wire type ${this.#type}, which ONNX does not use,`);
	}

	#expect(type: number) {
		if (this.#type !== type)
			throw this.fault(`is damaged (a field has wire type ${this.#type} where ${type} belongs)`);
	}

	#payload() {
		this.#expect(lengthType);
		this.#varint();
		const start = this.#position;
		this.#advance((this.#high >>> 0) * 2 ** 32 + (this.#low >>> 0));
		const end = this.#position;
		this.#position = start;
		return { start, end };
	}

	#varint() {
		// Most have one byte.
		const first = this.#byte();
		this.#low = first & 127;
		this.#high = 0;
		if (first < 128) return;
		for (let index = 1; index < 10; index++) {
			const byte = this.#byte();
			const part = byte & 127;
			if (index < 4) this.#low |= part << (index * 7);
			else if (index === 4) {
				this.#low |= part << 28;
				this.#high = part >>> 4;
			} else this.#high |= part << (index * 7 - 32);
			if (byte < 128) return;
		}
		throw this.fault("is damaged (a number has more than 10 bytes)");
	}

	/** The next 4 or 8 bytes, little-endian. */
	#fixed(bytes: 4 | 8) {
		const start = this.#position;
		this.#advance(bytes);
		for (let index = 0; index < bytes; index++) this.#view.setUint8(index, this.#window.byte(start + index));
		return this.#view;
	}

	#byte() {
		if (this.#position >= this.#end) throw this.#overrun(this.#position + 1);
		const byte = this.#window.byte(this.#position);
		if (byte < 0) throw this.#truncated(this.#position + 1);
		this.#position++;
		return byte;
	}

	#advance(bytes: number) {
		const neededEnd = this.#position + bytes;
		if (neededEnd > this.#end) throw this.#overrun(neededEnd);
		this.#position = neededEnd;
	}

	#overrun(neededEnd: number) {
		if (this.#depth === 0 && neededEnd < longestFileBytes) return this.#truncated(neededEnd);
		return this.fault("is damaged (a field is longer than the message that holds it)");
	}

	#truncated(neededEnd: number) {
		if (!this.#recognised) return this.fault(`needs ${neededEnd} bytes and has ${this.#size}, as read`);
		return unreadable(
			`${this.#path} is truncated at byte ${this.#size}: what begins at byte ${this.#position} needs bytes up to ${neededEnd}.`,
			this.#path,
			"Copy, download or export the file again and compare its size with the source's.",
		);
	}
}
