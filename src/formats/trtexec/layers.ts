// Reads --exportLayerInfo.

import { ToolError } from "../../core/errors.ts";
import { fieldsOf } from "../../core/found.ts";
import type { EngineIo, EngineLayer, EngineLayers, LayerTensor } from "../../engine/core/layer.ts";

type Fields = ReturnType<typeof fieldsOf>;

// Examples: `Half`, `Channel major FP16 format where channel % 8 == 0`; from TensorRT 11 on just `FP16`.
const dtypes: readonly (readonly [pattern: RegExp, dtype: string])[] = [
	[/\b(?:BF16|BFloat16)\b/i, "bf16"],
	[/\b(?:FP16|Half|Float16)\b/i, "fp16"],
	[/\b(?:FP32|Float|Float32)\b/i, "fp32"],
	[/\b(?:FP8|Float8)\w*/i, "fp8"],
	[/\b(?:FP4|Float4)\w*/i, "fp4"],
	[/\b(?:UINT8)\b/i, "uint8"],
	[/\bINT8\b/i, "int8"],
	[/\bINT4\b/i, "int4"],
	[/\bINT32\b/i, "int32"],
	[/\bINT64\b/i, "int64"],
	[/\bE8M0\b/i, "e8m0"],
	[/\bBOOL\b/i, "bool"],
];

