// The conditions under which TensorRT imports an operator, as far as the file shows whether they hold.
// Source: the restrictions in onnx/onnx-tensorrt docs/operators.md (10.1 to 11.1), and the checks in its onnxOpCheckers.cpp.
import type { OnnxDim, OnnxInitializer, OnnxNode } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { attributeOf, integerAttribute, integersAttribute } from "../static-shapes/operator.ts";

export interface NodeView {
	node: OnnxNode;
	constant(input: number): OnnxInitializer | null;
	isComputed(input: number): boolean;
	dims(input: number): readonly OnnxDim[] | null;
	/** Whether the graph's caller feeds the input, so that it is known only at run time. */
	isFed(input: number): boolean;
	hasDynamicInputs: boolean;
}

/** Says what TensorRT does not support of this node, as the end of a sentence, alone or with a fix; null if nothing. */
export type Restriction = (view: NodeView) => string | { fault: string; fix: string } | null;

function has(view: NodeView, input: number): boolean {
	return (view.node.inputs[input] ?? "") !== "";
}

function among(name: string, values: readonly string[]): Restriction {
	return (view) => {
		const value = attributeOf(view.node, name);
		if (typeof value !== "string" || values.includes(value)) return null;
		return `has ${name} ${quoteName(value)}; TensorRT supports ${values.join(", ")}`;
	};
}

function integerIs(name: string, expected: number): Restriction {
	return (view) => {
		const value = integerAttribute(view.node, name, expected);
		return value === expected ? null : `has ${name} ${value}; TensorRT supports ${expected}`;
	};
}

function constantInput(input: number, name: string): Restriction {
	return (view) => (view.isComputed(input) ? `computes its ${name}; TensorRT requires a constant` : null);
}

function notFed(input: number, name: string): Restriction {
	return (view) =>
		view.isFed(input)
			? `takes its ${name} from an input of the graph; TensorRT must know it when it builds`
			: null;
}

function rankIs(input: number, expected: number): Restriction {
	return (view) => {
		const rank = view.dims(input)?.length ?? expected;
		return rank === expected ? null : `has an input of ${rank} dimensions; TensorRT supports ${expected}`;
	};
}

function onlyFirstOutput(view: NodeView): string | null {
	const more = view.node.outputs.slice(1).some((name) => name !== "");
	return more ? `has ${view.node.outputs.length} outputs; TensorRT computes only the first` : null;
}

function undilated(view: NodeView): string | null {
	const dilations = integersAttribute(view.node, "dilations") ?? [];
	return dilations.some((each) => each !== 1)
		? `has dilations ${formatDims(dilations.slice(0, 8))}; TensorRT does not support dilated pooling`
		: null;
}

function sameActivations(view: NodeView): string | null {
	const activations = attributeOf(view.node, "activations");
	if (attributeOf(view.node, "direction") !== "bidirectional" || !Array.isArray(activations)) return null;
	const half = activations.length / 2;
	const isSame = activations.slice(0, half).every((name, index) => name === activations[half + index]);
	return isSame ? null : "has other activations backward than forward; TensorRT requires the same";
}

function normOneOrTwo(view: NodeView): string | null {
	const norm = integerAttribute(view.node, "p", 2);
	return norm === 1 || norm === 2 ? null : `has p ${norm}; TensorRT supports 1 and 2`;
}

/** "Cannot infer squeeze dimensions from a dynamic shape": the importer has to know which axes have size 1. */
function statesAxes(view: NodeView): ReturnType<Restriction> {
	if (has(view, 1) || attributeOf(view.node, "axes") !== undefined) return null;
	// If all inputs are static, an unknown size is not a dynamic one.
	const isDynamic =
		view.dims(0)?.some((dim) => typeof dim === "string" || (dim === null && view.hasDynamicInputs)) === true;
	const fault = "has no axes and an input with dynamic dimensions; TensorRT requires the axes";
	return isDynamic ? { fault, fix: "Export again with the axes stated." } : null;
}

