// Shapes of operators that keep, join or rearrange elements; and values computed from shapes.

import { formatDims } from "../../text/escape.ts";
import { codeOfElementType, type OnnxDim } from "../model.ts";
import {
	broadcast,
	type Dims,
	differ,
	elementsOf,
	forEach,
	integerAttribute,
	integersAttribute,
	keepShape,
	maxValues,
	numbers,
	type OperatorRule,
	type OperatorRules,
	type OperatorView,
	onAxis,
	onInput,
	unknownOf,
} from "./operator.ts";

export const broadcastAll = ({ shapes }: OperatorView) => {
	let dims: Dims = [];
	for (const shape of shapes) {
		if (shape === null) return null;
		const next = broadcast(dims, shape);
		const shown = shapes.map((each) => formatDims(each ?? [])).join(" and ");
		if (next === null) return `combines incompatible shapes: ${shown}`;
		dims = next;
	}
	return dims;
};

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
	Add: (left, right) => left + right,
	Sub: (left, right) => left - right,
	Mul: (left, right) => left * right,
	Div: (left, right) => Math.trunc(left / right),
	Max: Math.max,
	Min: Math.min,
	And: (left, right) => left && right,
	Or: (left, right) => left || right,
	Equal: (left, right) => Number(left === right),
	Greater: (left, right) => Number(left > right),
	GreaterOrEqual: (left, right) => Number(left >= right),
	Less: (left, right) => Number(left < right),
	LessOrEqual: (left, right) => Number(left <= right),
};

function entrywise(combine: (entries: readonly OnnxDim[], operator: string) => OnnxDim): OperatorRule {
	return (view) => {
		const { node, values, shapes } = view;
		const result = broadcastAll(view);
		const lists = values.filter((list) => list !== null);
		const length = Math.max(...lists.map((list) => list.length));
		const fits =
			lists.length === values.length &&
			shapes.every((dims) => dims !== null && dims.length <= 1) &&
			lists.every((list) => list.length === 1 || list.length === length);
		if (result === null || typeof result === "string" || !fits) return result;
		const value = Array.from({ length }, (_, index) =>
			combine(
				lists.map((list) => list[list.length === 1 ? 0 : index] ?? null),
				node.op,
			),
		);
		return { dims: result, value };
	};
}

const computed = entrywise(([left = null, right = null], operator) => {
	const operation = operations[operator];
	if (typeof left === "number" && typeof right === "number" && operation !== undefined)
		return right === 0 && operator === "Div" ? null : operation(left, right);
	return right === 1 && (operator === "Mul" || operator === "Div") ? left : null;
});

/** Computes on whole numbers only, since sizes are whole; conditions count as 0 and 1. */
const arithmetic: OperatorRule = (view) => {
	const isWhole = view.type === "int64" || view.type === "int32" || view.type === "bool";
	return isWhole && view.values.length === 2 ? computed(view) : broadcastAll(view);
};

const transpose = onInput((input, { node, values: [value] }) => {
	const order = integersAttribute(node, "perm") ?? [...input.keys()].reverse();
	if (order.length !== input.length) return `permutes ${order.length} axes of ${formatDims(input)}`;
	const dims = order.map((axis) => input[axis] ?? null);
	const [rows, columns] = input;
	// PyTorch transposes a list of paddings as a matrix of two columns.
	const isTurned = input.length === 2 && order[0] !== 0;
	if (!value || !isTurned || typeof rows !== "number" || typeof columns !== "number") return dims;
	const turned = value.map((_, at) => value[(at % rows) * columns + Math.floor(at / rows)] ?? null);
	return { dims, value: turned };
});

const reshape: OperatorRule = ({ node, shapes: [input], values: [value, stated] }) => {
	const target = stated ?? integersAttribute(node, "shape");
	if (!target) return null;
	const copiesZeros = integerAttribute(node, "allowzero", 0) === 0;
	const isGap = (size: OnnxDim) => typeof size === "number" && size < 0;
	const dims = target.map((size, axis) => {
		if (size === 0 && copiesZeros) return input?.[axis] ?? null;
		return isGap(size) ? null : size;
	});
	const result = input ? reshaped(input, dims, target, target.findIndex(isGap)) : dims;
	return typeof result !== "string" && value ? { dims: result, value } : result;
};

function reshaped(input: Dims, dims: Dims, target: Dims, gap: number) {
	// A symbol on both sides gives no information about the others.
	const rest = gap < 0 ? [...dims] : dims.toSpliced(gap, 1);
	const left = input.filter((dim) => {
		const at = typeof dim === "string" ? rest.indexOf(dim) : -1;
		if (at >= 0) rest.splice(at, 1);
		return at < 0;
	});
	const have = elementsOf(left);
	const want = elementsOf(rest);
	if (have === null || want === null) return dims;
	const fits = gap < 0 ? have === want : want === 0 || have % want === 0;
	if (!fits) return `reshapes ${formatDims(input)} (${have} elements) to ${formatDims(target)}`;
	return gap < 0 || want === 0 ? dims : dims.with(gap, have / want);
}

