// Shape rules of operators, helpers that they share, and the rules of products, sliding windows and recurrent layers.

import { formatDims } from "../../text/escape.ts";
import type { OnnxAttribute, OnnxDim, OnnxDType, OnnxNode } from "../model.ts";

export type Dims = readonly OnnxDim[];

export interface OperatorView {
	node: OnnxNode;
	shapes: readonly (Dims | null)[];
	/** Numbers or short lists of them: constants, and what is computed from shapes. */
	values: readonly (Dims | null)[];
	type: OnnxDType | null;
	opset: number;
}

export interface Outputs {
	dims: Dims | null;
	more?: readonly (Dims | null)[];
	value?: Dims;
}
/** The shape of the first output is enough; text says why the inputs cannot be right. */
export type OperatorResult = Outputs | Dims | string | null;
export type OperatorRule = (view: OperatorView) => OperatorResult;
export type OperatorRules = Readonly<Record<string, OperatorRule>>;

export const maxValues = 64;

export function onInput(rule: (input: Dims, view: OperatorView) => OperatorResult): OperatorRule {
	return (view) => (view.shapes[0] ? rule(view.shapes[0], view) : null);
}

export function onTwo(rule: (left: Dims, right: Dims, view: OperatorView) => OperatorResult): OperatorRule {
	return onInput((left, view) => (view.shapes[1] ? rule(left, view.shapes[1], view) : null));
}

export function onAxis(
	fallback: number,
	rule: (input: Dims, axis: number, view: OperatorView) => OperatorResult,
): OperatorRule {
	return onInput((input, view) => {
		const stated = integerAttribute(view.node, "axis", fallback);
		const axis = axisIn(stated, input.length);
		return axis === null
			? `takes axis ${stated} of ${formatDims(input)}, which has ${input.length}`
			: rule(input, axis, view);
	});
}

export function forEach<Rule>(operators: string, rule: Rule): Readonly<Record<string, Rule>> {
	return Object.fromEntries(operators.split(" ").map((operator) => [operator, rule]));
}

export const keepShape: OperatorRule = ({ shapes: [dims = null] }) => dims;

export function attributeOf(node: OnnxNode, name: string): OnnxAttribute["value"] | undefined {
	return node.attributes.find((attribute) => attribute.name === name)?.value;
}

export function integerAttribute(node: OnnxNode, name: string, fallback: number): number {
	const value = attributeOf(node, name);
	return typeof value === "number" ? value : fallback;
}

export function integersAttribute(node: OnnxNode, name: string): readonly number[] | null {
	const value = attributeOf(node, name);
	return Array.isArray(value) && value.every((entry) => typeof entry === "number") ? value : null;
}

export function textAttribute(node: OnnxNode, name: string): string | null {
	const value = attributeOf(node, name);
	return typeof value === "string" ? value : null;
}

/** An attribute in older operator sets, an input in newer ones. */
export function listOf(
	{ node, values }: OperatorView,
	attribute: string,
	place: number,
): readonly number[] | "absent" | "unknown" {
	const given = integersAttribute(node, attribute);
	if (given !== null) return given;
	if (node.inputs[place]) return numbers(values[place]) ?? "unknown";
	return attributeOf(node, attribute) === undefined ? "absent" : "unknown";
}

export function numbers(list: Dims | null | undefined): readonly number[] | null {
	return list?.every((entry) => typeof entry === "number") ? (list as readonly number[]) : null;
}

export function axisIn(axis: number, rank: number): number | null {
	const at = axis < 0 ? axis + rank : axis;
	return at >= 0 && at < rank ? at : null;
}

export function unknownOf(rank: number): Dims {
	return Array.from({ length: rank }, () => null);
}

export function differ(left: OnnxDim | undefined, right: OnnxDim | undefined): boolean {
	return typeof left === "number" && typeof right === "number" && left !== right;
}

/** Rounded down; a scale is binary32, and so is the product. */
export function scaled(dim: OnnxDim, by: OnnxDim): OnnxDim {
	if (by === 1) return dim;
	if (typeof dim !== "number" || typeof by !== "number") return null;
	return Number.isInteger(by) ? dim * by : Math.floor(Math.fround(dim * by));
}

export function broadcast(left: Dims, right: Dims): Dims | null {
	const rank = Math.max(left.length, right.length);
	const sizeAt = (dims: Dims, axis: number) =>
		axis < rank - dims.length ? 1 : (dims[axis - rank + dims.length] ?? null);
	const dims: OnnxDim[] = [];
	for (let axis = 0; axis < rank; axis++) {
		const one = sizeAt(left, axis);
		const other = sizeAt(right, axis);
		if (one !== 1 && other !== 1 && differ(one, other)) return null;
		if (one === 1) dims.push(other);
		else if (other === 1 || one === other || typeof one === "number") dims.push(one);
		else dims.push(typeof other === "number" ? other : null);
	}
	return dims;
}

export function elementsOf(dims: Dims): number | null {
	return dims.reduce<number | null>(
		(product, dim) => (product === null || typeof dim !== "number" ? null : product * dim),
		1,
	);
}

