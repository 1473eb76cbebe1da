// Reads what --exportLayerInfo writes: an engine's layers, with details or by name alone.
import { ToolError } from "../../core/errors.ts";
import type { EngineIo, EngineLayer, EngineLayers, LayerTensor, LayerWeights } from "../../core/explain/engine-layers.ts";

type Fields = Readonly<Record<string, unknown>>;

// Written forms: `Half`, `Channel major FP16 format where channel % 8 == 0`, from 11 on `FP16` by itself.
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

const carriesNumbers = new Set(["fp32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "uint8"]);
const reformatTypes = new Set(["Reformat", "cast", "copy", "NoOp"]);

export function parseLayerDtype(text: string): string | null {
	return dtypes.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

function asFields(value: unknown): Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function asList(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function asText(value: unknown): string {
	return typeof value === "string" ? value : "";
}

function toTensor(value: unknown): LayerTensor {
	const fields = asFields(value);
	const format = asText(fields["Format/Datatype"]) || asText(fields["Format"]);
	return {
		name: asText(fields["Name"]),
		dims: asList(fields["Dimensions"]).filter((size): size is number => typeof size === "number"),
		dtype: parseLayerDtype(asText(fields["DataType"]) || format),
		format,
	};
}

function toWeights(value: unknown): LayerWeights | null {
	const fields = asFields(value);
	const count = fields["Count"];
	return typeof count === "number" && count > 0 ? { dtype: parseLayerDtype(asText(fields["Type"])), elements: count } : null;
}

function precisionOf(inputs: readonly LayerTensor[], outputs: readonly LayerTensor[], weights: LayerWeights | null): string | null {
	const carrier = inputs.find(({ dtype }) => dtype !== null && carriesNumbers.has(dtype));
	return weights?.dtype ?? carrier?.dtype ?? outputs[0]?.dtype ?? null;
}

function toLayer(value: unknown): EngineLayer {
	if (typeof value === "string") {
		const isReformat = value.startsWith("Reformatting CopyNode");
		return { name: value, type: null, inputs: [], outputs: [], precision: null, tactic: null, weights: null, onnxNodes: [], isReformat };
	}
	const fields = asFields(value);
	const inputs = asList(fields["Inputs"]).map(toTensor);
	const outputs = asList(fields["Outputs"]).map(toTensor);
	const weights = toWeights(fields["Weights"]);
	const type = asText(fields["LayerType"]) || null;
	return {
		name: asText(fields["Name"]),
		type,
		inputs,
		outputs,
		precision: precisionOf(inputs, outputs, weights),
		tactic: asText(fields["TacticName"]) || asText(fields["TacticValue"]) || null,
		weights,
		onnxNodes: [...asText(fields["Metadata"]).matchAll(/\[ONNX Layer: ([^\u001e\u001f]*?)\](?=[\u001e\u001f]|$)/g)].map(
			(match) => match[1] ?? "",
		),
		// A quantisation is built of the same kernel, and is no waste.
		isReformat: type !== null && reformatTypes.has(type) && fields["Origin"] !== "QDQ",
	};
}

function toIo(value: unknown): EngineIo {
	// Up to TensorRT 10 the list holds names alone.
	if (typeof value === "string") return { name: value, mode: null, dtype: null };
	const fields = asFields(value);
	const mode = asText(fields["IOMode"]).toLowerCase();
	return {
		name: asText(fields["Name"]),
		mode: mode.includes("input") ? "input" : mode.includes("output") ? "output" : null,
		dtype: parseLayerDtype(asText(fields["DataType"])),
	};
}

/** Names may hold separators that JSON forbids raw; between tokens such a character is blank anyway. */
function escapeControls(text: string): string {
	return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @throws ToolError tool-output, where the text is no layer info. */
export function parseLayerInfo(text: string): EngineLayers {
	let value: unknown;
	try {
		value = JSON.parse(escapeControls(text));
	} catch (cause) {
		throw new ToolError({
			code: "tool-output",
			message: "The layer info that trtexec wrote is not JSON.",
			cause,
			details: { expected: "an object with Layers", fix: "Check that the run came to its end and the disk has space." },
		});
	}
	const fields = asFields(value);
	if (!Array.isArray(fields["Layers"])) {
		throw new ToolError({
			code: "tool-output",
			message: "The layer info that trtexec wrote has no list of layers.",
			details: { expected: "Layers", fix: "Build the engine with --profilingVerbosity=detailed." },
		});
	}
	const layers = fields["Layers"].map(toLayer);
	return {
		detail: layers.some((layer) => layer.type !== null) ? "detailed" : "names",
		layers,
		io: asList(fields["I/O Tensors"] ?? fields["Bindings"]).map(toIo),
	};
}
