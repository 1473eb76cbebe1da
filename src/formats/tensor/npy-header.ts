// The header of a .npy file: a Python dictionary of which exactly the three known keys are understood.
import { formatName } from "../../core/config/pointer.ts";
import { tensorInvalid } from "./refusal.ts";

export interface NpyHeader {
	/** numpy's type string, e.g. `<f4`. */
	descr: string;
	fortranOrder: boolean;
	shape: number[];
	/** Offset of the first value. */
	dataAt: number;
}

/** numpy's own limit for headers that it reads without trusting them. */
const maxHeaderChars = 10_000;
const prefixBytes = 8;
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

export function parseNpyHeader(bytes: Uint8Array, path: string): NpyHeader {
	if (magic.some((byte, at) => bytes[at] !== byte))
		throw tensorInvalid(path, { expected: "a .npy file", got: bytes.length === 0 ? "an empty file" : "no .npy magic" });
	const version = bytes[magic.length] ?? 0;
	if (version < 1 || version > 3) throw tensorInvalid(path, { expected: ".npy version 1, 2 or 3", got: `version ${version}` });
	const lengthBytes = version === 1 ? 2 : 4;
	const textAt = prefixBytes + lengthBytes;
	const length = littleEndian(bytes, prefixBytes, textAt);
	if (length > maxHeaderChars) throw tensorInvalid(path, { expected: `a header of at most ${maxHeaderChars} bytes`, got: `${length}` });
	const dataAt = textAt + length;
	if (bytes.length < dataAt) throw tensorInvalid(path, { expected: `a header of ${length} bytes`, got: "the end of the file" });
	if (known === null || known.dataAt !== dataAt || !startsWith(bytes, known.head)) {
		known = { ...parseDictionary(latin1(bytes.subarray(textAt, dataAt)), path), dataAt, head: bytes.slice(0, dataAt) };
	}
	return { descr: known.descr, fortranOrder: known.fortranOrder, shape: [...known.shape], dataAt };
}

/** The header before: results of many small arrays have a few of them, time after time. */
let known: (NpyHeader & { head: Uint8Array }) | null = null;

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
	for (let at = 0; at < head.length; at += 1) if (bytes[at] !== head[at]) return false;
	return true;
}

function parseDictionary(text: string, path: string): Omit<NpyHeader, "dataAt"> {
	const problem = (got: string): Error =>
		tensorInvalid(path, { expected: "a plain array (descr, fortran_order, shape)", got, fix: "Save one plain array with numpy.save." });
	const descr = /'descr'\s*:\s*(?:'([^']*)'|"([^"]*)"|(\[))/.exec(text);
	const order = /'fortran_order'\s*:\s*(True|False)\b/.exec(text);
	const shape = /'shape'\s*:\s*\(([\d,\sL]*)\)/.exec(text);
	if (descr?.[3] !== undefined) throw problem("an array of records");
	if (!descr || !order || !shape) throw problem(`the header ${formatName(text.trim())}`);
	const type = descr[1] ?? descr[2] ?? "";
	if (type.slice(1).startsWith("O")) throw problem("Python objects (a pickle), which are never loaded");
	const sizes = (shape[1] ?? "").split(",").map((part) => part.replace(/[\sL]/g, ""));
	return { descr: type, fortranOrder: order[1] === "True", shape: sizes.filter((size) => size !== "").map(Number) };
}

function littleEndian(bytes: Uint8Array, from: number, to: number): number {
	let value = 0;
	for (let at = to - 1; at >= from; at -= 1) value = value * 256 + (bytes[at] ?? 0);
	return value;
}

/** Spreading bytes into arguments takes ten times as long. */
function latin1(bytes: Uint8Array): string {
	let text = "";
	for (const byte of bytes) text += String.fromCharCode(byte);
	return text;
}
