// Frames between trtgate and the golden worker: a fixed prefix, a JSON header, a binary payload; see worker/README.md.

export const protocolVersion = 1;

const magic = [0x54, 0x47, 0x57, 0x46] as const;
const prefixBytes = 20;
export const longestHeaderBytes = 1024 * 1024;
/** Initial size of a payload's buffer. It grows only as bytes arrive, so a false length costs nothing. */
const firstBufferBytes = 64 * 1024;

export type Header = Readonly<Record<string, unknown>>;

export interface RawFrame {
	header: Header;
	payload: Uint8Array;
}

/** The prefix and the header as one piece; the payload's parts follow it unchanged. */
export function encodeHeader(header: Header, payloadBytes: number): Uint8Array {
	const text = new TextEncoder().encode(JSON.stringify(header));
	if (text.length > longestHeaderBytes)
		throw new RangeError(`a header of ${text.length} bytes; at most ${longestHeaderBytes} are allowed`);
	const bytes = new Uint8Array(prefixBytes + text.length);
	const view = new DataView(bytes.buffer);
	bytes.set(magic, 0);
	view.setUint16(4, protocolVersion, true);
	view.setUint32(8, text.length, true);
	view.setBigUint64(12, BigInt(payloadBytes), true);
	bytes.set(text, prefixBytes);
	return bytes;
}

export interface FrameDecoder {
	/** The frames that these bytes complete; none once the stream is broken. */
	push(chunk: Uint8Array): RawFrame[];
	/** Why the stream cannot be read any further; null while it is intact. */
	broken(): string | null;
}

/** Reads frames from chunks of any size. Lengths are checked before anything is allocated for them. */
export function createFrameDecoder(limits: { payloadBytes: number }): FrameDecoder {
	let filler = createFiller(prefixBytes);
	let stage: Stage = { kind: "prefix" };
	let fault: string | null = null;
	const advance = (bytes: Uint8Array, frames: RawFrame[]): void => {
		const step = nextStage(stage, bytes, limits.payloadBytes);
		if (typeof step === "string") {
			fault = step;
			return;
		}
		if (step.frame !== null) frames.push(step.frame);
		stage = step.stage;
		filler = createFiller(step.bytes);
	};
	return {
		push(chunk) {
			const frames: RawFrame[] = [];
			let remaining = chunk;
			while (fault === null) {
				remaining = filler.take(remaining);
				const whole = filler.whole();
				if (whole === null) break;
				advance(whole, frames);
			}
			return frames;
		},
		broken: () => fault,
	};
}

type Stage =
	| { kind: "prefix" }
	| { kind: "header"; payloadBytes: number }
	| { kind: "payload"; header: Header };

interface Step {
	stage: Stage;
	/** Size of the stage in bytes. */
	bytes: number;
	frame: RawFrame | null;
}

/** The next stage once a stage has all its bytes, or why the stream is broken. */
function nextStage(stage: Stage, bytes: Uint8Array, payloadLimit: number): Step | string {
	if (stage.kind === "prefix") return readPrefix(bytes, payloadLimit);
	if (stage.kind === "payload")
		return { stage: { kind: "prefix" }, bytes: prefixBytes, frame: { header: stage.header, payload: bytes } };
	const header = parseHeader(bytes);
	return typeof header === "string"
		? header
		: { stage: { kind: "payload", header }, bytes: stage.payloadBytes, frame: null };
}

function readPrefix(bytes: Uint8Array, payloadLimit: number): Step | string {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (magic.some((byte, index) => bytes[index] !== byte) || view.getUint16(6, true) !== 0)
		return "the output is not made of frames";
	const version = view.getUint16(4, true);
	if (version !== protocolVersion) return `protocol version ${version}, expected ${protocolVersion}`;
	const headerBytes = view.getUint32(8, true);
	if (headerBytes > longestHeaderBytes)
		return `a header of ${headerBytes} bytes; at most ${longestHeaderBytes} are allowed`;
	const payloadBytes = view.getBigUint64(12, true);
	if (payloadBytes > BigInt(payloadLimit))
		return `a payload of ${payloadBytes} bytes; at most ${payloadLimit} are allowed`;
	return { stage: { kind: "header", payloadBytes: Number(payloadBytes) }, bytes: headerBytes, frame: null };
}

function parseHeader(bytes: Uint8Array): Header | string {
	try {
		const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return typeof value === "object" && value !== null && !Array.isArray(value)
			? (value as Header)
			: "a header is not an object";
	} catch {
		return "a header is not JSON";
	}
}

interface Filler {
	/** Takes the bytes that it needs and returns the remaining ones. */
	take(chunk: Uint8Array): Uint8Array;
	/** All bytes, or null while some are missing. */
	whole(): Uint8Array | null;
}

/** Collects a known number of bytes in a buffer that grows only as they arrive. */
function createFiller(size: number): Filler {
	let buffer = new Uint8Array(Math.min(size, firstBufferBytes));
	let filled = 0;
	const grow = (needed: number): void => {
		if (needed <= buffer.length) return;
		const larger = new Uint8Array(Math.min(size, Math.max(needed, buffer.length * 2)));
		larger.set(buffer.subarray(0, filled));
		buffer = larger;
	};
	return {
		take(chunk) {
			const count = Math.min(chunk.length, size - filled);
			grow(filled + count);
			buffer.set(chunk.subarray(0, count), filled);
			filled += count;
			return chunk.subarray(count);
		},
		whole: () => (filled === size ? buffer : null),
	};
}