const numericTypes = new Set(["fp32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "uint8"]);
const reformatTypes = new Set(["Reformat", "cast", "copy"]);

export function parseLayerDtype(text: string): string | null {
	return dtypes.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

function asList(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function asText(value: unknown) {
	return typeof value === "string" ? value : "";
}

function toTensor(value: unknown) {
	const fields = fieldsOf(value);
	const format = asText(fields["Format/Datatype"]) || asText(fields["Format"]);
	return {
		name: asText(fields["Name"]),
		dims: asList(fields["Dimensions"]).filter((size): size is number => typeof size === "number"),
		dtype: parseLayerDtype(asText(fields["DataType"]) || format),
		format,
	};
}

function toWeights(value: unknown) {
	const fields = fieldsOf(value);
	const count = fields["Count"];
	return typeof count === "number" && count > 0
		? { dtype: parseLayerDtype(asText(fields["Type"])), elements: count }
		: null;
}

type Computing = Pick<EngineLayer, "inputs" | "outputs" | "weights" | "tactic">;

/** `_i8f32_i8i32_f32_`: types of A and C, of B and the sum, of the scale; `_f16f16_f32_f32_` only of A, C and the sum. */
const kernelTypes = new RegExp(
	"_(T)T_(?:(T)T|T)_T(?:_|$)".replaceAll("T", "(?:tf32|bf16|f16|f32|i8|i32|e4m3|e5m2)"),
);
const multiplied: Readonly<Record<string, string>> = {
	...{ tf32: "tf32", bf16: "bf16", f16: "fp16", f32: "fp32" },
	...{ i8: "int8", e4m3: "fp8", e5m2: "fp8" },
};

/** Of a product the type that its kernel multiplies in, as its name says; a type of weights is only how they are stored. */
function precisionOf({ inputs, outputs, weights, tactic }: Computing) {
	const [, first = "", second = first] = kernelTypes.exec(tactic ?? "") ?? [];
	const stated = multiplied[second];
	if (stated !== undefined) return stated;
	const carrier = inputs.find(({ dtype }) => dtype !== null && numericTypes.has(dtype));
	const precision = weights?.dtype ?? carrier?.dtype ?? outputs[0]?.dtype ?? null;
	return precision === "fp32" && tactic !== null && /tf32/i.test(tactic) ? "tf32" : precision;
}

const noopTypes = new Set(["NoOp", "Constant", "constant"]);
const controlTypes = new Set([
	...["shape_call", "TrainStation", "jmp", "cjmp", "signal", "wait"],
	...["DeviceToShapeHost", "ShapeHostToDevice"],
]);
const sizeTypes = new Set(["int32", "int64", "bool"]);

function holdsSizes({ dtype, dims }: LayerTensor) {
	const [size = 1] = dims;
	return sizeTypes.has(dtype ?? "") && dims.length <= 1 && size >= 0 && size <= 16;
}

function kindOf(type: string | null, fields: Fields, { inputs, outputs }: Computing) {
	if (type === null) return "compute";
	if (noopTypes.has(type)) return "noop";
	if (controlTypes.has(type)) return "shape";
	if (outputs.length > 0 && [...inputs, ...outputs].every(holdsSizes)) return "shape";
	if (!reformatTypes.has(type)) return "compute";
	// Quantisation uses the same kernel as a reformat but is not overhead.
	if (fields["Origin"] === "QDQ") return "quantize";
	// A copy that is a node of the model, such as a Concat or a Transpose, is its work.
	return asText(fields["Metadata"]) === "" ? "reformat" : "compute";
}

const parameterKeys = [
	...["ParameterType", "Kernel", "Stride", "Dilation", "Groups", "OutMaps", "Activation", "HasResidual"],
	...["HasSparseWeights", "PoolingType", "WindowSize", "NbOperations", "Axes", "InterpolationMode"],
	"CoordTransform",
];

function parametersOf(fields: Fields): EngineLayer["parameters"] {
	const known = parameterKeys.flatMap((key): [string, string | number | number[]][] => {
		const value = fields[key];
		if (typeof value === "string" || typeof value === "number") return [[key, value]];
		return Array.isArray(value) ? [[key, value.filter((item) => typeof item === "number").slice(0, 8)]] : [];
	});
	return Object.fromEntries(known);
}

/** Each node is in brackets; U+001E and U+001F separate them. */
function metadataNodes(text: string) {
	const nodes = text
		.split(/[\u001e\u001f]/)
		.flatMap((part) => /^\[ONNX Layer: (.*)\]$/s.exec(part.trim())?.[1] ?? []);
	return [...new Set(nodes)];
}

function flattened(fields: Fields) {
	if (asText(fields["ConvParameterType"]) === "") return fields;
	const own = Object.entries(fields).flatMap(([key, value]) =>
		/^Conv[A-Z]/.test(key) ? [[key.slice(4), value] as const] : [],
	);
	return { ...fields, ...Object.fromEntries(own) };
}

function toLayer(value: unknown): EngineLayer {
	const fields = flattened(typeof value === "string" ? { Name: value } : fieldsOf(value));
	const name = asText(fields["Name"]);
	const inputs = asList(fields["Inputs"]).map(toTensor);
	const outputs = asList(fields["Outputs"]).map(toTensor);
	const weights = toWeights(fields["Weights"]);
	const type = asText(fields["LayerType"]) || null;
	const tactic = asText(fields["TacticName"]) || asText(fields["TacticValue"]) || null;
	const computing = { inputs, outputs, weights, tactic };
	const { nodes, ...named } = readLayerName(name);
	const stated = metadataNodes(asText(fields["Metadata"]));
	const onnxNodes = stated.length > 0 ? stated : nodes;
	const isServing = named.servedLayer !== null && type === null;
	return {
		...named,
		...computing,
		name,
		type,
		kind: isServing ? "reformat" : kindOf(type, fields, computing),
		precision: precisionOf(computing),
		onnxNodes,
		foreign: stated.length > 0 ? null : named.foreign,
		parameters: parametersOf(fields),
	};
}

function toIo(value: unknown): EngineIo {
	// Up to TensorRT 10 the list has only names.
	if (typeof value === "string") return { name: value, mode: null, dtype: null };
	const fields = fieldsOf(value);
	const mode = asText(fields["IOMode"]).toLowerCase();
	return {
		name: asText(fields["Name"]),
		mode: mode.includes("input") ? "input" : mode.includes("output") ? "output" : null,
		dtype: parseLayerDtype(asText(fields["DataType"])),
	};
}

function escapeControls(text: string) {
	return text
		.replace(/^\ufeff/, "")
		.replace(
			/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g,
			(char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
		);
}

/** @throws ToolError tool-output. */
export function parseLayerInfo(text: string): EngineLayers {
	const code = "tool-output";
	let value: unknown;
	try {
		value = JSON.parse(escapeControls(text));
	} catch (cause) {
		const fix = "Check that the run finished and that the disk has space.";
		throw new ToolError({ code, message: "The layer info that trtexec wrote is not JSON.", cause, fix });
	}
	const fields = fieldsOf(value);
	if (!Array.isArray(fields["Layers"])) {
		const fix = "Build the engine with --profilingVerbosity=detailed.";
		throw new ToolError({ code, message: "The layer info that trtexec wrote has no list of layers.", fix });
	}
	const layers = fields["Layers"].map(toLayer);
	return {
		detail: layers.some((layer) => layer.type !== null) ? "detailed" : "names",
		layers,
		io: asList(fields["I/O Tensors"] ?? fields["Bindings"]).map(toIo),
	};
}

interface NamedParts {
	nodes: string[];
	foreign: readonly [from: string, to: string] | null;
	servedLayer: string | null;
	region: number | null;
}

const serving = /^Reformatting CopyNode for (?:Network )?(?:Input|Output)(?: Tensor)?(?: \d+ to)? /;
const added = /^(?:ONNXTRT_|\(Unnamed Layer\* ?\d+\)|__my)|^$/;
const maxChars = 65_536;

/** `Conv_0 + PWN(PWN(Sigmoid_1), Mul_2)` has three nodes; `{ForeignNode[a...b]}` the ends of a region. */
export function readLayerName(name: string): NamedParts {
	const region = /_myl(\d+)_\d+$/.exec(name.slice(-40))?.[1];
	const known = { region: region === undefined ? null : Number(region), foreign: null, servedLayer: null };
	const prefix = serving.exec(name.slice(0, 100))?.[0];
	if (prefix !== undefined) return { ...known, nodes: [], servedLayer: name.slice(prefix.length) };
	// Myelin names a kernel after its operations, or after nodes whose special characters it replaces.
	if (region !== undefined || name.startsWith("__my")) return { ...known, nodes: [] };
	const ends = foreignEnds(name);
	if (ends !== null) return { ...known, nodes: [], foreign: ends };
	return { ...known, nodes: splitFused(name) };
}

function foreignEnds(name: string): readonly [string, string] | null {
	const start = name.indexOf("{ForeignNode[");
	const end = name.lastIndexOf("]}");
	if (start < 0 || end < start || name.length > maxChars) return null;
	const inner = name.slice(start + "{ForeignNode[".length, end);
	const dots = inner.indexOf("...");
	const [from, to] = dots < 0 ? [inner, inner] : [inner.slice(0, dots), inner.slice(dots + 3)];
	// Each end is a layer of its own, with nodes fused into it.
	return [splitFused(from)[0] ?? from, splitFused(to).at(-1) ?? to];
}

const tokens = /PWN\(| \+ | \|\| |[(),]|[^(), +|P]+|./gs;

/** Splits at ` + ` and ` || `, inside any depth of `PWN(a, b)`. Parentheses within names stay. */
function splitFused(name: string): string[] {
	const found = new Set<string>();
	const open: boolean[] = [];
	let node = "";
	const end = () => {
		if (!added.test(node.trim())) found.add(node.trim());
		node = "";
	};
	for (const [token] of name
		.slice(0, maxChars)
		.replace(/ \[profile \d+\]$/, "")
		.matchAll(tokens)) {
		const isInside = open.at(-1) === false;
		if (token === "PWN(" && node.trim() === "") {
			open.push(true);
			node = "";
		} else if (token === ")" && open.pop() === true) end();
		else if ((token === " + " || token === " || " || (token === "," && open.length > 0)) && !isInside) end();
		else node += token;
		if (token.endsWith("(") && node !== "") open.push(false);
	}
	end();
	return [...found];
}
