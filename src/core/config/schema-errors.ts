// Turns the errors of the schema validator into one problem per pointer.
import type { ErrorObject } from "ajv";
import { adviseUnknownKey, adviseValue } from "./advice.ts";
import { suggest } from "./did-you-mean.ts";
import { describeExpected, describeGot, findHome, followed, holderOf, type SchemaNode, schemaFor } from "./expected.ts";
import { childPointer, parentPointer, parsePointer, valueAt } from "./pointer.ts";
import type { Problem } from "./problem.ts";

/** Bounds the work for a file full of mistakes. */
const maxErrors = 1000;

export function toProblems(errors: readonly ErrorObject[], value: unknown): Problem[] {
	const first = errors.slice(0, maxErrors);
	const problems = withoutUnionNoise(first)
		.map((error) => toProblem(error, value))
		.filter((problem) => problem !== null);
	const byPlace = new Map<string, Problem>();
	for (const problem of problems) if (!byPlace.has(problem.pointer)) byPlace.set(problem.pointer, problem);
	return withoutEchoes([...byPlace.values()]);
}

const isMissing = "is missing";

/** `oonx: a.onnx` is an unknown key and a missing one: one mistake, one problem. */
function withoutEchoes(problems: readonly Problem[]): Problem[] {
	const meant = new Set(
		problems.flatMap(({ pointer, meant }) => (meant === undefined ? [] : [childPointer(parentPointer(pointer) ?? "", meant)])),
	);
	return problems.filter((problem) => problem.says !== isMissing || !meant.has(problem.pointer));
}

/**
 * A value that fits no branch of a `oneOf` is reported once per branch and once more. What remains: the errors
 * inside the branch whose type fits, or else the one of the `oneOf`.
 */
function withoutUnionNoise(errors: readonly ErrorObject[]): ErrorObject[] {
	const dropped = new Set<ErrorObject>();
	for (const union of errors.filter((error) => error.keyword === "oneOf")) {
		const inside = errors.filter((error) => error.schemaPath.startsWith(`${union.schemaPath}/`) && isWithin(error, union));
		const telling = inside.filter((error) => isDeeper(error, union));
		const branches = new Set(telling.map((error) => branchOf(error, union)));
		for (const error of inside) if (!branches.has(branchOf(error, union))) dropped.add(error);
		if (branches.size > 0) dropped.add(union);
	}
	return errors.filter((error) => !dropped.has(error));
}

function isWithin(error: ErrorObject, union: ErrorObject): boolean {
	return error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`);
}

function isDeeper(error: ErrorObject, union: ErrorObject): boolean {
	const ofKeys = ["required", "additionalProperties", "propertyNames"].includes(error.keyword);
	return error.instancePath !== union.instancePath || ofKeys;
}

function branchOf(error: ErrorObject, union: ErrorObject): string {
	return error.schemaPath.slice(union.schemaPath.length + 1).split("/", 1)[0] ?? "";
}

function toProblem(error: ErrorObject, root: unknown): Problem | null {
	const schema = holderOf(schemaFor(error.instancePath));
	switch (error.keyword) {
		case "additionalProperties":
			return unknownKey(error.instancePath, error.params["additionalProperty"], { schema, root });
		case "required":
			return missingKey(error.instancePath, error.params["missingProperty"], schema.properties ?? {});
		case "propertyNames":
			return null;
		default:
			if (error.propertyName !== undefined) return unknownName(error.instancePath, error.propertyName, namesOf(schema));
			return wrongValue(error, valueAt(root, error.instancePath));
	}
}

function unknownKey(holder: string, key: string, { schema, root }: { schema: SchemaNode; root: unknown }): Problem {
	const pointer = childPointer(holder, key);
	const advice = adviseUnknownKey({ key, value: valueAt(root, pointer) }, schema.title);
	return {
		...unknownName(holder, key, Object.keys(schema.properties ?? {})),
		...(advice === undefined ? {} : { meant: undefined, ...advice }),
	};
}

function unknownName(pointer: string, key: string, known: readonly string[]): Problem {
	return {
		code: "config-schema",
		pointer: childPointer(pointer, key),
		says: "is not a known key",
		expected: known.length === 1 ? `${known[0]}` : `one of ${known.join(", ")}`,
		at: "key",
		...suggest(key, known, adviseKey(key)),
	};
}

function adviseKey(key: string): string {
	const found = findHome(key);
	return found === undefined ? "Remove the key." : `Remove the key here; ${found.name} belongs to ${found.home}.`;
}

function missingKey(pointer: string, key: string, properties: Readonly<Record<string, SchemaNode>>): Problem {
	const expected = describeExpected(properties[key] ?? {}, key);
	return {
		code: "config-schema",
		pointer: childPointer(pointer, key),
		says: isMissing,
		expected,
		fix: key === "version" ? "Write `version: 1` at the top of the file." : `Add ${key}:.`,
		at: "key",
	};
}

function wrongValue(error: ErrorObject, value: unknown): Problem {
	const schema = schemaFor(error.instancePath);
	const expected = countLabels(error) ?? describeExpected(schema, parsePointer(error.instancePath).at(-1));
	// A file that is one text may be any file: it is not quoted.
	const got = error.instancePath === "" && typeof value === "string" ? "a text" : describeGot(value);
	return {
		code: "config-schema",
		pointer: error.instancePath,
		says: `is ${got}`,
		expected,
		...suggest(
			typeof value === "string" ? value : "",
			schema.enum ?? [],
			adviseValue(error.instancePath, value, schema) ?? `Write ${expected}.`,
		),
	};
}

function countLabels({ keyword, params }: ErrorObject): string | undefined {
	if (keyword === "minItems" || keyword === "minProperties") return `at least ${params["limit"]} entry`;
	if (keyword === "maxItems") return `at most ${params["limit"]} entries`;
	return undefined;
}

/** The names that keys of a mapping may have where the schema lists them. */
function namesOf({ propertyNames }: SchemaNode): readonly string[] {
	return (propertyNames && followed(propertyNames).enum) ?? [];
}
