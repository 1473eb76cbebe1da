// Multiply-adds of operators, and shapes of those that shape inference leaves out.
//
// A multiply-add is one product that is added to a sum. The formulas are the sums of products in the definitions of the operators
// (onnx.ai/onnx/operators; com.microsoft: ContribOperators.md of ONNX Runtime), with every element of a kernel counted at every
// element of the output: padding counts, biases do not. All other operators count as none.
import type { OnnxDim, OnnxDType, OnnxNode } from "../model.ts";
import { broadcastAll, concat } from "../static-shapes/layouts.ts";
import {
	conv,
	type Dims,
	elementsOf,
	forEach,
	gemm,
	globalPool,
	integerAttribute,
	integersAttribute,
	keepShape,
	matMul,
	type OperatorRule,
	pool,
	slid,
	textAttribute,
	withSecond,
} from "../static-shapes/operator.ts";

function labelsOf(term: string, rank: number) {
	const covered = rank - term.replace("...", "").length;
	const hidden = Array.from({ length: Math.max(0, covered) }, (_, at) => `.${covered - at}`);
	const [before = "", after] = term.split("...");
	return after === undefined ? [...before] : [...before, ...hidden, ...after];
}

function equationOf(node: OnnxNode, shapes: readonly (Dims | null)[]) {
	const [left = "", right] = (textAttribute(node, "equation") ?? "").replaceAll(/\s/g, "").split("->");
	const terms = left.split(",");
	const known = shapes.filter((shape) => shape !== null);
	if (left === "" || terms.length !== shapes.length || known.length !== shapes.length) return null;
	const operands = terms.map((term, at) => labelsOf(term, known[at]?.length ?? 0));
	if (operands.some((labels, at) => labels.length !== known[at]?.length)) return null;
	const sizes = new Map<string, OnnxDim>();
	for (const [at, labels] of operands.entries()) {
		for (const [axis, label] of labels.entries()) {
			const size = known[at]?.[axis] ?? null;
			if (!sizes.has(label) || sizes.get(label) === 1) sizes.set(label, size);
		}
	}
	const dotted = [...sizes.keys()]
		.filter((label) => label.startsWith("."))
		.sort((one, other) => Number(other.slice(1)) - Number(one.slice(1)));
	const output =
		right === undefined
			? [...dotted, ...single(operands)]
			: labelsOf(right, right.replace("...", "").length + dotted.length);
	return { operands, output: output.filter((label) => sizes.has(label)), sizes };
}

function single(operands: readonly (readonly string[])[]) {
	const all = operands.flat().filter((label) => !label.startsWith("."));
	return all.filter((label) => all.indexOf(label) === all.lastIndexOf(label)).sort();
}

const einsum = {
	shape: (({ node, shapes }) => {
		const equation = equationOf(node, shapes);
		if (equation === null) return null;
		return equation.output.map((label) => equation.sizes.get(label) ?? null);
	}) satisfies OperatorRule,
	multiplyAdds,
};

/** A contraction costs the product of all sizes of its operands; one without a sum is elementwise. */
function multiplyAdds(node: OnnxNode, inputs: readonly (Dims | null)[]) {
	const equation = equationOf(node, inputs);
	if (equation === null) return NaN;
	const { operands, output, sizes } = equation;
	let total = 0;
	let joined = new Set(operands[0]);
	for (const [at, operand] of operands.entries()) {
		if (at === 0) continue;
		const both = [...new Set([...joined, ...operand])];
		const needed = new Set([...output, ...operands.slice(at + 1).flat()]);
		const counts = both.map((label) => sizes.get(label) ?? null);
		if (!counts.every((size) => typeof size === "number")) return NaN;
		joined = new Set(both.filter((label) => needed.has(label)));
		if (joined.size < both.length) total += counts.reduce((product, size) => product * size, 1);
	}
	return total;
}

interface Operator {
	multiplyAdds(node: OnnxNode, inputs: readonly (Dims | null)[], output: Dims | null): number;
	shape?: OperatorRule;
}

function elements(dims: Dims | null | undefined) {
	return (dims && elementsOf(dims)) ?? NaN;
}

function sizeAt(dims: Dims | null | undefined, axis: number) {
	const size = dims?.at(axis);
	return typeof size === "number" ? size : NaN;
}