/** "A DequantizeLayer can only run in DataType::kINT8, DataType::kFP8 or DataType::kINT4 precision". */
function dequantisesSmall(view: NodeView): ReturnType<Restriction> {
	const dtype = view.constant(0)?.dtype;
	if (dtype !== "int32" && dtype !== "int16" && dtype !== "uint16") return null;
	const floatBias =
		"Keep biases in float when you quantise (onnxruntime.quantization: extra_options={'QuantizeBias': False}).";
	return {
		fault: `dequantises ${dtype}; TensorRT supports int8, int4 and float8`,
		fix: dtype === "int32" ? floatBias : "Quantise to INT8.",
	};
}

function withoutAttributes(names: readonly string[]): Restriction {
	return ({ node }) => {
		const found = node.attributes.find((attribute) => names.includes(attribute.name));
		return found === undefined ? null : `has the attribute ${found.name}, which TensorRT does not support`;
	};
}

function withoutInputs(inputs: Readonly<Record<number, string>>): Restriction {
	return (view) => {
		const found = Object.entries(inputs).find(([input]) => has(view, Number(input)));
		return found === undefined ? null : `has the input ${found[1]}, which TensorRT does not support`;
	};
}

function forInference(view: NodeView): ReturnType<Restriction> {
	const training = view.constant(2)?.values?.[0];
	if (training !== undefined && training !== 0)
		return "is in training mode; TensorRT supports inference only";
	return notFed(2, "training_mode")(view);
}

/** Reads no other layout: the attribute is ignored, and the result would be silently wrong. */
const recurrent: readonly Restriction[] = [sameActivations, integerIs("layout", 0)];
const resizeModes = "half_pixel pytorch_half_pixel tf_half_pixel_for_nn asymmetric align_corners".split(" ");
const reductions = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
	.split(" ")
	.map((each): [string, Restriction[]] => [`Reduce${each}`, [constantInput(1, "axes")]]);

export const restrictions: ReadonlyMap<string, readonly Restriction[]> = new Map<
	string,
	readonly Restriction[]
>([
	["AveragePool", [undilated]],
	["LpPool", [undilated, normOneOrTwo]],
	["MaxPool", [undilated, onlyFirstOutput]],
	["LpNormalization", [normOneOrTwo]],
	["LayerNormalization", [onlyFirstOutput]],
	["BatchNormalization", [integerIs("training_mode", 0)]],
	["Dropout", [forInference]],
	["LSTM", [...recurrent, integerIs("input_forget", 0)]],
	["GRU", recurrent],
	["RNN", recurrent],
	[
		"Resize",
		[
			among("coordinate_transformation_mode", resizeModes),
			among("keep_aspect_ratio_policy", ["stretch"]),
			integerIs("antialias", 0),
		],
	],
	["GridSample", [rankIs(0, 4)]],
	["ScatterND", [among("reduction", ["none"])]],
	["TopK", [integerIs("sorted", 1)]],
	["CumSum", [notFed(1, "axis")]],
	["OneHot", [notFed(1, "depth")]],
	["DequantizeLinear", [dequantisesSmall]],
	["Squeeze", [notFed(1, "axes"), statesAxes]],
	["Unsqueeze", [notFed(1, "axes")]],
	["TensorScatter", [rankIs(0, 4), integerIs("axis", -2)]],
	["STFT", [constantInput(1, "frame_step"), constantInput(2, "window")]],
	["Constant", [withoutAttributes(["sparse_value", "value_string", "value_strings"])]],
	[
		"Attention",
		[
			rankIs(0, 4),
			onlyFirstOutput,
			withoutInputs({ 4: "past_key", 5: "past_value", 6: "nonpad_kv_seqlen" }),
			withoutAttributes(["qk_matmul_output_mode", "softcap"]),
		],
	],
	...reductions,
]);
