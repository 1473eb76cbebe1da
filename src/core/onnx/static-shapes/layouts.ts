// Shapes of operators that keep, join or rearrange elements, and of sliding windows.
import type { OnnxDim, OnnxNode } from "../model.ts";
import { formatDims } from "../quote.ts";
import {
	broadcast,
	type Dims,
	differ,
	elementsOf,
	forEach,
	integerAttribute,
	integersAttribute,
	maxValues,
	type OperatorResult,
	type OperatorRule,
	type OperatorRules,
	onInput,
	textAttribute,
	unknownOf,
	untold,
} from "./operator.ts";

/** All inputs broadcast to one shape, as NumPy does (ONNX since opset 7). */
export const broadcastAll: OperatorRule = ({ shapes }) => {
	let dims: Dims = [];
	for (const shape of shapes) {
		const next = shape && broadcast(dims, shape);
		if (shape === null) return untold;
		if (next === null)
			return {
				fault: `combines incompatible shapes: ${shapes.map((each) => formatDims(each ?? [])).join(" and ")}`,
			};
		dims = next;
	}
	return { dims };
};

export const transpose = onInput((input, { node }) => {
	const order = integersAttribute(node, "perm") ?? input.map((_, axis) => input.length - 1 - axis);
	if (order.length !== input.length)
		return { fault: `permutes ${order.length} axes of ${formatDims(input)}` };
	return { dims: order.map((axis) => input[axis] ?? null) };
});

/** A 0 in the target copies the input's size (unless allowzero), a -1 takes the remainder. */
const reshape: OperatorRule = ({ node, shapes: [input], values: [value, stated] }) => {
	const target = stated ?? integersAttribute(node, "shape");
	if (!target) return untold;
	const copiesZeros = integerAttribute(node, "allowzero", 0) === 0;
	const isGap = (size: OnnxDim): boolean => typeof size === "number" && size < 0;
	const dims = target.map((size, axis): OnnxDim => {
		if (size === 0 && copiesZeros) return input?.[axis] ?? null;
		return isGap(size) ? null : size;
	});
	const result = input ? reshaped(input, dims, target, target.findIndex(isGap)) : { dims };
	return "dims" in result && value ? { ...result, value } : result;
};

function reshaped(input: Dims, dims: Dims, target: Dims, gap: number): OperatorResult {
	// A symbol on both sides gives no information about the others.
	const rest = gap < 0 ? [...dims] : dims.toSpliced(gap, 1);
	const left = input.filter((dim) => {
		const at = typeof dim === "string" ? rest.indexOf(dim) : -1;
		if (at >= 0) rest.splice(at, 1);
		return at < 0;
	});
	const have = elementsOf(left);
	const want = elementsOf(rest);
	if (have === null || want === null) return { dims };
	const fits = gap < 0 ? have === want : want === 0 || have % want === 0;
	if (!fits) return { fault: `reshapes ${formatDims(input)} (${have} elements) to ${formatDims(target)}` };
	return { dims: gap < 0 || want === 0 ? dims : dims.with(gap, have / want) };
}

const concat = onInput((first, { node, shapes, values }) => {
	const axis = integerAttribute(node, "axis", 0);
	const at = axis < 0 ? axis + first.length : axis;
	let along: OnnxDim = 0;
	for (const shape of shapes) {
		if (!shape) return untold;
		const isOdd =
			shape.length !== first.length || shape.some((dim, each) => each !== at && differ(dim, first[each]));
		if (isOdd) return { fault: `joins ${formatDims(first)} and ${formatDims(shape)} along axis ${axis}` };
		const size: OnnxDim = shape[at] ?? null;
		along = typeof along === "number" && typeof size === "number" ? along + size : null;
	}
	const dims = first.map((dim, each) => (each === at ? along : dim));
	if (first.length !== 1 || typeof along !== "number" || along > maxValues) return { dims };
	return { dims, value: values.flatMap((value, index) => value ?? unknownOf(Number(shapes[index]?.[0]))) };
});

export function slid(node: OnnxNode, input: Dims, kernel: Dims): Dims {
	return input.map((size, axis) => {
		const window = windowAt(node, axis, input.length);
		const taps = kernel[axis];
		if (typeof size !== "number" || typeof taps !== "number" || window === null) return null;
		if (window.padding === "same") return Math.ceil(size / window.stride);
		const steps = (size + window.padding - window.dilation * (taps - 1) - 1) / window.stride;
		// If the last window exceeds the input, versions differ.
		if (integerAttribute(node, "ceil_mode", 0) !== 0 && !Number.isInteger(steps)) return null;
		return steps < 0 ? null : Math.floor(steps) + 1;
	});
}

export function spread(node: OnnxNode, input: Dims, kernel: Dims): Dims {
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

export const layoutRules: OperatorRules = {
	...forEach(
		"Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot CastLike Ceil Celu Clip Cos Cosh CumSum DequantizeLinear Dropout " +
			"Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LayerNormalization " +
			"LeakyRelu Log LogSoftmax LpNormalization LRN MeanVarianceNormalization Mish Neg PRelu QuantizeLinear RMSNormalization " +
			"RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh " +
			"Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu",
		({ shapes }) => ({ dims: shapes[0] ?? null }),
	),
	// A Cast to whole numbers cuts fractions off, so that only whole values stay.
	...forEach("Cast Identity", ({ shapes: [dims = null], values: [value] }) => {
		const isWhole = value?.every((entry) => typeof entry !== "number" || Number.isInteger(entry));
		return value && isWhole ? { dims, value } : { dims };
	}),
	...forEach("BitShift BitwiseAnd BitwiseOr BitwiseXor Mean Mod Pow Sum Xor", broadcastAll),
	...forEach(
		"AveragePool LpPool MaxPool",
		onInput((input, { node }) => {
			const kernel = integersAttribute(node, "kernel_shape");
			const spatial = input.slice(2);
			const dims = [
				...input.slice(0, 2),
				...(kernel === null ? unknownOf(spatial.length) : slid(node, spatial, kernel)),
			];
			return { dims, more: [dims] };
		}),
	),
	...forEach(
		"GlobalAveragePool GlobalLpPool GlobalMaxPool",
		onInput((input) => ({ dims: input.map((dim, axis) => (axis < 2 ? dim : 1)) })),
	),
	DynamicQuantizeLinear: ({ shapes }) => ({ dims: shapes[0] ?? null, more: [[], []] }),
	Concat: concat,
	Expand: ({ shapes: [input], values: [, target] }) => {
		if (!input || !target) return untold;
		const dims = broadcast(input, target);
		return dims === null
			? { fault: `expands ${formatDims(input)} to ${formatDims(target)}, which is impossible` }
			: { dims };
	},
	Flatten: onInput((input, { node }) => {
		const axis = integerAttribute(node, "axis", 1);
		const at = axis < 0 ? axis + input.length : axis;
		return { dims: [elementsOf(input.slice(0, at)), elementsOf(input.slice(at))] };
	}),
	Reshape: reshape,
};
