// Turns schema errors of a manifest into one error message, with the nearest key.
import type { ErrorObject } from "ajv";
import goldenSchema from "../../../../golden-schema/golden.schema.json" with { type: "json" };
import { didYouMean } from "../../config/did-you-mean.ts";
import { childPointer, formatName, parsePointer } from "../../config/pointer.ts";
import { describeFound } from "../../found.ts";

export interface ManifestProblem {
	/** JSON pointer; "" is the whole manifest. */
	pointer: string;
	expected: string;
	got: string;
	fix?: string;
}

/**
 * The most specific of the validator's errors: unknown keys first, then the deepest.
 * @param schema what was validated against: a part of the manifest's schema, or all of it.
 */
export function toProblem(errors: readonly ErrorObject[], manifest: unknown, schema: unknown = goldenSchema): ManifestProblem {
	const [first] = [...errors].filter((error) => error.keyword !== "propertyNames").sort((left, right) => rank(right) - rank(left));
	if (first === undefined) return { pointer: "", expected: "a golden manifest", got: describeFound(manifest, "") };
	return describeError(first, manifest, schema);
}

function rank(error: ErrorObject): number {
	const depth = parsePointer(error.instancePath).length;
	if (error.keyword === "additionalProperties" || error.propertyName !== undefined) return 1000 + depth;
	// A union's own error is less specific than those of its branches.
	return error.keyword === "oneOf" ? depth - 0.5 : depth;
}

function describeError(error: ErrorObject, manifest: unknown, schema: unknown): ManifestProblem {
	const { instancePath, keyword, params } = error;
	const known = knownKeys(error.schemaPath, schema);
	if (keyword === "additionalProperties") return unknownKey(instancePath, String(params["additionalProperty"]), known);
	if (error.propertyName !== undefined) return unknownKey(instancePath, error.propertyName, stringsOf(params["allowedValues"]));
	if (keyword === "required") {
		const key = String(params["missingProperty"]);
		return { pointer: childPointer(instancePath, key), expected: "a value", got: "missing", fix: `Add "${key}".` };
	}
	const value = parsePointer(instancePath).reduce(childOf, manifest);
	const meant = typeof value === "string" ? didYouMean(value, stringsOf(params["allowedValues"])) : undefined;
	const fix = meant === undefined ? {} : { fix: `Write "${meant}".` };
	return { pointer: instancePath, expected: expectedOf(error), got: describeFound(value, instancePath), ...fix };
}

function unknownKey(pointer: string, key: string, known: readonly string[]): ManifestProblem {
	const meant = didYouMean(key, known);
	const fix = meant === undefined ? "Remove the key." : `Write "${meant}".`;
	return { pointer: childPointer(pointer, key), expected: `one of the keys ${known.join(", ")}`, got: `the key ${formatName(key)}`, fix };
}

function expectedOf({ keyword, params, message }: ErrorObject): string {
	switch (keyword) {
		case "enum":
			return `one of ${stringsOf(params["allowedValues"]).join(", ")}`;
		case "const":
			return JSON.stringify(params["allowedValue"]);
		case "pattern":
			return patternLabels[String(params["pattern"])] ?? `text that fits ${params["pattern"]}`;
		case "type":
			return `a value of type ${params["type"]}`;
		case "minItems":
		case "minProperties":
			return `at least ${params["limit"]} entry`;
		case "oneOf":
			return "a number, or numbers by precision";
		default:
			return (message ?? "another value").replace(/^must /, "");
	}
}

const patternLabels: Readonly<Record<string, string>> = {
	"^[0-9a-f]{64}$": "a SHA-256 in 64 lower-case hexadecimal digits",
	"^[^@\\s]+@[0-9]+$": "name@revision, such as resnet50@3",
};

/** The keys of the schema node that an error's path leads through, e.g. `#/$defs/case/additionalProperties`. */
function knownKeys(schemaPath: string, schema: unknown): string[] {
	let node: unknown = schema;
	for (const part of parsePointer(schemaPath).slice(0, -1)) node = childOf(node, part);
	const properties = childOf(node, "properties");
	return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

function childOf(node: unknown, key: string): unknown {
	return typeof node === "object" && node !== null && Object.hasOwn(node, key) ? (node as Record<string, unknown>)[key] : undefined;
}

function stringsOf(value: unknown): string[] {
	return Array.isArray(value) ? value.map(String) : [];
}
