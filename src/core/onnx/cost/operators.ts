// Multiply-adds of each operator that multiplies matrices or slides kernels, and the shapes of those that shape inference leaves out.
//
// A multiply-add is one product that is added to a sum. The formulas are the sums of products in the definitions of the operators
// (onnx.ai/onnx/operators; com.microsoft: docs/ContribOperators.md of ONNX Runtime), with every element of a kernel counted at every
// element of the output: padding counts, biases do not. All other operators count as none.
import type { OnnxDType, OnnxNode } from "../model.ts";
import { slid } from "../static-shapes/layouts.ts";
import {
	type Dims,
	elementsOf,
	integerAttribute,
	integersAttribute,
	type OperatorRule,
	untold,
} from "../static-shapes/operator.ts";
import { conv, gemm, matMul, withSecond } from "../static-shapes/products.ts";
import { einsumMultiplyAdds, einsumShape } from "./einsum.ts";

export type MultiplyAdds = (
	node: OnnxNode,
	inputs: readonly (Dims | null)[],
	output: Dims | null,
) => number | null;

interface Operator {
	multiplyAdds: MultiplyAdds;
	shape?: OperatorRule;
}

export function times(...factors: readonly (number | null | undefined)[]): number | null {
	return factors.reduce<number | null>(
		(product, factor) => (product === null || typeof factor !== "number" ? null : product * factor),
		1,
	);
}

function plus(left: number | null, right: number | null): number | null {
	return left === null || right === null ? null : left + right;
}

function elements(dims: Dims | null | undefined): number | null {
	return dims ? elementsOf(dims) : null;
}

function sizeAt(dims: Dims | null | undefined, axis: number): number | null {
	const size = dims?.at(axis);
	return typeof size === "number" ? size : null;
}

/** Each element of the output sums over a kernel; the kernels are input number `place`, [M, C / group, …]. */
function convolution(place: number): MultiplyAdds {
	return (_, inputs, output) => times(elements(output), elements(inputs[place]?.slice(1)));
}

/** Each element of the input is spread over a kernel [C, M / group, …]. */
const transposed: MultiplyAdds = (_, [input, kernel]) => times(elements(input), elements(kernel?.slice(1)));

/** Each element of the output sums over the last axis of the left side, or over its last but one where that is transposed. */
const product: MultiplyAdds = (node, [left], output) =>
	times(
		elements(output),
		sizeAt(left, integerAttribute(node, "transA", 0) === 0 || left?.length === 1 ? -1 : -2),
	);

/** The weights [directions, gates × hidden, size] of input and state, once for each step of each row. */
const recurrence: MultiplyAdds = (_, [input, weights, state]) =>
	times(elements(input?.slice(0, 2)), plus(elements(weights), elements(state)));

function attention(pairs: number | null, keySize: number | null, valueSize: number | null): number | null {
	return times(pairs, plus(keySize, valueSize));
}

/** Attention of the standard: query [batch, heads, queries, size], or heads and size in one axis; the past is a tensor of heads. */
const standardAttention: MultiplyAdds = (node, [query, key, value, , past]) => {
	const isFlat = query?.length === 3;
	const heads = isFlat ? integerAttribute(node, "q_num_heads", 0) || null : sizeAt(query, 1);
	const keyHeads = isFlat ? integerAttribute(node, "kv_num_heads", 0) || null : sizeAt(key, 1);
	const keys = plus(sizeAt(key, -2), past ? sizeAt(past, -2) : 0);
	const valueSize = isFlat ? divided(sizeAt(value, -1), keyHeads) : sizeAt(value, -1);
	const keySize = isFlat ? divided(sizeAt(query, -1), heads) : sizeAt(query, -1);
	return attention(times(sizeAt(query, 0), heads, sizeAt(query, -2), keys), keySize, valueSize);
};

function divided(size: number | null, by: number | null): number | null {
	return size === null || by === null || by === 0 ? null : size / by;
}

const standardAttentionShape: OperatorRule = ({ node, shapes }) => {
	const [query, , value] = shapes;
	if (!query || !value || query.length !== value.length) return untold;
	if (query.length === 4) return { dims: query.with(3, value[3] ?? null) };
	const ratio = divided(integerAttribute(node, "q_num_heads", 0), integerAttribute(node, "kv_num_heads", 0));
	return { dims: query.with(2, times(sizeAt(value, 2), ratio)) };
};

/** Attention and QAttention of com.microsoft: one product makes queries, keys and values; the past is [2, batch, heads, length, size]. */
function packedAttention(pastPlace: number): Operator {
	const sizesOf = (node: OnnxNode, weights: Dims | null | undefined): (number | null)[] => {
		const third = divided(sizeAt(weights, 1), 3);
		const stated = integersAttribute(node, "qkv_hidden_sizes");
		return [0, 1, 2].map((at) => stated?.[at] ?? third);
	};
	return {
		multiplyAdds: (node, inputs) => {
			const [input, weights] = inputs;
			const [, key = null, value = null] = sizesOf(node, weights);
			const past = inputs[pastPlace];
			const [batch, length] = [sizeAt(input, 0), sizeAt(input, 1)];
			const keys = plus(length, past ? sizeAt(past, 3) : 0);
			return plus(
				times(elements(input), sizeAt(weights, 1)),
				attention(times(batch, length, keys), key, value),
			);
		},
		shape: ({ node, shapes: [input, weights] }) =>
			input?.length === 3 ? { dims: input.with(2, sizesOf(node, weights)[2] ?? null) } : untold,
	};
}

