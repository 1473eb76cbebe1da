// Describes what was found instead of something else: where, by JSON pointer (RFC 6901), and near which known word; reduces the errors of a schema to one.
import type { ErrorObject } from "ajv";
import { cleanText, shorten } from "./text/escape.ts";
import { counted } from "./text/labels.ts";

const maxChars = 60;

export function describeFound(value: unknown, pointer: string): string {
	if (value === undefined) return "nothing";
	if (value === null) return "null";
	if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
	if (typeof value === "object") return Object.keys(value).length === 0 ? "an empty object" : "an object";
	if (pointer === "") return typeof value === "string" ? "a text" : `a ${typeof value}`;
	return typeof value === "string" ? JSON.stringify(cleanText(shorten(value, maxChars))) : String(value);
}

/** Without the quoted text: `Unexpected token 'r'`. */
function describeJsonFault(cause: unknown) {
	const message = cause instanceof SyntaxError ? cause.message : "unreadable";
	return cleanText(shorten(message.replace(/,? *(\.\.\.)?".*$/s, ""), maxChars));
}

/** @param refuse makes the error of what is there instead. */
export function readJson(text: string, refuse: (got: string, cause?: unknown) => Error): unknown {
	if (text.trim() === "") throw refuse("an empty file");
	try {
		return JSON.parse(text.replace(/^\ufeff/, ""));
	} catch (cause) {
		throw refuse(`text that is not JSON (${describeJsonFault(cause)})`, cause);
	}
}

/** undefined: not JSON in UTF-8. */
export function parseJson(source: string | Uint8Array): unknown {
	try {
		return JSON.parse(
			typeof source === "string" ? source : new TextDecoder("utf-8", { fatal: true }).decode(source),
		);
	} catch {
		return undefined;
	}
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
	return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface SchemaProblem {
	pointer: string;
	expected: string;
	got: string;
	fix?: string;
}

export function toProblem(
	errors: readonly ErrorObject[],
	root: unknown,
	{ schema, what }: { schema: unknown; what: string },
): SchemaProblem {
	const [first] = [...errors]
		.filter((error) => error.keyword !== "propertyNames")
		.sort((left, right) => rank(right) - rank(left));
	return first === undefined
		? { pointer: "", expected: what, got: describeFound(root, "") }
		: describeError(first, root, schema);
}

function rank(error: ErrorObject) {
	const depth = parsePointer(error.instancePath).length;
	if (error.keyword === "additionalProperties" || error.propertyName !== undefined) return 1000 + depth;
	return error.keyword === "oneOf" ? depth - 0.5 : depth;
}

function describeError(error: ErrorObject, root: unknown, schema: unknown) {
	const { instancePath, keyword, params } = error;
	const known = knownKeys(error, schema);
	if (keyword === "additionalProperties")
		return unknownKey(instancePath, String(params["additionalProperty"]), known);
	if (error.propertyName !== undefined)
		return unknownKey(instancePath, error.propertyName, stringsOf(params["allowedValues"]));
	if (keyword === "required") {
		const key = String(params["missingProperty"]);
		return {
			pointer: childPointer(instancePath, key),
			expected: "a value",
			got: "missing",
			fix: `Add "${key}".`,
		};
	}
	const value = valueAt(root, instancePath);
	const meant = typeof value === "string" ? didYouMean(value, stringsOf(params["allowedValues"])) : undefined;
	return {
		pointer: instancePath,
		expected: expectedOf(error),
		got: describeFound(value, instancePath),
		fix: meant && `Write "${meant}".`,
	};
}

function unknownKey(pointer: string, key: string, known: readonly string[]) {
	const meant = didYouMean(key, known);
	const fix = meant === undefined ? "Remove the key." : `Write "${meant}".`;
	const expected = known.length === 0 ? "no such key" : `one of the keys ${known.join(", ")}`;
	return { pointer: childPointer(pointer, key), expected, got: `the key ${formatName(key)}`, fix };
}

const expectations: Readonly<Record<string, (limit: number, params: ErrorObject["params"]) => string>> = {
	enum: (_, params) => `one of ${stringsOf(params["allowedValues"]).join(", ")}`,
	const: (_, params) => JSON.stringify(params["allowedValue"]),
	pattern: (_, { pattern }) => patternLabels[String(pattern)] ?? `text that fits ${pattern}`,
	type: (_, params) => `a value of type ${params["type"]}`,
	oneOf: () => "one of the forms that it may have",
	minItems: (limit) => `at least ${counted(limit, "entry", "entries")}`,
	minProperties: (limit) => `at least ${counted(limit, "entry", "entries")}`,
	maxItems: (limit) => `at most ${counted(limit, "entry", "entries")}`,
	maxProperties: (limit) => `at most ${counted(limit, "entry", "entries")}`,
	minLength: (limit) =>
		limit === 1 ? "a text that is not empty" : `a text of at least ${counted(limit, "character")}`,
	maxLength: (limit) => `a text of at most ${counted(limit, "character")}`,
	minimum: (limit) => `a number of at least ${limit}`,
	maximum: (limit) => `a number of at most ${limit}`,
	exclusiveMinimum: (limit) => `a number above ${limit}`,
	exclusiveMaximum: (limit) => `a number below ${limit}`,
	uniqueItems: () => "entries that differ",
};

export function expectedOf({ keyword, params }: ErrorObject) {
	return expectations[keyword]?.(Number(params["limit"]), params) ?? "another value";
}

const patternLabels: Readonly<Record<string, string>> = {
	"^[0-9a-f]{64}$": "a SHA-256 in 64 lower-case hexadecimal digits",
	"^[^@\\s]+@[0-9]+$": "name@revision, such as resnet50@3",
};

/** Keys of the schema node in an error's path, e.g. `#/$defs/case/additionalProperties`. */
function knownKeys({ schemaPath, instancePath }: ErrorObject, schema: unknown) {
	const holder = parentPointer(schemaPath.replace(/^#/, "")) ?? "";
	if (holder === "" && instancePath !== "") return [];
	const properties = valueAt(schema, `${holder}/properties`);
	return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

function stringsOf(value: unknown) {
	return Array.isArray(value) ? value.map(String) : [];
}

export function childPointer(pointer: string, key: string | number): string {
	return `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

export function parsePointer(pointer: string): string[] {
	return pointer
		.split("/")
		.slice(1)
		.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function valueAt(root: unknown, pointer: string): unknown {
	const own = (value: unknown, key: string) =>
		typeof value === "object" && value !== null && Object.hasOwn(value, key)
			? (value as Record<string, unknown>)[key]
			: undefined;
	return parsePointer(pointer).reduce(own, root);
}

export function parentPointer(pointer: string): string | undefined {
	const at = pointer.lastIndexOf("/");
	return at < 0 ? undefined : pointer.slice(0, at);
}

const listKeys =
	"workloads pairs shape plugins profiles flags runners labels env together accept only command".split(" ");
const isIndex = (part: string) => /^\d+$/.test(part);
const maxNameChars = 60;

/** `/models/resnet50/workloads/0/batch` becomes `models.resnet50.workloads[0].batch`. */
export function formatPointer(pointer: string): string {
	const parts = parsePointer(pointer);
	if (parts.length === 0) return "the file";
	const formatted = parts.map((part, index) => {
		const list = parts.slice(0, index).findLast((above) => !isIndex(above));
		const isListed = listKeys.includes(list ?? "") || parts[index - 2] === "sweep";
		if (isIndex(part) && isListed) return `[${part}]`;
		if (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(part)) return `.${shorten(part, maxNameChars)}`;
		return `[${formatName(part)}]`;
	});
	return formatted.join("").replace(/^\./, "");
}

export function formatName(name: string): string {
	return JSON.stringify(cleanText(shorten(name, maxNameChars)));
}

const mostWordChars = 40;
const maxKnown = 200;

/** Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps cost 1. */
export function editDistance(left: string, right: string): number {
	let beforeLast: number[] = [];
	let last = Array.from({ length: right.length + 1 }, (_, column) => column);
	for (let row = 1; row <= left.length; row += 1) {
		const current = [row];
		for (let column = 1; column <= right.length; column += 1) {
			const same = left[row - 1] === right[column - 1];
			const swapped =
				row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
			current.push(
				Math.min(
					(last[column] ?? 0) + 1,
					(current[column - 1] ?? 0) + 1,
					(last[column - 1] ?? 0) + (same ? 0 : 1),
					swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
				),
			);
		}
		[beforeLast, last] = [last, current];
	}
	return last[right.length] ?? 0;
}

export function didYouMean(word: string, known: readonly string[]): string | undefined {
	if (word.length === 0 || word.length > mostWordChars) return undefined;
	const simplify = (text: string) => text.toLowerCase().replace(/[-_ .]/g, "");
	const wanted = simplify(word);
	let best: { candidate: string; distance: number } | undefined;
	for (const candidate of known.slice(0, maxKnown)) {
		if (candidate.length > mostWordChars || candidate === word) continue;
		const distance = editDistance(wanted, simplify(candidate));
		const allowed = Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3));
		if (distance <= allowed && distance < (best?.distance ?? Infinity)) best = { candidate, distance };
	}
	return best?.candidate;
}

export function suggest(
	word: string,
	known: readonly string[],
	fix: string,
): { fix: string; meant?: string } {
	const meant = didYouMean(word, known);
	return meant === undefined ? { fix } : { fix: `Write ${meant}.`, meant };
}
