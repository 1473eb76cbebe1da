// The nodes that round one tensor to a precision and give it back as float.
import type { NewNode } from "../graph-edit.ts";

export type RoundedPrecision = "fp16" | "bf16" | "tf32";

export interface Rounding {
	precision: RoundedPrecision;
	opset: number;
	freshName(base: string): string;
}

/** Codes of `TensorProto.DataType`. */
const codes = { fp16: 10, bf16: 16 } as const;
const floatCode = 1;
/** Cast knows bfloat16 since this operator set. */
const oldestBrainOpset = 13;
/** 2^s + 1, where s is how many of binary32's 24 bits go: Veltkamp's splitting, exact but for overflow and ties. */
const splitters = { bf16: 2 ** 16 + 1, tf32: 2 ** 13 + 1 } as const;

/** `unguarded` is the rounded tensor with infinities or NaN where the range ends. Guarded, what would become 0 stays too: logarithms are taken of it. */
export function roundingNodes(
	rounding: Rounding,
	{ from, to, guarded }: { from: string; to: string; guarded: boolean },
): { nodes: NewNode[]; unguarded: string } {
	const unguarded = guarded ? rounding.freshName("trtgate_unguarded") : to;
	const nodes = plainNodes(rounding, from, unguarded);
	if (!guarded) return { nodes, unguarded };
	const [one, beyond] = [rounding.freshName("trtgate_one"), rounding.freshName("trtgate_beyond")];
	return {
		nodes: [
			...nodes,
			// ∞ ÷ ∞, NaN ÷ NaN and 0 ÷ 0 are NaN, all else is 1.
			{ op: "Div", inputs: [unguarded, unguarded], outputs: [one] },
			{ op: "IsNaN", inputs: [one], outputs: [beyond] },
			{ op: "Where", inputs: [beyond, from, unguarded], outputs: [to] },
		],
		unguarded,
	};
}

function plainNodes({ precision, opset, freshName }: Rounding, from: string, to: string): NewNode[] {
	if (precision === "fp16" || (precision === "bf16" && opset >= oldestBrainOpset)) {
		const small = freshName("trtgate_small");
		return [
			{ op: "Cast", inputs: [from], outputs: [small], attributes: { to: codes[precision] } },
			{ op: "Cast", inputs: [small], outputs: [to], attributes: { to: floatCode } },
		];
	}
	const [splitter, large, rest] = [freshName("trtgate_splitter"), freshName("trtgate_large"), freshName("trtgate_rest")];
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
