// Shapes of operators that keep, join or rearrange elements.
import type { OnnxDim, OnnxNode } from "../model.ts";
import { formatDims } from "../quote.ts";
import {
	broadcast,
	type Dims,
	differ,
	elementsOf,
	integerAttribute,
	integersAttribute,
	maxValues,
	type OperatorResult,
	type OperatorRule,
	textAttribute,
	unknownOf,
	untold,
} from "./operator.ts";

export const sameAsInput: OperatorRule = ({ shapes }) => ({ dims: shapes[0] ?? null });

/** The output has the values of the first input too; a Cast to whole numbers cuts fractions off, and these are whole already. */
export const sameValues: OperatorRule = ({ shapes, values }) => {
	const value = values[0];
	const isWhole = value?.every((entry) => typeof entry !== "number" || Number.isInteger(entry));
	return value && isWhole ? { dims: shapes[0] ?? null, value } : { dims: shapes[0] ?? null };
};

/** All inputs broadcast to one shape, as NumPy does (ONNX since opset 7). */
export const broadcastAll: OperatorRule = ({ shapes }) => {
	let dims: Dims = [];
	for (const shape of shapes) {
		if (shape === null) return untold;
		const next = broadcast(dims, shape);
		if (next === null)
			return {
				fault: `combines incompatible shapes: ${shapes.map((each) => formatDims(each ?? [])).join(" and ")}`,
			};
		dims = next;
	}
	return { dims };
};

export const globalPool: OperatorRule = ({ shapes }) => {
	const input = shapes[0];
	return input ? { dims: input.map((dim, axis) => (axis < 2 ? dim : 1)) } : untold;
};

export const transpose: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	if (!input) return untold;
	const order = integersAttribute(node, "perm") ?? input.map((_, axis) => input.length - 1 - axis);
	if (order.length !== input.length)
		return { fault: `permutes ${order.length} axes of ${formatDims(input)}` };
	return { dims: order.map((axis) => input[axis] ?? null) };
};

export const flatten: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	if (!input) return untold;
	const axis = integerAttribute(node, "axis", 1);
	const at = axis < 0 ? axis + input.length : axis;
	return { dims: [elementsOf(input.slice(0, at)), elementsOf(input.slice(at))] };
};

export const expand: OperatorRule = ({ shapes, values }) => {
	const [input, target] = [shapes[0], values[1]];
	if (!input || !target) return untold;
	const dims = broadcast(input, target);
	return dims === null
		? { fault: `expands ${formatDims(input)} to ${formatDims(target)}, which is impossible` }
		: { dims };
};

/** A 0 in the target copies the input's size (unless allowzero), a -1 takes the remainder. */
export const reshape: OperatorRule = ({ node, shapes, values }) => {
	const [input, target] = [shapes[0], values[1] ?? integersAttribute(node, "shape")];
	if (!target) return untold;
	const copiesZeros = integerAttribute(node, "allowzero", 0) === 0;
	const dims = target.map((size, axis): OnnxDim => {
		if (size === 0 && copiesZeros) return input?.[axis] ?? null;
		return typeof size === "number" && size < 0 ? null : size;
	});
	const result = input ? reshaped(input, { dims, target }) : { dims };
	return "dims" in result && values[0] ? { ...result, value: values[0] } : result;
};

function reshaped(input: Dims, to: { dims: readonly OnnxDim[]; target: Dims }): OperatorResult {
	const gap = to.target.findIndex((size) => typeof size === "number" && size < 0);
	const [have, want] = withoutShared(input, gap < 0 ? to.dims : to.dims.toSpliced(gap, 1)).map(elementsOf);
	if (have === null || have === undefined || want === null || want === undefined) return { dims: to.dims };
	const fits = gap < 0 ? have === want : want === 0 || have % want === 0;
	if (!fits) return { fault: `reshapes ${formatDims(input)} (${have} elements) to ${formatDims(to.target)}` };
	return { dims: gap < 0 || want === 0 ? to.dims : to.dims.with(gap, have / want) };
}

function withoutShared(left: Dims, right: Dims): [Dims, Dims] {
	const rest = [...right];
	const kept = left.filter((dim) => {
		const at = typeof dim === "string" ? rest.indexOf(dim) : -1;
		if (at >= 0) rest.splice(at, 1);
		return at < 0;
	});
	return [kept, rest];
}

export const concat: OperatorRule = ({ node, shapes, values }) => {
	const first = shapes[0];
	if (!first) return untold;
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
};

/** Sizes of the spatial axes; null where a size or an attribute is not known. */
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
	const stated = integersAttribute(node, "output_shape");
	const added = integersAttribute(node, "output_padding");
	return input.map((size, axis) => {
		const window = windowAt(node, axis, input.length);
		const taps = kernel[axis];
		if (
			stated !== null ||
			typeof size !== "number" ||
			typeof taps !== "number" ||
			window === null ||
			window.padding === "same"
		)
			return null;
		return (
			window.stride * (size - 1) + (added?.[axis] ?? 0) + window.dilation * (taps - 1) + 1 - window.padding
		);
	});
}

interface Window {
	stride: number;
	dilation: number;
	padding: number | "same";
}

function windowAt(node: OnnxNode, axis: number, axes: number): Window | null {
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

export const pool: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	const kernel = integersAttribute(node, "kernel_shape");
	if (!input) return untold;
	const spatial =
		kernel === null ? input.slice(2).map((): OnnxDim => null) : slid(node, input.slice(2), kernel);
	const dims = [...input.slice(0, 2), ...spatial];
	return { dims, more: [dims] };
};
