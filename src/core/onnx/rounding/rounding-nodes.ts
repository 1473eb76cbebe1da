// The nodes that round one tensor to a precision and give it back as float.
import type { NewNode } from "../graph-edit.ts";
import type { OnnxNode } from "../model.ts";
import { textAttribute } from "../static-shapes/operator.ts";

export type RoundedPrecision = "fp16" | "bf16" | "tf32";

export interface Rounding {
	precision: RoundedPrecision;
	opset: number;
	freshName(base: string): string;
}

const codes = { fp16: 10, bf16: 16 } as const;
const floatCode = 1;
const oldestBrainOpset = 13;
/** 2^s + 1, where s of binary32's 24 bits are dropped: Veltkamp's splitting, exact but for overflow and ties. */
const splitters = { bf16: 2 ** 16 + 1, tf32: 2 ** 13 + 1 } as const;

/** Values beyond the precision's range, or that would become 0, stay as they are; `unguarded` has infinities, NaN and 0 there. */
export function roundingNodes(
	rounding: Rounding,
	from: string,
	to: string,
): { nodes: NewNode[]; unguarded: string } {
	const [unguarded, one, beyond] = ["unguarded", "one", "beyond"].map((name) =>
		rounding.freshName(`trtgate_${name}`),
	) as [string, string, string];
	const nodes: NewNode[] = [
		...plainNodes(rounding, from, unguarded),
		// ∞ ÷ ∞, NaN ÷ NaN and 0 ÷ 0 are NaN, all else is 1.
		{ op: "Div", inputs: [unguarded, unguarded], outputs: [one] },
		{ op: "IsNaN", inputs: [one], outputs: [beyond] },
		{ op: "Where", inputs: [beyond, from, unguarded], outputs: [to] },
	];
	return { nodes, unguarded };
}

function plainNodes({ precision, opset, freshName }: Rounding, from: string, to: string): NewNode[] {
	if (precision === "fp16" || (precision === "bf16" && opset >= oldestBrainOpset)) {
		const small = freshName("trtgate_small");
		return [
			{ op: "Cast", inputs: [from], outputs: [small], attributes: { to: codes[precision] } },
			{ op: "Cast", inputs: [small], outputs: [to], attributes: { to: floatCode } },
		];
	}
	const [splitter, large, rest] = [
		freshName("trtgate_splitter"),
		freshName("trtgate_large"),
		freshName("trtgate_rest"),
	];
	return [
		{
			op: "Constant",
			inputs: [],
			outputs: [splitter],
			attributes: { value: { dtype: "float", dims: [], values: [splitters[precision]] } },
		},
		{ op: "Mul", inputs: [from, splitter], outputs: [large] },
		{ op: "Sub", inputs: [large, from], outputs: [rest] },
		{ op: "Sub", inputs: [large, rest], outputs: [to] },
	];
}

/** Operators that keep rounded inputs rounded. */
const keeping = new Set(
	(
		"Identity Reshape Transpose Squeeze Unsqueeze Flatten Concat Slice Split Gather GatherElements GatherND Expand Tile Pad MaxPool " +
		"GlobalMaxPool Relu Max Min Clip Neg Abs Sign Floor Ceil Round DepthToSpace SpaceToDepth ReduceMax ReduceMin Dropout TopK Where " +
		"ScatterElements Scatter ScatterND ReverseSequence Trilu Compress Unique OneHot If Loop Scan"
	).split(" "),
);

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

const integers: readonly unknown[] = [2, 3, 4, 5, 6, 7, 9, 12, 13];

export function quantises(node: OnnxNode): boolean {
	if (node.op === "Cast")
		return node.attributes.some(({ name, value }) => name === "to" && integers.includes(value));
	return /^(Q(uantize)?Linear|DequantizeLinear|DynamicQuantize|MatMulInteger|ConvInteger|QAttention|QGemm|QEmbed|QMoE)/.test(
		node.op,
	);
}

export const products: ReadonlySet<string> = new Set([
	"Conv",
	"ConvTranspose",
	"MatMul",
	"Gemm",
	"Einsum",
	"LSTM",
	"GRU",
	"RNN",
]);
