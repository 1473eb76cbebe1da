// Shapes of matrix products, convolutions and recurrent layers, where wrong weights show.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import { slid, spread } from "./layouts.ts";
import {
	broadcast,
	type Dims,
	differ,
	forEach,
	integerAttribute,
	type OperatorResult,
	type OperatorRule,
	type OperatorRules,
	onTwo,
	untold,
} from "./operator.ts";

export const matMul = onTwo((left, right) => {
	if (left.length === 0 || right.length === 0) return { fault: "multiplies a scalar, which is not a matrix" };
	const inner = right.length === 1 ? right[0] : right.at(-2);
	const what = `multiplies ${formatDims(left)} by ${formatDims(right)}`;
	if (differ(left.at(-1), inner)) return { fault: `${what}: ${left.at(-1)} and ${inner} must be the same` };
	const batch = broadcast(left.slice(0, -2), right.slice(0, -2));
	if (batch === null) return { fault: `${what}: their batch dimensions are incompatible` };
	const rows = left.length === 1 ? [] : [left.at(-2) ?? null];
	const columns = right.length === 1 ? [] : [right.at(-1) ?? null];
	return { dims: [...batch, ...rows, ...columns] };
});

export const gemm = onTwo((left, right, { node }) => {
	if (left.length !== 2 || right.length !== 2)
		return { fault: `multiplies ${formatDims(left)} by ${formatDims(right)}; Gemm takes matrices` };
	const oriented = ([first = null, second = null]: Dims, attribute: string): [OnnxDim, OnnxDim] =>
		integerAttribute(node, attribute, 0) === 0 ? [first, second] : [second, first];
	const [rows, inner] = oriented(left, "transA");
	const [innerToo, columns] = oriented(right, "transB");
	if (!differ(inner, innerToo)) return { dims: [rows, columns] };
	return {
		fault: `multiplies ${formatDims([rows, inner])} by ${formatDims([innerToo, columns])}: ${inner} and ${innerToo} must be the same`,
	};
});

/** Input [N, C, …], weights [M, C / group, …]. */
export const conv = onTwo((input, kernel, { node }) => {
	if (input.length !== kernel.length) return rankFault(input, kernel);
	const perGroup = kernel[1];
	const channels = typeof perGroup === "number" ? perGroup * integerAttribute(node, "group", 1) : null;
	if (differ(input[1], channels)) return channelFault(input, kernel, channels);
	return { dims: [input[0] ?? null, kernel[0] ?? null, ...slid(node, input.slice(2), kernel.slice(2))] };
});

/** Input [N, C, …], weights [C, M / group, …]. */
const convTranspose = onTwo((input, kernel, { node }) => {
	if (input.length !== kernel.length) return rankFault(input, kernel);
	if (differ(input[1], kernel[0])) return channelFault(input, kernel, kernel[0] ?? null);
	const perGroup = kernel[1];
	const channels = typeof perGroup === "number" ? perGroup * integerAttribute(node, "group", 1) : null;
	return { dims: [input[0] ?? null, channels, ...spread(node, input.slice(2), kernel.slice(2))] };
});

function channelFault(input: Dims, kernel: Dims, channels: OnnxDim): OperatorResult {
	return {
		fault: `has weights ${formatDims(kernel)} for ${channels} channels, its input ${formatDims(input)} has ${input[1]}`,
	};
}

function rankFault(input: Dims, kernel: Dims): OperatorResult {
	return {
		fault: `has weights of ${kernel.length} dimensions ${formatDims(kernel)}, its input has ${input.length}: ${formatDims(input)}`,
	};
}

/** Input [sequence, batch, size], weights [directions, gates × hidden, size]. */
const recurrent = onTwo((input, weights, { node, shapes }) => {
	const [sequence = null, batch = null, size = null] = input;
	if (input.length !== 3 || weights.length !== 3 || integerAttribute(node, "layout", 0) !== 0) return untold;
	if (differ(size, weights[2]))
		return {
			fault: `has weights ${formatDims(weights)} for inputs of size ${weights[2]}, its input ${formatDims(input)} has ${size}`,
		};
	const start = shapes[5];
	if (start && differ(start[1], batch))
		return {
			fault: `starts from a state ${formatDims(start)}, and its input ${formatDims(input)} has ${batch} rows`,
		};
	const hidden = integerAttribute(node, "hidden_size", 0) || (shapes[2]?.[2] ?? null);
	const directions = weights[0] ?? null;
	const last = [directions, batch, hidden];
	return { dims: [sequence, directions, batch, hidden], more: [last, last] };
});

export function withSecond(rule: OperatorRule, place: number): OperatorRule {
	return (view) => rule({ ...view, shapes: [view.shapes[0] ?? null, view.shapes[place] ?? null] });
}

export const productRules: OperatorRules = {
	...forEach("MatMul MatMulInteger", matMul),
	QLinearMatMul: withSecond(matMul, 3),
	Gemm: gemm,
	...forEach("Conv ConvInteger", conv),
	QLinearConv: withSecond(conv, 3),
	ConvTranspose: convTranspose,
	...forEach("GRU LSTM RNN", recurrent),
};
