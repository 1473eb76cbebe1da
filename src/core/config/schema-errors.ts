// Turns errors of the schema validator into one problem per pointer, with what the schema expects there.

import type { ErrorObject } from "ajv";
import configSchema from "../../../golden-schema/config.schema.json" with { type: "json" };
import {
	childPointer,
	didYouMean,
	expectedOf,
	parentPointer,
	parsePointer,
	suggest,
	valueAt,
} from "../found.ts";
import type { Problem } from "./source.ts";
import { hintForFlagKey } from "./tensorrt-settings.ts";
import { describeGot, prebuiltFix } from "./values.ts";

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
function withoutUnionNoise(errors: readonly ErrorObject[]) {
	const dropped = new Set<ErrorObject>();
	for (const union of errors.filter((error) => error.keyword === "oneOf")) {
		const { instancePath, schemaPath } = union;
		const branchOf = (error: ErrorObject) =>
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

function toProblem(error: ErrorObject, root: unknown) {
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

function unknownKey(holder: string, key: string, schema: SchemaNode, root: unknown) {
	const problem = unknownName(holder, key, Object.keys(schema.properties ?? {}));
	if (typeName(schema) !== "ModelFile" && typeName(schema) !== "EngineFile") return problem;
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
	const expected = isOfLength(error)
		? expectedOf(error)
		: describeExpected(schema, parsePointer(pointer).at(-1));
	const says = `is ${describeGot(value, pointer)}`;
	return {
		code: "config-schema",
		pointer,
		says,
		expected,
		...suggest(typeof value === "string" ? value : "", schema.enum ?? [], `Write ${expected}.`),
	};
}

/** An empty text rather lacks an example of what belongs there. */
function isOfLength({ keyword, params }: ErrorObject) {
	return (
		/^(?:min|max)(?:Items|Properties|Length)$/.test(keyword) &&
		!(keyword === "minLength" && params["limit"] === 1)
	);
}

export interface SchemaNode {
	title?: string;
	$comment?: string;
	type?: string;
	const?: unknown;
	enum?: readonly string[];
	minimum?: number;
	maximum?: number;
	exclusiveMinimum?: number;
	properties?: Readonly<Record<string, SchemaNode>>;
	additionalProperties?: boolean | SchemaNode;
	propertyNames?: SchemaNode;
	items?: SchemaNode;
	oneOf?: readonly SchemaNode[];
	$ref?: string;
}

const typeName = ({ $comment, title = "" }: SchemaNode) => $comment ?? title;

const examples: Readonly<Record<string, string>> = {
	Percentage: "a share such as 2% or 0.02, or off",
	Duration: "a time with its unit, such as 500ms, 2s or 10m",
	TensorrtVersion: "a version such as 10.15",
	DeviceFile: "a GPU's index, UUID (GPU-…) or MIG slice (MIG-…)",
	SizeFile: "a size with its unit, such as 512MiB or 4GiB",
	PrepareFile: "a command, or { command: python export.py, env: [HF_TOKEN] }",
	PluginFile: "a path, or { path: libplugin.so, dynamic: true }",
	RunsOnFile: "a label, a list of labels, or { group: NAME, labels: [LABEL] }",
	ProbesFile: "new, on, nightly, off, a list of probes, or { when: nightly, only: [neighbours] }",
	CommandFile: "a mapping such as { command: [python3, lpips.py] }",
	ModelFile: "a mapping such as { onnx: models/net.onnx }",
	EngineFile: "a mapping such as { precision: fp16 }",
	OnnxFile: 'a path, or files by version such as { "<11": a.onnx, "11": b.onnx }',
	InputFile: "a mapping such as { shape: [batch, 3, 224, 224] }",
	WorkloadFile: "sizes by dimension, such as { batch: 8, streams: 2 }",
	ThresholdFile: "a mapping such as { warn: 2%, fail: 5% }",
	SloFile: "a mapping such as { p99: 20ms, rate: 400/s }",
	SloRate: "a rate such as 400/s",
	LoadFile: "a mapping such as { when: nightly, at: 80% }",
	Recipe: "16 hexadecimal digits, as the report shows them",
	VariableName: "the name of a variable, such as HF_TOKEN",
	DimFile: "a size such as 8, or a range { min: 1, opt: 8, max: 32 }",
	models: "models by name, such as { net: { onnx: models/net.onnx } }",
	engines: "engines by name, such as { fp16: { precision: fp16 } }",
	dims: "sizes by name, such as { batch: { min: 1, opt: 8, max: 32 } }",
	inputs: "inputs by name, such as { image: { shape: [batch, 3, 224, 224] } }",
	shape: "a list of sizes, or of names from dims, such as [batch, 3, 224, 224]",
	workloads: "a list of workloads, such as [{ batch: 1 }, { batch: 8, streams: 2 }]",
	profiles: "a list of profiles, such as [{ batch: 1 }, { batch: { min: 2, opt: 8, max: 32 } }]",
	plugins: "a list of libraries, such as [plugins/libmine.so]",
	flags: 'a list of flags, such as ["--sparsity=enable"]',
	pairs: "a list of numbers of pairs, such as [5, 8, 12, 16]",
	runners: "a list of runners, such as [{ name: l4, labels: [self-hosted, l4] }]",
	command: "a list of program and arguments, such as [python3, lpips.py]",
};

export function schemaFor(pointer: string): SchemaNode {
	let node: SchemaNode = configSchema as SchemaNode;
	for (const part of parsePointer(pointer)) node = childOf(holderOf(node), part);
	return followed(node);
}

function childOf(node: SchemaNode, key: string) {
	const named = node.properties && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined;
	const other = typeof node.additionalProperties === "object" ? node.additionalProperties : undefined;
	return named ?? other ?? node.items ?? {};
}

function holderOf(node: SchemaNode) {
	const target = followed(node);
	return target.oneOf?.map(followed).find((branch) => branch.type === "object") ?? target;
}

function followed(node: SchemaNode) {
	const name = node.$ref?.replace("#/$defs/", "");
	if (name === undefined) return node;
	const definitions: Readonly<Record<string, unknown>> = configSchema.$defs;
	return followed((Object.hasOwn(definitions, name) ? definitions[name] : {}) as SchemaNode);
}

const homes = {
	model: "a model",
	engine: "an engine",
	dla: "dla",
	plugin: "a plugin",
	gates: "gates",
	measure: "measure",
	preflight: "preflight",
	input: "an input, under inputs",
	runner: "a runner, under runners",
	threshold: "a limit, such as latency",
	workload: "a workload",
};

function findHome(key: string) {
	for (const [definition, home] of Object.entries(homes)) {
		const known = Object.keys(followed({ $ref: `#/$defs/${definition}` }).properties ?? {});
		const name = known.includes(key) ? key : didYouMean(key, known);
		if (name !== undefined) return { name, home };
	}
	return undefined;
}

function describeExpected(schema: SchemaNode, key = ""): string {
	const { const: only, enum: words, oneOf, type = "", ...bounds } = followed(schema);
	const name = typeName(followed(schema));
	if (Object.hasOwn(examples, name)) return examples[name] ?? "";
	if (only !== undefined) return JSON.stringify(only);
	if (words !== undefined) return words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`;
	if (oneOf !== undefined) return oneOf.map((branch) => describeExpected(branch)).join(", or ");
	if (type === "number" || type === "integer") return describeNumber({ type, ...bounds });
	const isHolder = type === "object" || type === "array";
	return (isHolder && Object.hasOwn(examples, key) ? examples[key] : typeLabels[type]) ?? "something else";
}

const typeLabels: Readonly<Record<string, string>> = {
	string: "a text that is not empty",
	boolean: "true or false",
	array: "a list",
	object: "a mapping of keys to values",
};

function describeNumber({ type, minimum, maximum, exclusiveMinimum }: SchemaNode) {
	const noun = type === "integer" ? "a whole number" : "a number";
	if (exclusiveMinimum !== undefined) return `${noun} above ${exclusiveMinimum}`;
	if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`;
	return minimum === undefined ? noun : `${noun} of at least ${minimum}`;
}
