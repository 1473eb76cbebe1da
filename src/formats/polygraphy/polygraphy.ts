// Polygraphy's JSON: inputs (a list of feeds) and run results, whose arrays are .npy files in base64.
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import { decodeNpy } from "../tensor/npy.ts";
import { memberMissing, tensorInvalid } from "../tensor/refusal.ts";
import { decodeBase64 } from "./base64.ts";

/** A string of more characters than this is more than V8 holds in one piece; the text also lies in memory beside the values. */
export const mostPolygraphyBytes = 256 * 1024 * 1024;

const saveAgain = "Save the arrays again with `polygraphy run … --save-outputs`, or as .npz.";

/** @throws ConfigError tensor-invalid. */
export function decodePolygraphy(document: object, file: TensorFile, { path, member }: { path: string; member: string }): Tensor {
	return decodeNpy(polygraphyMember(document, file, { path, member }), file, path);
}

/** The .npy file that an array of the run is. @throws ConfigError tensor-invalid. */
export function polygraphyMember(document: object, run: RunOfFile, { path, member }: { path: string; member: string }): Uint8Array {
	const feed = feedOf(document, run, path);
	if (!Object.hasOwn(feed, member)) throw memberMissing(path, member, Object.keys(feed));
	return npyOf(feed[member], path);
}

type RunOfFile = Pick<TensorFile, "iteration" | "runner">;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fieldOf(value: unknown, key: string): unknown {
	return isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Once for all members: it takes far longer than finding one. @throws ConfigError tensor-invalid. */
export function parsePolygraphy(bytes: Uint8Array, path: string): object {
	const refused = (got: string): Error => tensorInvalid(path, { expected: "Polygraphy's JSON", got });
	let value: unknown;
	try {
		value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		throw refused("no JSON");
	}
	if (typeof value !== "object" || value === null) throw refused("a single value");
	return value;
}

/** The arrays by name of the iteration that is asked for. */
function feedOf(value: unknown, file: RunOfFile, path: string): Fields {
	const runs = Array.isArray(value) ? value : iterationsOf(value, file, path);
	const iteration = file.iteration ?? 0;
	const run: unknown = runs[iteration];
	if (run === undefined) throw tensorInvalid(path, { expected: `iteration ${iteration}`, got: `${runs.length} iterations` });
	const feed = Array.isArray(value) ? run : fieldOf(run, "outputs");
	if (isFields(feed)) return feed;
	throw tensorInvalid(path, { expected: "arrays by name", got: "something else" });
}

/** `lst` holds pairs of a runner's name and its iterations. */
function iterationsOf(value: unknown, file: RunOfFile, path: string): readonly unknown[] {
	const list = fieldOf(value, "lst");
	if (!Array.isArray(list)) throw tensorInvalid(path, { expected: "Polygraphy's inputs or RunResults", got: "other JSON" });
	const runners = list.filter(
		(pair): pair is [string, unknown[]] => Array.isArray(pair) && typeof pair[0] === "string" && Array.isArray(pair[1]),
	);
	const names = runners.map(([name]) => JSON.stringify(name)).join(", ");
	const [first, second] = file.runner === undefined ? runners : runners.filter(([name]) => name === file.runner);
	if (first === undefined)
		throw tensorInvalid(path, { expected: `the runner ${JSON.stringify(file.runner ?? "")}`, got: names || "no runners" });
	if (second === undefined) return first[1];
	throw tensorInvalid(path, { expected: "results of one runner", got: `${names}`, fix: 'Say "runner" in the manifest.' });
}

/** An array is wrapped as a LazyArray in results. Pickles of torch are programs, and are never loaded. */
export function npyOf(value: unknown, path: string): Uint8Array {
	const wrapped = fieldOf(value, "values") ?? value;
	const kind = fieldOf(wrapped, "polygraphy_class");
	const isTorch = kind === "Tensor" || fieldOf(wrapped, "__polygraphy_encoded_Tensor") !== undefined;
	if (isTorch)
		throw tensorInvalid(path, { expected: "an array of numpy", got: "a torch tensor (a pickle), which is never loaded", fix: saveAgain });
	const text = fieldOf(wrapped, "array");
	if (typeof text !== "string") throw tensorInvalid(path, { expected: "an array", got: "no `array`", fix: saveAgain });
	// Before base64, the bytes were written as the characters of Latin-1.
	if (text.startsWith("\u0093NUMPY")) return latin1Bytes(text);
	if (text.startsWith("PK\u0003\u0004")) throw tensorInvalid(path, { expected: "an array as .npy", got: "one as .npz", fix: saveAgain });
	const bytes = decodeBase64(text);
	if (bytes === null) throw tensorInvalid(path, { expected: "an array in base64", got: "other text", fix: saveAgain });
	return bytes;
}

function latin1Bytes(text: string): Uint8Array {
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
	return bytes;
}
