// Describes what was found instead of something else, and reduces the errors of a schema to one, with the nearest key.

import type { ErrorObject } from "ajv";
import { didYouMean } from "./config/did-you-mean.ts";
import { childPointer, formatName, parentPointer, parsePointer, valueAt } from "./config/pointer.ts";
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
export function describeJsonFault(cause: unknown): string {
	const message = cause instanceof SyntaxError ? cause.message : "unreadable";
	return cleanText(shorten(message.replace(/,? *(\.\.\.)?".*$/s, ""), maxChars));
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

/** `what` includes its article. */
interface Described {
	schema: unknown;
	what: string;
}

/** Unknown keys first, then the deepest. */
export function toProblem(
	errors: readonly ErrorObject[],
	root: unknown,
	{ schema, what }: Described,
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
	const fix = meant === undefined ? {} : { fix: `Write "${meant}".` };
	return {
		pointer: instancePath,
		expected: expectedOf(error),
		got: describeFound(value, instancePath),
		...fix,
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
