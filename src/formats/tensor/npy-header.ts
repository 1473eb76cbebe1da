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
const magicText = "\u0093NUMPY";

export function parseNpyHeader(bytes: Uint8Array, path: string): NpyHeader {
	const magic = latin1(bytes.subarray(0, magicText.length));
	if (magic !== magicText)
		throw tensorInvalid(path, { expected: "a .npy file", got: bytes.length === 0 ? "an empty file" : "no .npy magic" });
	const version = bytes[magicText.length] ?? 0;
	if (version < 1 || version > 3) throw tensorInvalid(path, { expected: ".npy version 1, 2 or 3", got: `version ${version}` });
	const lengthBytes = version === 1 ? 2 : 4;
	const textAt = prefixBytes + lengthBytes;
	const length = littleEndian(bytes.subarray(prefixBytes, textAt));
	if (length > maxHeaderChars) throw tensorInvalid(path, { expected: `a header of at most ${maxHeaderChars} bytes`, got: `${length}` });
	const dataAt = textAt + length;
	if (bytes.length < dataAt) throw tensorInvalid(path, { expected: `a header of ${length} bytes`, got: "the end of the file" });
	return { ...parseDictionary(latin1(bytes.subarray(textAt, dataAt)), path), dataAt };
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

function littleEndian(bytes: Uint8Array): number {
	return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
}

function latin1(bytes: Uint8Array): string {
	return String.fromCharCode(...bytes);
}
