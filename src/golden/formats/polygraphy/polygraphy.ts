// Polygraphy's JSON: inputs (a list of feeds) and run results, whose arrays are .npy files in base64.

import type { TensorFile } from "../../../../generated/golden.ts";
import { isObject, parseJson } from "../../../core/found.ts";
import { type MemberFile, memberMissing, tensorInvalid } from "../../../formats/tensor/refusal.ts";

/** The text is held as one string beside its values. */
export const maxPolygraphyBytes = 256 * 1024 * 1024;

const saveAgain = "Save the arrays again with `polygraphy run … --save-outputs`, or as .npz.";

export function polygraphyMember(document: object, file: RunFile & MemberFile): Uint8Array {
	const feed = feedOf(document, file);
	if (!Object.hasOwn(feed, file.member)) throw memberMissing(file, Object.keys(feed));
	return npyOf(feed[file.member], file);
}

type RunFile = Pick<TensorFile, "path" | "iteration" | "runner">;

function fieldOf(value: unknown, key: string) {
	return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Takes far longer than finding a member. @throws ConfigError tensor-invalid. */
export function parsePolygraphy(bytes: Uint8Array, file: RunFile): object {
	const value = parseJson(bytes);
	if (typeof value === "object" && value !== null) return value;
	throw tensorInvalid(file, "Polygraphy's JSON", value === undefined ? "invalid JSON" : "a single value");
}

function feedOf(value: unknown, file: RunFile) {
	const runs = Array.isArray(value) ? value : iterationsOf(value, file);
	const iteration = file.iteration ?? 0;
	const run: unknown = runs[iteration];
	if (run === undefined) throw tensorInvalid(file, `iteration ${iteration}`, `${runs.length} iterations`);
	const feed = Array.isArray(value) ? run : fieldOf(run, "outputs");
	if (isObject(feed)) return feed;
	throw tensorInvalid(file, "arrays by name", "something else");
}

function iterationsOf(value: unknown, file: RunFile) {
	const list = fieldOf(value, "lst");
	if (!Array.isArray(list)) throw tensorInvalid(file, "Polygraphy's inputs or RunResults", "other JSON");
	const runners = list.filter(
		(pair): pair is [string, unknown[]] =>
			Array.isArray(pair) && typeof pair[0] === "string" && Array.isArray(pair[1]),
	);
	const names = runners.map(([name]) => JSON.stringify(name)).join(", ");
	const [first, second] =
		file.runner === undefined ? runners : runners.filter(([name]) => name === file.runner);
	if (first === undefined)
		throw tensorInvalid(file, `the runner ${JSON.stringify(file.runner ?? "")}`, names || "no runners");
	if (second === undefined) return first[1];
	throw tensorInvalid(file, "results of one runner", `${names}`, "Save one, or name it in the manifest.");
}

/** Pickles of torch are programs, and are never loaded. */
function npyOf(value: unknown, file: RunFile) {
	const wrapped = fieldOf(value, "values") ?? value;
	if (
		fieldOf(wrapped, "polygraphy_class") === "Tensor" ||
		fieldOf(wrapped, "__polygraphy_encoded_Tensor") !== undefined
	)
		throw tensorInvalid(
			file,
			"an array of numpy",
			"a torch tensor (a pickle), which is never loaded",
			saveAgain,
		);
	const text = fieldOf(wrapped, "array");
	if (typeof text !== "string") throw tensorInvalid(file, "an array", "no `array`", saveAgain);
	// Older versions wrote the bytes as Latin-1 characters.
	if (text.startsWith("\u0093NUMPY")) return new Uint8Array(Buffer.from(text, "latin1"));
	if (text.startsWith("PK\u0003\u0004"))
		throw tensorInvalid(file, "an array as .npy", "one as .npz", saveAgain);
	if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
		throw tensorInvalid(file, "an array in base64", "other text", saveAgain);
	const bytes = Buffer.from(text, "base64");
	return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
