// Frames between trtgate and the golden worker: a prefix, a JSON header, and a payload; worker/README.md describes them.

import { isObject, parseJson } from "../../../core/found.ts";

const protocolVersion = 1;

const magic = [0x54, 0x47, 0x57, 0x46] as const;
const prefixBytes = 20;
export const longestHeaderBytes = 1024 * 1024;

export type Header = Readonly<Record<string, unknown>>;

export interface RawFrame {
	header: Header;
	payload: Uint8Array;
}

export function encodeHeader(header: Header, payloadBytes = 0): Uint8Array {
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

/** Lengths are checked before bytes are collected for them. */
export function createFrameDecoder(limits: { payloadBytes: number }) {
	let frames: RawFrame[] = [];
	let fault: string | null = null;
	const reader = readFrames(limits.payloadBytes, (frame) => frames.push(frame));
	let needed = reader.next().value;
	let pieces: Uint8Array[] = [];
	let bytes = 0;
	return {
		push(chunk: Uint8Array) {
			frames = [];
			if (bytes === 0) pieces = [];
			pieces.push(chunk);
			bytes += chunk.length;
			try {
				while (fault === null && bytes >= needed) {
					const [first = chunk, ...others] = pieces;
					const all = others.length === 0 ? first : Buffer.concat(pieces);
					pieces = [all.subarray(needed)];
					bytes -= needed;
					needed = reader.next(new Uint8Array(all.buffer, all.byteOffset, needed)).value;
				}
			} catch (error) {
				if (!(error instanceof BrokenStream)) throw error;
				fault = error.message;
			}
			return frames;
		},
		broken: () => fault,
	};
}

class BrokenStream extends Error {}

/** Yields the number of bytes that it needs next, and receives them. @throws BrokenStream. */
function* readFrames(
	payloadLimit: number,
	take: (frame: RawFrame) => void,
): Generator<number, never, Uint8Array> {
	for (;;) {
		const { headerBytes, payloadBytes } = readPrefix(yield prefixBytes, payloadLimit);
		const header = parseHeader(yield headerBytes);
		const payload = yield payloadBytes;
		take({ header, payload });
	}
}

function readPrefix(bytes: Uint8Array, payloadLimit: number) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (magic.some((byte, index) => bytes[index] !== byte) || view.getUint16(6, true) !== 0)
		throw new BrokenStream("the output is not made of frames");
	const version = view.getUint16(4, true);
	if (version !== protocolVersion)
		throw new BrokenStream(`protocol version ${version}, expected ${protocolVersion}`);
	const headerBytes = view.getUint32(8, true);
	if (headerBytes > longestHeaderBytes)
		throw new BrokenStream(`a header of ${headerBytes} bytes; at most ${longestHeaderBytes} are allowed`);
	const payloadBytes = view.getBigUint64(12, true);
	if (payloadBytes > BigInt(payloadLimit))
		throw new BrokenStream(`a payload of ${payloadBytes} bytes; at most ${payloadLimit} are allowed`);
	return { headerBytes, payloadBytes: Number(payloadBytes) };
}

function parseHeader(bytes: Uint8Array) {
	const value = parseJson(bytes);
	if (isObject(value)) return value;
	throw new BrokenStream(`a header is not ${value === undefined ? "JSON" : "an object"}`);
}