/** An attribute that must be there and not 0; else NaN. */
function positive(node: OnnxNode, name: string) {
	return integerAttribute(node, name, 0) || NaN;
}

function sizeOrNull(size: number) {
	return Number.isFinite(size) ? size : null;
}

/** The kernels are input number `place`, [M, C / group, …]. */
function convolution(place: number): Operator {
	return {
		multiplyAdds: (_, inputs, output) => elements(output) * elements(inputs[place]?.slice(1)),
	};
}

const transposed: Operator = {
	multiplyAdds: (_, [input, kernel]) => elements(input) * elements(kernel?.slice(1)),
};

/** Each element of the output sums over the left side's last axis, or last but one if transposed. */
const product: Operator = {
	multiplyAdds: (node, [left], output) => {
		const isTurned = integerAttribute(node, "transA", 0) !== 0 && left?.length !== 1;
		return elements(output) * sizeAt(left, isTurned ? -2 : -1);
	},
};

/** The weights [directions, gates × hidden, size] of input and state, once for each step of each row. */
const recurrence: Operator = {
	multiplyAdds: (_, [input, weights, state]) =>
		elements(input?.slice(0, 2)) * (elements(weights) + elements(state)),
};

/** Query: [batch, heads, queries, size], or heads and size in one axis. */
const attention: Operator = {
	multiplyAdds: (node, [query, key, value, , past]) => {
		const isFlat = query?.length === 3;
		const heads = isFlat ? positive(node, "q_num_heads") : sizeAt(query, 1);
		const keyHeads = isFlat ? positive(node, "kv_num_heads") : 1;
		const keys = sizeAt(key, -2) + (past ? sizeAt(past, -2) : 0);
		const keySize = sizeAt(query, -1) / (isFlat ? heads : 1);
		const valueSize = sizeAt(value, -1) / keyHeads;
		return sizeAt(query, 0) * heads * sizeAt(query, -2) * keys * (keySize + valueSize);
	},
	shape: ({ node, shapes: [query, , value] }) => {
		if (!query || !value || query.length !== value.length) return null;
		if (query.length === 4) return query.with(3, value[3] ?? null);
		const ratio = integerAttribute(node, "q_num_heads", 0) / integerAttribute(node, "kv_num_heads", 0);
		return query.with(2, sizeOrNull(sizeAt(value, 2) * ratio));
	},
};

/** Attention of com.microsoft: one product makes queries, keys and values; the past is [2, batch, heads, length, size]. */
function packedAttention(pastPlace: number): Operator {
	const sizeOf = (node: OnnxNode, weights: Dims | null | undefined, at: number) =>
		integersAttribute(node, "qkv_hidden_sizes")?.[at] ?? sizeAt(weights, 1) / 3;
	return {
		multiplyAdds: (node, inputs) => {
			const [input, weights] = inputs;
			const past = inputs[pastPlace];
			const length = sizeAt(input, 1);
			const pairs = sizeAt(input, 0) * length * (length + (past ? sizeAt(past, 3) : 0));
			const sizes = sizeOf(node, weights, 1) + sizeOf(node, weights, 2);
			return elements(input) * sizeAt(weights, 1) + pairs * sizes;
		},
		shape: ({ node, shapes: [input, weights] }) =>
			input?.length === 3 ? input.with(2, sizeOrNull(sizeOf(node, weights, 2))) : null,
	};
}

const multiHeadAttention: Operator = {
	multiplyAdds: (_, [query, key, value, , , , past]) => {
		if (query?.length !== 3 || key?.length !== 3 || value?.length !== 3) return NaN;
		const keys = sizeAt(key, 1) + (past ? sizeAt(past, 2) : 0);
		return sizeAt(query, 0) * sizeAt(query, 1) * keys * (sizeAt(query, 2) + sizeAt(value, 2));
	},
	shape: ({ shapes: [query, , value] }) =>
		query?.length === 3 && value?.length === 3 ? query.with(2, value[2] ?? null) : null,
};

const packedProduct: Operator = {
	multiplyAdds: (node, [left]) => elements(left) * integerAttribute(node, "N", 0),
	shape: ({ node, shapes: [left] }) => (left ? left.with(-1, integerAttribute(node, "N", 0)) : null),
};

