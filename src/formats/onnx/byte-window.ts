// A window over bytes that can be read at any offset; it reads little and rarely.
import type { ByteSource } from "../bytes/byte-source.ts";

const leastWindowBytes = 2 * 1024;
const mostWindowBytes = 256 * 1024;
const none = new Uint8Array(0);

/** A window that follows the reader: it doubles while reading runs on, and is small again after a leap over a payload. */
export class ByteWindow {
	readonly size: number;
	#source: ByteSource;
	#bytes: Uint8Array = none;
	#start = 0;
	#length = leastWindowBytes / 2;

	constructor(source: ByteSource) {
		this.#source = source;
		this.size = source.size;
	}

	/** The byte at `position`, or -1 where the source has ended. */
	byte(position: number): number {
		const inWindow = this.#bytes[position - this.#start];
		if (inWindow !== undefined) return inWindow;
		this.#fill(position);
		return this.#bytes[position - this.#start] ?? -1;
	}

	/** `length` bytes at `position`, valid until the next call; fewer only where the source ends. */
	bytes(position: number, length: number): Uint8Array {
		if (length > mostWindowBytes) return this.#source.read(position, length);
		const from = position - this.#start;
		if (from >= 0 && from + length <= this.#bytes.length) return this.#bytes.subarray(from, from + length);
		this.#fill(position, length);
		return this.#bytes.subarray(0, length);
	}

	#fill(position: number, atLeast = 1): void {
		const runsOn = position >= this.#start && position <= this.#start + this.#bytes.length;
		this.#length = runsOn ? Math.min(this.#length * 2, mostWindowBytes) : leastWindowBytes;
		const length = Math.min(Math.max(this.#length, atLeast), Math.max(0, this.size - position));
		this.#bytes = length === 0 ? none : this.#source.read(position, length);
		this.#start = position;
	}
}