export const concat = onAxis(0, (first, at, { shapes, values }) => {
	let along: OnnxDim = 0;
	for (const shape of shapes) {
		if (!shape) return null;
		const isOdd =
			shape.length !== first.length || shape.some((dim, each) => each !== at && differ(dim, first[each]));
		if (isOdd) return `joins ${formatDims(first)} and ${formatDims(shape)} along axis ${at}`;
		const size: OnnxDim = shape[at] ?? null;
		along = typeof along === "number" && typeof size === "number" ? along + size : null;
	}
	const dims = first.map((dim, each) => (each === at ? along : dim));
	if (first.length !== 1 || typeof along !== "number" || along > maxValues) return dims;
	return { dims, value: values.flatMap((value, index) => value ?? unknownOf(Number(shapes[index]?.[0]))) };
});

export const layoutRules: OperatorRules = {
	...forEach(
		"Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot CastLike Ceil Celu Clip Cos Cosh CumSum DequantizeLinear Dropout " +
			"Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LayerNormalization " +
			"LeakyRelu Log LogSoftmax LpNormalization LRN MeanVarianceNormalization Mish Neg PRelu QuantizeLinear RMSNormalization " +
			"RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh " +
			"SimplifiedLayerNormalization Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu",
		keepShape,
	),
	// A Cast to whole numbers cuts fractions off, so that only whole values stay; one to bool leaves 0 and 1.
	...forEach("Cast Identity", ({ node, shapes: [dims = null], values: [value] }) => {
		const isWhole = value?.every((entry) => typeof entry !== "number" || Number.isInteger(entry));
		if (!value || !isWhole) return dims;
		const isCondition = integerAttribute(node, "to", 0) === codeOfElementType("bool");
		const toBool = (entry: OnnxDim) => (typeof entry === "number" ? Number(entry !== 0) : null);
		return { dims, value: isCondition ? value.map(toBool) : value };
	}),
	...forEach("BitShift BitwiseAnd BitwiseOr BitwiseXor Mean Mod Pow Sum Xor", broadcastAll),
	...forEach(Object.keys(operations).join(" "), arithmetic),
	Where: entrywise(([condition, left = null, right = null]) =>
		typeof condition === "number" ? (condition === 0 ? right : left) : null,
	),
	Not: ({ shapes: [dims = null], values }) => {
		const list = numbers(values[0]);
		return list === null ? dims : { dims, value: list.map((entry) => Number(entry === 0)) };
	},
	DynamicQuantizeLinear: ({ shapes: [dims = null] }) => ({ dims, more: [[], []] }),
	Concat: concat,
	ConstantOfShape: ({ node, values: [dims = null] }) => {
		const elements = dims === null ? null : elementsOf(dims);
		const tensor = node.attributes.find(({ name }) => name === "value")?.tensor;
		const fill = tensor === undefined ? 0 : tensor.values?.[0];
		if (elements === null || elements > maxValues || fill === undefined) return dims;
		return { dims, value: Array.from({ length: elements }, () => fill) };
	},
	Expand: ({ shapes: [input], values: [, target] }) => {
		if (!input || !target) return null;
		const dims = broadcast(input, target);
		return dims === null
			? `expands ${formatDims(input)} to ${formatDims(target)}, which is impossible`
			: dims;
	},
	Flatten: onInput((input, { node }) => {
		const axis = integerAttribute(node, "axis", 1);
		const at = axis < 0 ? axis + input.length : axis;
		return [elementsOf(input.slice(0, at)), elementsOf(input.slice(at))];
	}),
	Range: ({ values }) => {
		const [start, limit, delta] = values.map((value) => value?.[0]);
		if (typeof start !== "number" || typeof limit !== "number" || typeof delta !== "number" || delta === 0)
			return [null];
		return [Math.max(0, Math.ceil((limit - start) / delta))];
	},
	Reshape: reshape,
	Shape: ({ node, shapes: [input] }) => {
		if (!input) return [null];
		const start = integerAttribute(node, "start", 0);
		const value = input.slice(start, integerAttribute(node, "end", input.length));
		return { dims: [value.length], value };
	},
	Size: ({ shapes: [input] }) => {
		const elements = input ? elementsOf(input) : null;
		return elements === null ? [] : { dims: [], value: [elements] };
	},
	Transpose: transpose,
};