export const matMul = onTwo((left, right) => {
	if (left.length === 0 || right.length === 0) return "multiplies a scalar, which is not a matrix";
	const inner = right.length === 1 ? right[0] : right.at(-2);
	const what = `multiplies ${formatDims(left)} by ${formatDims(right)}`;
	if (differ(left.at(-1), inner)) return `${what}: ${left.at(-1)} and ${inner} must be the same`;
	const batch = broadcast(left.slice(0, -2), right.slice(0, -2));
	if (batch === null) return `${what}: their batch dimensions are incompatible`;
	const rows = left.length === 1 ? [] : [left.at(-2) ?? null];
	const columns = right.length === 1 ? [] : [right.at(-1) ?? null];
	return [...batch, ...rows, ...columns];
});

export const gemm = onTwo((left, right, view) => {
	if (left.length !== 2 || right.length !== 2)
		return `multiplies ${formatDims(left)} by ${formatDims(right)}; Gemm takes matrices`;
	const turned = ["transA", "transB"].map((name, at) => {
		const dims = at === 0 ? left : right;
		return integerAttribute(view.node, name, 0) === 0 ? dims : dims.toReversed();
	});
	return matMul({ ...view, shapes: turned });
});

export function slid(node: OnnxNode, input: Dims, kernel: Dims): Dims {
	return input.map((size, axis) => {
		const window = windowAt(node, axis, input.length);
		const taps = kernel[axis];
		if (typeof size !== "number" || typeof taps !== "number" || window === null) return null;
		const { stride, dilation, padding } = window;
		if (padding === "same") return Math.ceil(size / stride);
		const steps = (size + padding - dilation * (taps - 1) - 1) / stride;
		// If the last window exceeds the input, versions differ.
		if (integerAttribute(node, "ceil_mode", 0) !== 0 && !Number.isInteger(steps)) return null;
		return steps < 0 ? null : Math.floor(steps) + 1;
	});
}

function spread(node: OnnxNode, input: Dims, kernel: Dims) {
	if (integersAttribute(node, "output_shape") !== null) return unknownOf(input.length);
	const added = integersAttribute(node, "output_padding");
	return input.map((size, axis) => {
		const window = windowAt(node, axis, input.length);
		const taps = kernel[axis];
		if (typeof size !== "number" || typeof taps !== "number" || window === null) return null;
		const { stride, dilation, padding } = window;
		if (padding === "same") return null;
		return stride * (size - 1) + (added?.[axis] ?? 0) + dilation * (taps - 1) + 1 - padding;
	});
}

function windowAt(
	node: OnnxNode,
	axis: number,
	axes: number,
): { stride: number; dilation: number; padding: number | "same" } | null {
	const auto = textAttribute(node, "auto_pad") ?? "NOTSET";
	const pads = integersAttribute(node, "pads");
	if (pads !== null && pads.length !== 2 * axes) return null;
	const stated = (pads?.[axis] ?? 0) + (pads?.[axis + axes] ?? 0);
	return {
		stride: integersAttribute(node, "strides")?.[axis] ?? 1,
		dilation: integersAttribute(node, "dilations")?.[axis] ?? 1,
		padding: auto.startsWith("SAME") ? "same" : auto === "VALID" ? 0 : stated,
	};
}

export const pool = onInput((input, { node }) => {
	const kernel = integersAttribute(node, "kernel_shape") ?? [];
	const dims = [...input.slice(0, 2), ...slid(node, input.slice(2), kernel)];
	return { dims, more: [dims] };
});

export const globalPool = onInput((input) => input.map((dim, axis) => (axis < 2 ? dim : 1)));

/** Input [N, C, …], weights [M, C / group, …], or [C, M / group, …] of a transposed convolution. */
function convolution(isTransposed: boolean) {
	return onTwo((input, kernel, { node }) => {
		if (input.length !== kernel.length)
			return `has weights of ${kernel.length} dimensions ${formatDims(kernel)}, its input has ${input.length}: ${formatDims(input)}`;
		const [whole = null, perGroup = null] = kernel;
		const grouped = typeof perGroup === "number" ? perGroup * integerAttribute(node, "group", 1) : null;
		const [channels, made] = isTransposed ? [whole, grouped] : [grouped, whole];
		if (differ(input[1], channels))
			return `has weights ${formatDims(kernel)} for ${channels} channels, its input ${formatDims(input)} has ${input[1]}`;
		const sizes = isTransposed ? spread : slid;
		return [input[0] ?? null, made, ...sizes(node, input.slice(2), kernel.slice(2))];
	});
}

export const conv = convolution(false);

const recurrent = onTwo((input, weights, { node, shapes }) => {
	const [sequence = null, batch = null, size = null] = input;
	if (input.length !== 3 || weights.length !== 3 || integerAttribute(node, "layout", 0) !== 0) return null;
	const shown = `its input ${formatDims(input)} has`;
	if (differ(size, weights[2]))
		return `has weights ${formatDims(weights)} for inputs of size ${weights[2]}, ${shown} ${size}`;
	const start = shapes[5];
	if (start && differ(start[1], batch))
		return `starts from a state ${formatDims(start)}, and ${shown} ${batch} rows`;
	const hidden: OnnxDim = integerAttribute(node, "hidden_size", 0) || (shapes[2]?.[2] ?? null);
	const last = [weights[0] ?? null, batch, hidden];
	return { dims: [sequence, ...last], more: [last, last] };
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
	ConvTranspose: convolution(true),
	...forEach("AveragePool LpPool MaxPool", pool),
	...forEach("GlobalAveragePool GlobalLpPool GlobalMaxPool", globalPool),
	...forEach("GRU LSTM RNN", recurrent),
};
