// Shapes of matrix products, convolutions and recurrent layers, where wrong weights show.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import { slid, spread } from "./layouts.ts";
import {
	broadcast,
	type Dims,
	differ,
	integerAttribute,
	type OperatorResult,
	type OperatorRule,
	type OperatorView,
	untold,
} from "./operator.ts";

function both(view: OperatorView, judge: (left: Dims, right: Dims) => OperatorResult): OperatorResult {
	const [left, right] = view.shapes;
	return left && right ? judge(left, right) : untold;
}

export const matMul: OperatorRule = (view) =>
	both(view, (left, right) => {
		if (left.length === 0 || right.length === 0)
			return { fault: "multiplies a scalar, which is not a matrix" };
		const inner = right.length === 1 ? right[0] : right.at(-2);
		if (differ(left.at(-1), inner)) {
			return {
				fault: `multiplies ${formatDims(left)} by ${formatDims(right)}: ${left.at(-1)} and ${inner} must be the same`,
			};
		}
		const batch = broadcast(left.slice(0, -2), right.slice(0, -2));
		if (batch === null)
			return {
				fault: `multiplies ${formatDims(left)} by ${formatDims(right)}: their batch dimensions are incompatible`,
			};
		const rows = left.length === 1 ? [] : [left.at(-2) ?? null];
		const columns = right.length === 1 ? [] : [right.at(-1) ?? null];
		return { dims: [...batch, ...rows, ...columns] };
	});

export const gemm: OperatorRule = (view) =>
	both(view, (left, right) => {
		if (left.length !== 2 || right.length !== 2)
			return { fault: `multiplies ${formatDims(left)} by ${formatDims(right)}; Gemm takes matrices` };
		const [rows, inner] = oriented(left, integerAttribute(view.node, "transA", 0));
		const [innerToo, columns] = oriented(right, integerAttribute(view.node, "transB", 0));
		if (!differ(inner, innerToo)) return { dims: [rows, columns] };
		return {
			fault: `multiplies ${formatDims([rows, inner])} by ${formatDims([innerToo, columns])}: ${inner} and ${innerToo} must be the same`,
		};
	});

function oriented(matrix: Dims, isTransposed: number): [OnnxDim, OnnxDim] {
	const [first = null, second = null] = matrix;
	return isTransposed === 0 ? [first, second] : [second, first];
}

/** Input [N, C, …], weights [M, C / group, …]. */
export const conv: OperatorRule = (view) =>
	both(view, (input, kernel) => {
		if (input.length !== kernel.length) return rankFault(input, kernel);
		const group = integerAttribute(view.node, "group", 1);
		const [channels, perGroup] = [input[1], kernel[1]];
		if (typeof perGroup === "number" && differ(channels, perGroup * group)) {
			return {
				fault: `has weights ${formatDims(kernel)} for ${perGroup * group} channels, its input ${formatDims(input)} has ${channels}`,
			};
		}
		return {
			dims: [input[0] ?? null, kernel[0] ?? null, ...slid(view.node, input.slice(2), kernel.slice(2))],
		};
	});

/** Input [N, C, …], weights [C, M / group, …]. */
export const convTranspose: OperatorRule = (view) =>
	both(view, (input, kernel) => {
		if (input.length !== kernel.length) return rankFault(input, kernel);
		if (differ(input[1], kernel[0])) {
			return {
				fault: `has weights ${formatDims(kernel)} for ${kernel[0]} channels, its input ${formatDims(input)} has ${input[1]}`,
			};
		}
		const perGroup = kernel[1];
		const channels = typeof perGroup === "number" ? perGroup * integerAttribute(view.node, "group", 1) : null;
		return { dims: [input[0] ?? null, channels, ...spread(view.node, input.slice(2), kernel.slice(2))] };
	});

/** Input [sequence, batch, size], weights [directions, gates × hidden, size]. */
export const recurrent: OperatorRule = ({ node, shapes }) => {
	const [input, weights] = [shapes[0], shapes[1]];
	if (
		!input ||
		!weights ||
		input.length !== 3 ||
		weights.length !== 3 ||
		integerAttribute(node, "layout", 0) !== 0
	)
		return untold;
	if (differ(input[2], weights[2])) {
		return {
			fault: `has weights ${formatDims(weights)} for inputs of size ${weights[2]}, its input ${formatDims(input)} has ${input[2]}`,
		};
	}
	const hidden = integerAttribute(node, "hidden_size", 0) || (shapes[2]?.[2] ?? null);
	const [sequence = null, batch = null, directions = null] = [input[0], input[1], weights[0]];
	const first = shapes[5];
	if (first && differ(first[1], batch))
		return {
			fault: `starts from a state ${formatDims(first)}, and its input ${formatDims(input)} has ${batch} rows`,
		};
	const last = [directions, batch, hidden];
	return { dims: [sequence, directions, batch, hidden], more: [last, last] };
};

/** An operator that takes the second of the two as its input number `place`. */
export function withSecond(rule: OperatorRule, place: number): OperatorRule {
	return (view) => rule({ ...view, shapes: [view.shapes[0] ?? null, view.shapes[place] ?? null] });
}

function rankFault(input: Dims, kernel: Dims): OperatorResult {
	return {
		fault: `has weights of ${kernel.length} dimensions ${formatDims(kernel)}, its input has ${input.length}: ${formatDims(input)}`,
	};
}
