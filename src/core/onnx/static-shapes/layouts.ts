// Shapes of operators that keep, join or rearrange elements.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../shapes.ts";
import {
	broadcast,
	type Dims,
	differ,
	elementsOf,
	integerAttribute,
	integersAttribute,
	type OperatorResult,
	type OperatorRule,
	untold,
} from "./operator.ts";

/** The output has the shape of the first input. */
export const sameAsInput: OperatorRule = ({ shapes }) => ({ dims: shapes[0] ?? null });

/** All inputs broadcast to one shape, as NumPy does (ONNX since opset 7). */
export const broadcastAll: OperatorRule = ({ shapes }) => {
	let dims: Dims = [];
	for (const shape of shapes) {
		if (shape === null) return untold;
		const next = broadcast(dims, shape);
		if (next === null)
			return { fault: `joins shapes that do not go together: ${shapes.map((each) => formatDims(each ?? [])).join(" and ")}` };
		dims = next;
	}
	return { dims };
};

/** Pooling keeps batch and channels. */
export const pool: OperatorRule = ({ shapes }) => {
	const input = shapes[0];
	return input ? { dims: input.map((dim, axis) => (axis < 2 ? dim : null)) } : untold;
};

export const globalPool: OperatorRule = ({ shapes }) => {
	const input = shapes[0];
	return input ? { dims: input.map((dim, axis) => (axis < 2 ? dim : 1)) } : untold;
};

export const transpose: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	if (!input) return untold;
	const order = integersAttribute(node, "perm") ?? input.map((_, axis) => input.length - 1 - axis);
	if (order.length !== input.length) return { fault: `permutes ${order.length} axes of ${formatDims(input)}` };
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
	return dims === null ? { fault: `expands ${formatDims(input)} to ${formatDims(target)}, which does not go` } : { dims };
};

export const constantOfShape: OperatorRule = ({ values }) => ({ dims: values[0] ?? null });

/** A 0 in the target copies the input's size (unless allowzero), a -1 takes what is left. */
export const reshape: OperatorRule = ({ node, shapes, values }) => {
	const [input, target] = [shapes[0], values[1]];
	if (!target) return untold;
	const copiesZeros = integerAttribute(node, "allowzero", 0) === 0;
	const dims = target.map((size, axis): OnnxDim => {
		if (size === 0 && copiesZeros) return input?.[axis] ?? null;
		return size < 0 ? null : size;
	});
	return input ? reshaped(input, { dims, target }) : { dims };
};

function reshaped(input: Dims, to: { dims: readonly OnnxDim[]; target: readonly number[] }): OperatorResult {
	const have = elementsOf(input);
	const gap = to.target.findIndex((size) => size < 0);
	const want = elementsOf(gap < 0 ? to.dims : to.dims.toSpliced(gap, 1));
	if (have === null || want === null) return { dims: to.dims };
	const fits = gap < 0 ? have === want : want === 0 || have % want === 0;
	if (!fits) return { fault: `reshapes ${formatDims(input)} (${have} elements) to ${formatDims(to.target)}` };
	return { dims: gap < 0 || want === 0 ? to.dims : to.dims.with(gap, have / want) };
}

export const concat: OperatorRule = ({ node, shapes }) => {
	const first = shapes[0];
	if (!first) return untold;
	const axis = integerAttribute(node, "axis", 0);
	const at = axis < 0 ? axis + first.length : axis;
	let along: OnnxDim = 0;
	for (const shape of shapes) {
		if (!shape) return untold;
		const isOdd = shape.length !== first.length || shape.some((dim, each) => each !== at && differ(dim, first[each]));
		if (isOdd) return { fault: `joins ${formatDims(first)} and ${formatDims(shape)} along axis ${axis}` };
		const size: OnnxDim = shape[at] ?? null;
		along = typeof along === "number" && typeof size === "number" ? along + size : null;
	}
	return { dims: first.map((dim, each) => (each === at ? along : dim)) };
};