const packedLstm: OperatorRule = ({ node, shapes: [input, weights] }) => {
	const [steps = null, rows = null] = input ?? [];
	const last = [weights?.[0] ?? null, rows, integerAttribute(node, "hidden_size", 0) || null];
	return { dims: [steps, ...last], more: [last, last] };
};

const turnedProduct: OperatorRule = (view) => {
	const isSet = (name: string) => integerAttribute(view.node, name, 0) !== 0;
	if (isSet("transBatchA") || isSet("transBatchB")) return null;
	const turned = view.shapes.map((dims, at) =>
		dims && dims.length > 1 && isSet(at === 0 ? "transA" : "transB")
			? [...dims.slice(0, -2), ...dims.slice(-2).toReversed()]
			: dims,
	);
	return matMul({ ...view, shapes: turned });
};

const deformed: OperatorRule = ({ node, shapes: [input, kernel] }) =>
	input && kernel
		? [input[0] ?? null, kernel[0] ?? null, ...slid(node, input.slice(2), kernel.slice(2))]
		: null;

/** Scale and zero point of the output, then each part with its own. */
const quantisedConcat: OperatorRule = (view) => {
	const shapes = view.shapes.filter((_, at) => at > 1 && at % 3 === 2);
	return concat({ ...view, shapes, values: shapes.map(() => null) });
};

function channelsFirst(rule: OperatorRule): OperatorRule {
	return (view) => (integerAttribute(view.node, "channels_last", 0) === 0 ? rule(view) : null);
}

const none: Operator = { multiplyAdds: () => 0 };
const unknown: Operator = { multiplyAdds: () => NaN };
const elementwise: Operator = { ...none, shape: keepShape };

const standard = new Map(
	Object.entries<Operator>({
		Attention: attention,
		...forEach("Conv ConvInteger", convolution(1)),
		ConvTranspose: transposed,
		DeformConv: { ...convolution(1), shape: deformed },
		Einsum: einsum,
		...forEach("GRU LSTM RNN", recurrence),
		...forEach("Gemm MatMul MatMulInteger QLinearMatMul", product),
		QLinearConv: convolution(3),
		...forEach("DFT Det STFT", unknown),
	}),
);

const microsoft = new Map(
	Object.entries<Operator>({
		Attention: packedAttention(4),
		DynamicQuantizeLSTM: { ...recurrence, shape: packedLstm },
		...forEach("DynamicQuantizeMatMul MatMulIntegerToFloat", { ...product, shape: matMul }),
		FusedConv: { ...convolution(1), shape: conv },
		FusedGemm: { ...product, shape: gemm },
		FusedMatMul: { ...product, shape: turnedProduct },
		MatMulNBits: packedProduct,
		MultiHeadAttention: multiHeadAttention,
		QAttention: packedAttention(8),
		QLinearAveragePool: { ...none, shape: channelsFirst(pool) },
		QLinearConcat: { ...none, shape: quantisedConcat },
		QLinearGlobalAveragePool: { ...none, shape: channelsFirst(globalPool) },
		...forEach("QLinearAdd QLinearMul", { ...none, shape: withSecond(broadcastAll, 3) }),
		QGemm: { ...product, shape: withSecond(gemm, 3) },
		...forEach(
			"BiasAdd BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QuantizeLinear QuickGelu " +
				"RotaryEmbedding SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization",
			elementwise,
		),
	}),
);

const dequantising = new Set(["DequantizeLinear", "MatMulIntegerToFloat", "QAttention"]);

export function typeOfOther(
	{ domain, op }: OnnxNode,
	[first = null, second = null]: readonly (OnnxDType | null)[],
): OnnxDType | null {
	if (domain !== "com.microsoft" || op === "QuantizeLinear" || op === "QGemm" || !microsoft.has(op))
		return null;
	if (op === "QLinearConcat") return second;
	return dequantising.has(op) ? "float" : first;
}

export function operatorOf({ domain, op }: OnnxNode): Operator {
	if (domain === "") return standard.get(op) ?? none;
	return (domain === "com.microsoft" ? microsoft.get(op) : undefined) ?? unknown;
}