/** MultiHeadAttention of com.microsoft with three inputs of [batch, length, heads × size]. */
const multiHeadAttention: Operator = {
	multiplyAdds: (_, inputs) => {
		const [query, key, value] = inputs;
		if (query?.length !== 3 || key?.length !== 3 || value?.length !== 3) return null;
		const past = inputs[6];
		const keys = plus(sizeAt(key, 1), past ? sizeAt(past, 2) : 0);
		return attention(times(sizeAt(query, 0), sizeAt(query, 1), keys), sizeAt(query, 2), sizeAt(value, 2));
	},
	shape: ({ shapes: [query, , value] }) =>
		query?.length === 3 && value?.length === 3 ? { dims: query.with(2, value[2] ?? null) } : untold,
};

/** Weights packed in blocks of few bits, [N, …]. */
const packedProduct: Operator = {
	multiplyAdds: (node, [left]) => times(elements(left), integerAttribute(node, "N", 0)),
	shape: ({ node, shapes: [left] }) =>
		left ? { dims: left.with(-1, integerAttribute(node, "N", 0)) } : untold,
};

/** Weights [directions, size, gates × hidden]. */
const packedLstm: OperatorRule = ({ node, shapes: [input, weights] }) => {
	const [directions, hidden] = [weights?.[0] ?? null, integerAttribute(node, "hidden_size", 0) || null];
	const [steps = null, rows = null] = input ?? [];
	const last = [directions, rows, hidden];
	return { dims: [steps, directions, rows, hidden], more: [last, last] };
};

const turnedProduct: OperatorRule = (view) => {
	const { node, shapes } = view;
	if (["transBatchA", "transBatchB"].some((name) => integerAttribute(node, name, 0) !== 0)) return untold;
	const turned = ["transA", "transB"].map((name, at) => {
		const dims = shapes[at] ?? null;
		if (dims === null || dims.length < 2 || integerAttribute(node, name, 0) === 0) return dims;
		return [...dims.slice(0, -2), dims.at(-1) ?? null, dims.at(-2) ?? null];
	});
	return matMul({ ...view, shapes: turned });
};

/** Kernels [M, C / group, …]; the output's size is that of a plain convolution with the same attributes. */
const deformed: OperatorRule = ({ node, shapes: [input, kernel] }) =>
	input && kernel
		? { dims: [input[0] ?? null, kernel[0] ?? null, ...slid(node, input.slice(2), kernel.slice(2))] }
		: untold;

const standard: Readonly<Record<string, Operator>> = {
	Attention: { multiplyAdds: standardAttention, shape: standardAttentionShape },
	Conv: { multiplyAdds: convolution(1) },
	ConvInteger: { multiplyAdds: convolution(1) },
	ConvTranspose: { multiplyAdds: transposed },
	DeformConv: { multiplyAdds: convolution(1), shape: deformed },
	Einsum: { multiplyAdds: einsumMultiplyAdds, shape: einsumShape },
	GRU: { multiplyAdds: recurrence },
	Gemm: { multiplyAdds: product },
	LSTM: { multiplyAdds: recurrence },
	MatMul: { multiplyAdds: product },
	MatMulInteger: { multiplyAdds: product },
	QLinearConv: { multiplyAdds: convolution(3) },
	QLinearMatMul: { multiplyAdds: product },
	RNN: { multiplyAdds: recurrence },
};

const microsoft: Readonly<Record<string, Operator>> = {
	Attention: packedAttention(4),
	DynamicQuantizeLSTM: { multiplyAdds: recurrence, shape: packedLstm },
	DynamicQuantizeMatMul: { multiplyAdds: product, shape: matMul },
	FusedConv: { multiplyAdds: convolution(1), shape: conv },
	FusedGemm: { multiplyAdds: product, shape: gemm },
	FusedMatMul: { multiplyAdds: product, shape: turnedProduct },
	MatMulIntegerToFloat: { multiplyAdds: product, shape: matMul },
	MatMulNBits: packedProduct,
	MultiHeadAttention: multiHeadAttention,
	QAttention: packedAttention(8),
	QGemm: { multiplyAdds: product, shape: withSecond(gemm, 3) },
};

const elementwise = new Set(
	(
		"BiasAdd BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QuantizeLinear QuickGelu " +
		"RotaryEmbedding SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization"
	).split(" "),
);

const uncounted = new Set(["DFT", "Det", "STFT"]);

const none: Operator = { multiplyAdds: () => 0 };
const unknown: Operator = { multiplyAdds: () => null };

const dequantising = new Set(["DequantizeLinear", "MatMulIntegerToFloat", "QAttention"]);

export function typeOfOther({ domain, op }: OnnxNode, first: OnnxDType | null): OnnxDType | null {
	// These two say it by their other inputs.
	if (domain !== "com.microsoft" || op === "QuantizeLinear" || op === "QGemm") return null;
	if (!(elementwise.has(op) || Object.hasOwn(microsoft, op))) return null;
	return dequantising.has(op) ? "float" : first;
}

/** Names come from a file. */
function ownOf(table: Readonly<Record<string, Operator>>, op: string): Operator | undefined {
	return Object.hasOwn(table, op) ? table[op] : undefined;
}

export function operatorOf({ domain, op }: OnnxNode): Operator {
	if (domain === "") return uncounted.has(op) ? unknown : (ownOf(standard, op) ?? none);
	if (domain !== "com.microsoft") return unknown;
	if (elementwise.has(op)) return { ...none, shape: ({ shapes }) => ({ dims: shapes[0] ?? null }) };
	return ownOf(microsoft, op) ?? unknown;
}
