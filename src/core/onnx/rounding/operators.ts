// How operators meet rounding: which keep it, which inputs are settings, which operands TensorRT takes as TF32.
import type { OnnxNode } from "../model.ts";
import { textAttribute } from "../static-shapes/operator.ts";

/** Their outputs are among their inputs, or are as short: rounded inputs stay rounded. */
const keeping = new Set(
	(
		"Identity Reshape Transpose Squeeze Unsqueeze Flatten Concat Slice Split Gather GatherElements GatherND Expand Tile Pad MaxPool " +
		"GlobalMaxPool Relu Max Min Clip Neg Abs Sign Floor Ceil Round DepthToSpace SpaceToDepth ReduceMax ReduceMin Dropout TopK Where " +
		"ScatterElements Scatter ScatterND ReverseSequence Trilu Compress Unique OneHot If Loop Scan"
	).split(" "),
);

/** An output of this node is rounded already, or stands for integers. */
export function keepsRounding(node: OnnxNode): boolean {
	if (/^(Resize|Upsample)$/.test(node.op)) return (textAttribute(node, "mode") ?? "nearest") === "nearest";
	return keeping.has(node.op) || quantises(node);
}

/** Inputs that are settings, scales of integers, or statistics that engines combine before they round. */
const settings: Readonly<Record<string, readonly number[]>> = {
	BatchNormalization: [1, 2, 3, 4],
	Resize: [1, 2, 3],
	Upsample: [1],
	NonMaxSuppression: [2, 3, 4],
	Range: [0, 1, 2],
	Dropout: [1, 2],
};

export function neverRounded(node: OnnxNode, slot: number): boolean {
	return settings[node.op]?.includes(slot) === true || quantises(node);
}

/** Codes of the integers and bool in `TensorProto.DataType`. */
const integers: readonly unknown[] = [2, 3, 4, 5, 6, 7, 9, 12, 13];

/** Takes or gives integers that stand for floats, or casts to integers. */
export function quantises(node: OnnxNode): boolean {
	if (node.op === "Cast") return node.attributes.some(({ name, value }) => name === "to" && integers.includes(value));
	return /^(Q(uantize)?Linear|DequantizeLinear|DynamicQuantize|MatMulInteger|ConvInteger|QAttention|QGemm|QEmbed|QMoE)/.test(node.op);
}

/** What tensor cores compute; TF32 rounds the operands and nothing else. */
export const products: ReadonlySet<string> = new Set(["Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN"]);
