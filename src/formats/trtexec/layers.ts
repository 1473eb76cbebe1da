// Reads --exportLayerInfo (an engine's layers, in detail or by name) and --exportProfile (the time of each layer).
import { ToolError } from "../../core/errors.ts";
import type {
	EngineIo,
	EngineLayer,
	EngineLayers,
	LayerProfile,
	LayerTensor,
	LayerTime,
	LayerWeights,
} from "../../core/explain/engine-layers.ts";
import { joinLayers } from "../../core/explain/layers.ts";
import type { ArmLayers } from "../../core/schema/result.ts";

type Fields = Readonly<Record<string, unknown>>;

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
	const carrier = inputs.find(({ dtype }) => dtype !== null && numericTypes.has(dtype));
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
		// Quantisation uses the same kernel but is not overhead.
		isReformat: type !== null && reformatTypes.has(type) && fields["Origin"] !== "QDQ",
	};
}

function toIo(value: unknown): EngineIo {
	// Up to TensorRT 10 the list has only names.
	if (typeof value === "string") return { name: value, mode: null, dtype: null };
	const fields = asFields(value);
	const mode = asText(fields["IOMode"]).toLowerCase();
	return {
		name: asText(fields["Name"]),
		mode: mode.includes("input") ? "input" : mode.includes("output") ? "output" : null,
		dtype: parseLayerDtype(asText(fields["DataType"])),
	};
}

/** Names can contain raw control characters, which JSON forbids. */
function escapeControls(text: string): string {
	return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @throws ToolError tool-output if the text is not layer info. */
export function parseLayerInfo(text: string): EngineLayers {
	let value: unknown;
	try {
		value = JSON.parse(escapeControls(text));
	} catch (cause) {
		throw new ToolError({
			code: "tool-output",
			message: "The layer info that trtexec wrote is not JSON.",
			cause,
			details: { expected: "an object with Layers", fix: "Check that the run finished and that the disk has space." },
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

const number = "(-?(?:\\d[\\d.]*(?:e[-+]?\\d+)?|nan|inf))";
const nameStart = '"name" : "';
const nameEnd = '", "timeMs" : ';
const figures = new RegExp(`^${nameEnd}${number}, "averageMs" : ${number}(?:, "medianMs" : ${number})?, "percentage" : ${number}`);

/** trtexec does not escape quotes and control characters in names: the name extends to the last `timeMs`. */
function toTime(line: string): LayerTime | null {
	const from = line.indexOf(nameStart) + nameStart.length;
	const to = line.lastIndexOf(nameEnd);
	if (from < nameStart.length || to < from) return null;
	const [whole, sum, average, median] = figures.exec(line.slice(to)) ?? [];
	if (whole === undefined) return null;
	const name = line.slice(from, to);
	const averageMs = Number(average);
	return { name, sumMs: Number(sum), averageMs, medianMs: median === undefined ? averageMs : Number(median), share: 0 };
}

/**
 * Shares are computed here, because trtexec rounds them and prints `nan` if the sum is 0.
 * @throws ToolError tool-output if the text is not a profile or a time is not a number.
 */
export function parseProfile(text: string): LayerProfile {
	const iterations = /"count" : (\d+)/.exec(text)?.[1];
	const layers = text.split(/\n(?=[,[\]]? *[{\]])/).flatMap((line) => toTime(line) ?? []);
	const isComplete = text.trimEnd().endsWith("]");
	const areNumbers = layers.every(({ sumMs, averageMs, medianMs }) => Number.isFinite(sumMs + averageMs + medianMs));
	if (iterations === undefined || !isComplete || !areNumbers) {
		throw new ToolError({
			code: "tool-output",
			message: "The layer profile that trtexec wrote cannot be read.",
			details: {
				expected: "a count and one entry for each layer, closed by ]",
				got: !isComplete ? "truncated text" : iterations === undefined ? "no count" : "a time that is not a number",
				fix: "Check that the run finished and that the disk has space.",
			},
		});
	}
	const totalMs = layers.reduce((sum, layer) => sum + layer.sumMs, 0);
	return {
		iterations: Number(iterations),
		layers: layers.map((layer) => ({ ...layer, share: totalMs > 0 ? layer.sumMs / totalMs : 0 })),
	};
}

/**
 * Times are useful even without layer details.
 * @throws ToolError tool-output if the times cannot be read.
 */
export function parseTimedLayers(times: string, info: string): ArmLayers {
	return joinLayers(parseProfile(times), detailsOf(info));
}

function detailsOf(info: string): EngineLayers | null {
	try {
		return parseLayerInfo(info);
	} catch (error) {
		if (error instanceof ToolError) return null;
		throw error;
	}
}
