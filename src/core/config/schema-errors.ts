// Turns errors of the schema validator into one problem per pointer.
import type { ErrorObject } from "ajv";
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
import { prebuiltFix } from "./models.ts";
import { childPointer, parentPointer, parsePointer, valueAt } from "./pointer.ts";
import type { Problem } from "./problem.ts";
import { hintForFlagKey } from "./tensorrt-settings.ts";

const maxErrors = 1000;

export function toProblems(errors: readonly ErrorObject[], value: unknown): Problem[] {
	const byPlace = new Map<string, Problem>();
	for (const error of withoutUnionNoise(errors.slice(0, maxErrors))) {
		const problem = toProblem(error, value);
		if (problem !== null && !byPlace.has(problem.pointer)) byPlace.set(problem.pointer, problem);
	}
	// `oonx: a.onnx` is an unknown key and a missing one: one mistake.
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
 * A value that fits no branch of a `oneOf` is reported once per branch and once more. Keeps the errors inside the branch
 * whose type fits, or else that of the `oneOf`.
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
	const { instancePath, keyword, params, propertyName } = error;
	const schema = holderOf(schemaFor(instancePath));
	if (keyword === "propertyNames") return null;
	if (keyword === "required")
		return missingKey(instancePath, params["missingProperty"], schema.properties ?? {});
	if (keyword === "additionalProperties")
		return unknownKey(instancePath, params["additionalProperty"], schema, root);
	return propertyName === undefined
		? wrongValue(error, valueAt(root, instancePath))
		: unknownName(instancePath, propertyName, followed(schema.propertyNames ?? {}).enum ?? []);
}

function unknownKey(holder: string, key: string, { title, properties }: SchemaNode, root: unknown): Problem {
	const problem = unknownName(holder, key, Object.keys(properties ?? {}));
	if (title !== "ModelFile" && title !== "EngineFile") return problem;
	if (/^(?:engine|plan|trt)$/i.test(key) && typeof valueAt(root, problem.pointer) === "string")
		return { ...problem, fix: prebuiltFix, meant: "onnx" };
	const fix = hintForFlagKey(key);
	return fix === undefined ? problem : { ...problem, meant: undefined, fix };
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
	return {
		code: "config-schema",
		pointer,
		says,
		expected,
		...suggest(typeof value === "string" ? value : "", schema.enum ?? [], `Write ${expected}.`),
	};
}

function countLabels({ keyword, params }: ErrorObject): string | undefined {
	if (keyword === "minItems" || keyword === "minProperties") return `at least ${params["limit"]} entry`;
	if (keyword === "maxItems") return `at most ${params["limit"]} entries`;
	return undefined;
}
