// A cursor over the bytes of a protobuf file: numbers and lengths, each bounded by the end of its message.
import { ConfigError } from "../../core/errors.ts";
import type { ByteSource } from "../bytes/byte-source.ts";

const minWindowBytes = 2 * 1024;
const maxWindowBytes = 256 * 1024;
const none = Buffer.alloc(0);

/** A window that follows the reader: it doubles during sequential reads, and is small again after skipping a payload. */
class ByteWindow {
	readonly size: number;
	#source: ByteSource;
	#bytes: Buffer = none;
	#start = 0;
	#length = minWindowBytes / 2;

	constructor(source: ByteSource) {
		this.#source = source;
		this.size = source.size;
	}

	/** The byte at `position`, or -1 if the source has ended. */
	byte(position: number): number {
		const inWindow = this.#bytes[position - this.#start];
		if (inWindow !== undefined) return inWindow;
		this.#fill(position);
		return this.#bytes[position - this.#start] ?? -1;
	}

	text(position: number, length: number): string {
		const from = this.#reach(position, length);
		return this.#bytes.toString("utf8", from, from + length);
	}

	copy(position: number, length: number): Uint8Array {
		const from = this.#reach(position, length);
		return Uint8Array.from(this.#bytes.subarray(from, from + length));
	}

	#reach(position: number, length: number): number {
		const from = position - this.#start;
		if (from >= 0 && from + length <= this.#bytes.length) return from;
		this.#fill(position, length);
		return 0;
	}

	#fill(position: number, atLeast = 1): void {
		const runsOn = position >= this.#start && position <= this.#start + this.#bytes.length;
		this.#length = runsOn ? Math.min(this.#length * 2, maxWindowBytes) : minWindowBytes;
		const length = Math.min(Math.max(this.#length, atLeast), Math.max(0, this.size - position));
		const { buffer, byteOffset, length: read } = this.#source.read(position, length);
		this.#bytes = Buffer.from(buffer, byteOffset, read);
		this.#start = position;
	}
}

/** No file is longer; a length beyond it is damage, not a sign of truncation. */
const longestFileBytes = 2 ** 47;

export class ByteCursor {
	readonly path: string;
	readonly size: number;
	position = 0;
	end: number;
	depth = 0;
	/** True once the file is known to be an ONNX model; until then, a fault means that it is something else. */
	recognised = false;
	/** Halves of the last varint, both signed: JavaScript's bit operators have 32 bits. */
	low = 0;
	high = 0;
	readonly window: ByteWindow;
	#view = new DataView(new ArrayBuffer(8));

	constructor(source: ByteSource, path: string) {
		this.path = path;
		this.size = source.size;
		this.end = source.size;
		this.window = new ByteWindow(source);
	}

	varint(): void {
		// Most have one byte.
		const first = this.#byte();
		this.low = first & 127;
		this.high = 0;
		if (first < 128) return;
		for (let index = 1; index < 10; index++) {
			const byte = this.#byte();
			const part = byte & 127;
			if (index < 4) this.low |= part << (index * 7);
			else if (index === 4) {
				this.low |= part << 28;
				this.high = part >>> 4;
			} else this.high |= part << (index * 7 - 32);
			if (byte < 128) return;
		}
		throw this.fault("is damaged (a number has more than 10 bytes)");
	}

	/** The last varint as a signed 64-bit integer; beyond 2^53 it is rounded. */
	signed(): number {
		return this.high * 4_294_967_296 + (this.low >>> 0);
	}

	unsigned(): number {
		return (this.high >>> 0) * 4_294_967_296 + (this.low >>> 0);
	}

	/** The next 4 or 8 bytes, little-endian. */
	fixed(bytes: 4 | 8): DataView {
		const start = this.position;
		this.advance(bytes);
		for (let index = 0; index < bytes; index++) this.#view.setUint8(index, this.window.byte(start + index));
		return this.#view;
	}

	advance(bytes: number): void {
		const neededEnd = this.position + bytes;
		if (neededEnd > this.end) throw this.#overrun(neededEnd);
		this.position = neededEnd;
	}

	fault(what: string, fix?: string): ConfigError {
		const prefix = this.recognised ? this.path : `${this.path} is not an ONNX model: it`;
		return unreadable(`${prefix} ${what} at byte ${this.position}.`, this.path, fix);
	}

	#byte(): number {
		if (this.position >= this.end) throw this.#overrun(this.position + 1);
		const byte = this.window.byte(this.position);
		if (byte < 0) throw this.#truncated(this.position + 1);
		this.position++;
		return byte;
	}

	#overrun(neededEnd: number): ConfigError {
		if (this.depth === 0 && neededEnd < longestFileBytes) return this.#truncated(neededEnd);
		return this.fault("is damaged (a field is longer than the message that holds it)");
	}

	#truncated(neededEnd: number): ConfigError {
		if (!this.recognised) return this.fault(`needs ${neededEnd} bytes and has ${this.size}, as read`);
		return unreadable(
			`${this.path} is truncated at byte ${this.size}: what begins at byte ${this.position} needs bytes up to ${neededEnd}.`,
			this.path,
			"Copy, download or export the file again and compare its size with the source's.",
		);
	}
}

// Limits on what an ONNX file may cost the reader, far above real models; and the error for a file beyond them.
export const limits = {
	/** Protobuf's own default: a file nested deeper is refused by TensorRT and ONNX Runtime too. */
	messageDepth: 100,
	/** Names and list entries kept, nodes and tensors counting as 4; large language models have below 2 million. */
	elements: 4_194_304,
	/** Protobuf fields walked over, kept or not: about one second. */
	fields: 67_108_864,
	textBytes: 1_048_576,
	allTextBytes: 268_435_456,
	/** A string attribute longer than this is skipped: engines and caches are embedded this way. */
	attributeTextBytes: 4096,
	attributeEntries: 1024,
	rank: 255,
	valueElements: 64,
} as const;

const fixOfDamage =
	"Export or download the model again; `onnx.checker.check_model` in Python judges the file.";

export function unreadable(message: string, path: string, fix = fixOfDamage): ConfigError {
	return new ConfigError({ code: "model-unreadable", message, fix, location: { path } });
}
