// Describes what the schema expects at a pointer, and what was found there.
import configSchema from "../../../golden-schema/config.schema.json" with { type: "json" };
import { cleanText, shorten } from "../text/escape.ts";
import { didYouMean } from "./did-you-mean.ts";
import { parsePointer } from "./pointer.ts";

export interface SchemaNode {
	title?: string;
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

const notations: Readonly<Record<string, string>> = {
	Percentage: "a share such as 2% or 0.02, or off",
	Duration: "a time with its unit, such as 500ms, 2s or 10m",
	TensorrtVersion: "a version such as 10.15",
	DeviceFile: "a GPU's index, UUID (GPU-…) or MIG slice (MIG-…)",
	SizeFile: "a size with its unit, such as 512MiB or 4GiB",
	PrepareFile: "a command, or { command: python export.py, env: [HF_TOKEN] }",
	PluginFile: "a path, or { path: libplugin.so, dynamic: true }",
	RunsOnFile: "a label, a list of labels, or { group: NAME, labels: [LABEL] }",
	ProbesFile: "nightly, on, off, a list of probes, or { when: nightly, only: [neighbours] }",
	CommandFile: "a mapping such as { command: [python3, lpips.py] }",
	ModelFile: "a mapping such as { onnx: models/net.onnx }",
	EngineFile: "a mapping such as { precision: fp16 }",
	InputFile: "a mapping such as { shape: [batch, 3, 224, 224] }",
	WorkloadFile: "sizes by dimension, such as { batch: 8, streams: 2 }",
	ThresholdFile: "a mapping such as { warn: 2%, fail: 5% }",
	DimFile: "a size such as 8, or a range { min: 1, opt: 8, max: 32 }",
};

const examples: Readonly<Record<string, string>> = {
	models: "models by name, such as { net: { onnx: models/net.onnx } }",
	engines: "engines by name, such as { fp16: { precision: fp16 } }",
	dims: "sizes by name, such as { batch: { min: 1, opt: 8, max: 32 } }",
	inputs: "inputs by name, such as { image: { shape: [batch, 3, 224, 224] } }",
	shape: "a list of sizes, or of names from dims, such as [batch, 3, 224, 224]",
	workloads: "a list of workloads, such as [{ batch: 1 }, { batch: 8, streams: 2 }]",
	profiles: "a list of profiles, such as [{ batch: 1 }, { batch: { min: 2, opt: 8, max: 32 } }]",
	plugins: "a list of libraries, such as [plugins/libmine.so]",
	flags: 'a list of flags, such as ["--sparsity=enable"]',
	dla: "a mapping such as { core: 0 }",
	gates: "limits by name, such as { latency: { warn: 2%, fail: 5% } }",
	golden: "a mapping such as { relative-l2: 0.005 }",
	measure: "a mapping such as { duration: 3s }",
	pairs: "a list of numbers of pairs, such as [5, 8, 12, 16]",
	preflight: "a mapping such as { tensorrt: 10.15 }",
	baseline: "a mapping such as { from: tag }",
	base: "a mapping such as { trtexec: /opt/tensorrt-10/bin/trtexec }",
	history: "a mapping such as { branch: trtgate-history }",
	profile: "a mapping such as { nsys: on-regression }",
	explain: "a mapping such as { bisect: nightly }",
	cache: "a mapping such as { engines: false }",
	runners: "a list of runners, such as [{ name: l4, labels: [self-hosted, l4] }]",
	comparators: "commands by name, such as { lpips: { command: [python3, lpips.py] } }",
	command: "a list of program and arguments, such as [python3, lpips.py]",
};

export function schemaFor(pointer: string): SchemaNode {
	let node: SchemaNode = configSchema as SchemaNode;
	for (const part of parsePointer(pointer)) node = childOf(holderOf(node), part);
	return followed(node);
}

function childOf(node: SchemaNode, key: string): SchemaNode {
	const named = node.properties && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined;
	const other = typeof node.additionalProperties === "object" ? node.additionalProperties : undefined;
	return named ?? other ?? node.items ?? {};
}

export function holderOf(node: SchemaNode): SchemaNode {
	const target = followed(node);
	return target.oneOf?.map(followed).find((branch) => branch.type === "object") ?? target;
}

export function followed(node: SchemaNode): SchemaNode {
	const name = node.$ref?.replace("#/$defs/", "");
	if (name === undefined) return node;
	const definitions: Readonly<Record<string, unknown>> = configSchema.$defs;
	return followed((Object.hasOwn(definitions, name) ? definitions[name] : {}) as SchemaNode);
}

const homes: readonly (readonly [definition: string, label: string])[] = [
	["model", "a model"],
	["engine", "an engine"],
	["dla", "dla"],
	["plugin", "a plugin"],
	["gates", "gates"],
	["measure", "measure"],
	["preflight", "preflight"],
	["input", "an input, under inputs"],
	["runner", "a runner, under runners"],
	["threshold", "a limit, such as latency"],
	["workload", "a workload"],
];

export function findHome(key: string): { name: string; home: string } | undefined {
	for (const [definition, home] of homes) {
		const known = Object.keys(followed({ $ref: `#/$defs/${definition}` }).properties ?? {});
		const name = known.includes(key) ? key : didYouMean(key, known);
		if (name !== undefined) return { name, home };
	}
	return undefined;
}

/** What the schema wants of `key`, as the end of a sentence that has "expected". */
export function describeExpected(schema: SchemaNode, key = ""): string {
	const target = followed(schema);
	const notation = notations[target.title ?? ""];
	if (notation !== undefined) return notation;
	if (target.const !== undefined) return JSON.stringify(target.const);
	if (target.enum !== undefined)
		return target.enum.length === 1 ? `${target.enum[0]}` : `one of ${target.enum.join(", ")}`;
	if (target.oneOf !== undefined) return target.oneOf.map((branch) => describeExpected(branch)).join(", or ");
	if (target.type === "number" || target.type === "integer") return describeNumber(target);
	const isHolder = target.type === "object" || target.type === "array";
	return (
		(isHolder && Object.hasOwn(examples, key) ? examples[key] : undefined) ??
		typeLabels[target.type ?? ""] ??
		"something else"
	);
}

const typeLabels: Readonly<Record<string, string>> = {
	string: "a text that is not empty",
	boolean: "true or false",
	array: "a list",
	object: "a mapping of keys to values",
};

function describeNumber({ type, minimum, maximum, exclusiveMinimum }: SchemaNode): string {
	const noun = type === "integer" ? "a whole number" : "a number";
	if (exclusiveMinimum !== undefined) return `${noun} above ${exclusiveMinimum}`;
	if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`;
	return minimum === undefined ? noun : `${noun} of at least ${minimum}`;
}

const maxGotChars = 60;

/** A value of the file in short. */
export function describeGot(value: unknown): string {
	if (value === null || value === undefined) return "empty";
	if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
	if (typeof value === "object") return Object.keys(value).length === 0 ? "an empty mapping" : "a mapping";
	return typeof value === "string" ? JSON.stringify(cleanText(shorten(value, maxGotChars))) : String(value);
}
