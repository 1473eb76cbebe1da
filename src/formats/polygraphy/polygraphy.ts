// Polygraphy's JSON: inputs (a list of feeds) and run results, whose arrays are .npy files in base64.

import type { TensorFile } from "../../../generated/golden.ts";
import { isObject } from "../../core/found.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { decodeNpy } from "../tensor/npy.ts";
import { memberMissing, tensorInvalid } from "../tensor/refusal.ts";

/** A string of more characters than this is more than V8 holds in one piece; the text also lies in memory beside the values. */
export const maxPolygraphyBytes = 256 * 1024 * 1024;

const saveAgain = "Save the arrays again with `polygraphy run … --save-outputs`, or as .npz.";

/** @throws ConfigError tensor-invalid. */
export function decodePolygraphy(
	document: object,
	file: TensorFile,
	{ path, member }: { path: string; member: string },
): Tensor {
	return decodeNpy(polygraphyMember(document, file, { path, member }), file, path);
}

/** The .npy file that an array of the run is. @throws ConfigError tensor-invalid. */
export function polygraphyMember(
	document: object,
	run: RunOfFile,
	{ path, member }: { path: string; member: string },
): Uint8Array {
	const feed = feedOf(document, run, path);
	if (!Object.hasOwn(feed, member)) throw memberMissing(path, member, Object.keys(feed));
	return npyOf(feed[member], path);
}

type RunOfFile = Pick<TensorFile, "iteration" | "runner">;

type Fields = Readonly<Record<string, unknown>>;

export function fieldOf(value: unknown, key: string): unknown {
	return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Once for all members: it takes far longer than finding one. @throws ConfigError tensor-invalid. */
export function parsePolygraphy(bytes: Uint8Array, path: string): object {
	const refused = (got: string): Error => tensorInvalid(path, { expected: "Polygraphy's JSON", got });
	let value: unknown;
	try {
		value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		throw refused("invalid JSON");
	}
	if (typeof value !== "object" || value === null) throw refused("a single value");
	return value;
}

function feedOf(value: unknown, file: RunOfFile, path: string): Fields {
	const runs = Array.isArray(value) ? value : iterationsOf(value, file, path);
	const iteration = file.iteration ?? 0;
	const run: unknown = runs[iteration];
	if (run === undefined)
		throw tensorInvalid(path, { expected: `iteration ${iteration}`, got: `${runs.length} iterations` });
	const feed = Array.isArray(value) ? run : fieldOf(run, "outputs");
	if (isObject(feed)) return feed;
	throw tensorInvalid(path, { expected: "arrays by name", got: "something else" });
}

function iterationsOf(value: unknown, file: RunOfFile, path: string): readonly unknown[] {
	const list = fieldOf(value, "lst");
	if (!Array.isArray(list))
		throw tensorInvalid(path, { expected: "Polygraphy's inputs or RunResults", got: "other JSON" });
	const runners = list.filter(
		(pair): pair is [string, unknown[]] =>
			Array.isArray(pair) && typeof pair[0] === "string" && Array.isArray(pair[1]),
	);
	const names = runners.map(([name]) => JSON.stringify(name)).join(", ");
	const [first, second] =
		file.runner === undefined ? runners : runners.filter(([name]) => name === file.runner);
	if (first === undefined)
		throw tensorInvalid(path, {
			expected: `the runner ${JSON.stringify(file.runner ?? "")}`,
			got: names || "no runners",
		});
	if (second === undefined) return first[1];
	throw tensorInvalid(path, {
		expected: "results of one runner",
		got: `${names}`,
		fix: 'Add "runner" to the manifest.',
	});
}

/** An array is wrapped as a LazyArray in results. Pickles of torch are programs, and are never loaded. */
export function npyOf(value: unknown, path: string): Uint8Array {
	const wrapped = fieldOf(value, "values") ?? value;
	const kind = fieldOf(wrapped, "polygraphy_class");
	const isTorch = kind === "Tensor" || fieldOf(wrapped, "__polygraphy_encoded_Tensor") !== undefined;
	if (isTorch)
		throw tensorInvalid(path, {
			expected: "an array of numpy",
			got: "a torch tensor (a pickle), which is never loaded",
			fix: saveAgain,
		});
	const text = fieldOf(wrapped, "array");
	if (typeof text !== "string")
		throw tensorInvalid(path, { expected: "an array", got: "no `array`", fix: saveAgain });
	// Before base64, the bytes were written as the characters of Latin-1.
	if (text.startsWith("\u0093NUMPY")) return latin1Bytes(text);
	if (text.startsWith("PK\u0003\u0004"))
		throw tensorInvalid(path, { expected: "an array as .npy", got: "one as .npz", fix: saveAgain });
	const bytes = decodeBase64(text);
	if (bytes === null)
		throw tensorInvalid(path, { expected: "an array in base64", got: "other text", fix: saveAgain });
	return bytes;
}

function latin1Bytes(text: string): Uint8Array {
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
	return bytes;
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const invalid = 255;

const values = new Uint8Array(128).fill(invalid);
for (let i = 0; i < letters.length; i += 1) values[letters.charCodeAt(i)] = i;

/** null where the text is no base64. */
function decodeBase64(text: string): Uint8Array | null {
	if (text.length % 4 !== 0) return null;
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	const digits = text.length - padding;
	const out = new Uint8Array((text.length / 4) * 3 - padding);
	let to = 0;
	for (let at = 0; at < digits; at += 4) {
		const bits =
			(digit(text, at, digits) << 18) |
			(digit(text, at + 1, digits) << 12) |
			(digit(text, at + 2, digits) << 6) |
			digit(text, at + 3, digits);
		if (bits < 0) return null;
		out[to] = bits >> 16;
		if (to + 1 < out.length) out[to + 1] = bits >> 8;
		if (to + 2 < out.length) out[to + 2] = bits;
		to += 3;
	}
	return out;
}

/** Negative, and so the whole group, where the character is none of the alphabet's. */
function digit(text: string, at: number, end: number): number {
	if (at >= end) return 0;
	const value = values[text.charCodeAt(at)] ?? invalid;
	return value === invalid ? -1 : value;
}
