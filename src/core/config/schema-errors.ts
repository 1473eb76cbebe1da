// Turns the errors of the schema validator into one problem per pointer.
import type { ErrorObject } from "ajv";
import { adviseUnknownKey, adviseValue } from "./advice.ts";
import { suggest } from "./did-you-mean.ts";
import {
	describeExpected,
	describeGot,
	findHome,
	followed,
	holderOf,
	type SchemaNode,
	schemaFor,
} from "./expected.ts";
import { childPointer, parentPointer, parsePointer, valueAt } from "./pointer.ts";
import type { Problem } from "./problem.ts";

const maxErrors = 1000;

export function toProblems(errors: readonly ErrorObject[], value: unknown): Problem[] {
	const byPlace = new Map<string, Problem>();
	for (const error of withoutUnionNoise(errors.slice(0, maxErrors))) {
		const problem = toProblem(error, value);
		if (problem !== null && !byPlace.has(problem.pointer)) byPlace.set(problem.pointer, problem);
	}
	// `oonx: a.onnx` is an unknown key and a missing one: one mistake, one problem.
	const problems = [...byPlace.values()];
	const meant = new Set(
		problems.map(
			(problem) => problem.meant && childPointer(parentPointer(problem.pointer) ?? "", problem.meant),
		),
	);
	return problems.filter(({ says, pointer }) => says !== isMissing || !meant.has(pointer));
}

const isMissing = "is missing";

/**
 * A value that fits no branch of a `oneOf` is reported once per branch and once more. What remains: the errors
 * inside the branch whose type fits, or else the one of the `oneOf`.
 */
function withoutUnionNoise(errors: readonly ErrorObject[]): ErrorObject[] {
	const dropped = new Set<ErrorObject>();
	for (const union of errors.filter((error) => error.keyword === "oneOf")) {
		const { instancePath, schemaPath } = union;
		const branchOf = (error: ErrorObject): string =>
			error.schemaPath.slice(schemaPath.length + 1).split("/", 1)[0] ?? "";
		const inside = errors.filter(
			(error) =>
				error.schemaPath.startsWith(`${schemaPath}/`) &&
				`${error.instancePath}/`.startsWith(`${instancePath}/`),
		);
		const telling = inside.filter(
			(error) => error.instancePath !== instancePath || ofKeys.has(error.keyword),
		);
		const branches = new Set(telling.map(branchOf));
		for (const error of inside) if (!branches.has(branchOf(error))) dropped.add(error);
		if (branches.size > 0) dropped.add(union);
	}
	return errors.filter((error) => !dropped.has(error));
}

const ofKeys: ReadonlySet<string> = new Set(["required", "additionalProperties", "propertyNames"]);

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
			if (error.propertyName !== undefined)
				return unknownName(
					error.instancePath,
					error.propertyName,
					followed(schema.propertyNames ?? {}).enum ?? [],
				);
			return wrongValue(error, valueAt(root, error.instancePath));
	}
}

function unknownKey(
	holder: string,
	key: string,
	{ schema, root }: { schema: SchemaNode; root: unknown },
): Problem {
	const problem = unknownName(holder, key, Object.keys(schema.properties ?? {}));
	const advice = adviseUnknownKey({ key, value: valueAt(root, problem.pointer) }, schema.title);
	return advice === undefined ? problem : { ...problem, meant: undefined, ...advice };
}

function unknownName(pointer: string, key: string, known: readonly string[]): Problem {
	const home = findHome(key);
	const elsewhere = home === undefined ? "." : ` here; ${home.name} belongs to ${home.home}.`;
	return {
		code: "config-schema",
		pointer: childPointer(pointer, key),
		says: "is not a known key",
		expected: known.length === 1 ? `${known[0]}` : `one of ${known.join(", ")}`,
		at: "key",
		...suggest(key, known, `Remove the key${elsewhere}`),
	};
}

function missingKey(holder: string, key: string, properties: Readonly<Record<string, SchemaNode>>): Problem {
	const expected = describeExpected(properties[key] ?? {}, key);
	const fix = key === "version" ? "Write `version: 1` at the top of the file." : `Add ${key}:.`;
	const pointer = childPointer(holder, key);
	return { code: "config-schema", pointer, says: isMissing, expected, fix, at: "key" };
}

function wrongValue(error: ErrorObject, value: unknown): Problem {
	const { instancePath: pointer } = error;
	const schema = schemaFor(pointer);
	const expected = countLabels(error) ?? describeExpected(schema, parsePointer(pointer).at(-1));
	const says = `is ${pointer === "" && typeof value === "string" ? "a text" : describeGot(value)}`;
	const fix = adviseValue(pointer, value, schema) ?? `Write ${expected}.`;
	return {
		code: "config-schema",
		pointer,
		says,
		expected,
		...suggest(typeof value === "string" ? value : "", schema.enum ?? [], fix),
	};
}

function countLabels({ keyword, params }: ErrorObject): string | undefined {
	if (keyword === "minItems" || keyword === "minProperties") return `at least ${params["limit"]} entry`;
	if (keyword === "maxItems") return `at most ${params["limit"]} entries`;
	return undefined;
}
