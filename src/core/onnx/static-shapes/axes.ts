// Shapes of operators that remove, add, slice or index axes.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import {
	axisIn,
	type Dims,
	differ,
	integerAttribute,
	listOf,
	numbers,
	type OperatorResult,
	type OperatorRule,
	type OperatorView,
	textAttribute,
	unknownOf,
	untold,
} from "./operator.ts";

function axesIn(axes: readonly number[], rank: number): Set<number> | null {
	const found = axes.map((axis) => axisIn(axis, rank));
	return found.every((axis) => axis !== null) ? new Set(found as number[]) : null;
}

export const reduce: OperatorRule = (view) => {
	const input = view.shapes[0];
	const axes = listOf(view, "axes", 1);
	if (!input) return untold;
	const keeps = integerAttribute(view.node, "keepdims", 1) !== 0;
	const isEmpty = axes === "absent" || axes.length === 0;
	if (isEmpty && integerAttribute(view.node, "noop_with_empty_axes", 0) !== 0) return { dims: input };
	if (axes === "unknown") return { dims: keeps ? unknownOf(input.length) : null };
	const reduced = axesIn(isEmpty ? [...input.keys()] : (axes as readonly number[]), input.length);
	if (reduced === null)
		return { fault: `reduces axes ${(axes as readonly number[]).join(", ")} of ${formatDims(input)}` };
	return { dims: input.flatMap((dim, axis): OnnxDim[] => (reduced.has(axis) ? (keeps ? [1] : []) : [dim])) };
};

export const argument: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	const axis = input ? axisIn(integerAttribute(node, "axis", 0), input.length) : null;
	if (!input || axis === null) return untold;
	return {
		dims: integerAttribute(node, "keepdims", 1) === 0 ? input.toSpliced(axis, 1) : input.with(axis, 1),
	};
};

export const squeeze: OperatorRule = (view) => {
	const input = view.shapes[0];
	const axes = listOf(view, "axes", 1);
	if (!input || axes === "unknown") return untold;
	if (axes === "absent")
		return numbers(input) === null
			? untold
			: kept(
					view,
					input.filter((dim) => dim !== 1),
				);
	const gone = axesIn(axes, input.length);
	const odd = gone === null ? undefined : [...gone].find((axis) => differ(input[axis], 1));
	if (gone === null || odd !== undefined)
		return {
			fault: `takes axes ${axes.join(", ")} out of ${formatDims(input)}, which are not all of size 1`,
		};
	return kept(
		view,
		input.filter((_, axis) => !gone.has(axis)),
	);
};

export const unsqueeze: OperatorRule = (view) => {
	const input = view.shapes[0];
	const axes = listOf(view, "axes", 1);
	if (!input || typeof axes === "string") return untold;
	const added = axesIn(axes, input.length + axes.length);
	if (added === null || added.size !== axes.length)
		return { fault: `adds axes ${axes.join(", ")} to ${formatDims(input)}` };
	const rest = input.values();
	return kept(
		view,
		Array.from({ length: input.length + axes.length }, (_, axis) =>
			added.has(axis) ? 1 : (rest.next().value ?? null),
		),
	);
};

function kept({ values }: OperatorView, dims: Dims): OperatorResult {
	const value = values[0];
	return value && dims.length <= 1 ? { dims, value } : { dims };
}

export const gather: OperatorRule = ({ node, shapes, values }) => {
	const [data, indices] = [shapes[0], shapes[1]];
	if (!data || !indices) return untold;
	const axis = axisIn(integerAttribute(node, "axis", 0), data.length);
	if (axis === null)
		return { fault: `gathers along axis ${integerAttribute(node, "axis", 0)} of ${formatDims(data)}` };
	const dims = [...data.slice(0, axis), ...indices, ...data.slice(axis + 1)];
	const [list, picks] = [values[0], numbers(values[1])];
	if (!list || picks === null || data.length !== 1 || indices.length > 1) return { dims };
	return { dims, value: picks.map((pick) => list.at(pick) ?? null) };
};

/** The last axis of the indices gives the number of data axes that one index covers. */
export const gatherNd: OperatorRule = ({ node, shapes }) => {
	const [data, indices] = [shapes[0], shapes[1]];
	const reach = indices?.at(-1);
	if (!data || !indices || typeof reach !== "number") return untold;
	return { dims: [...indices.slice(0, -1), ...data.slice(integerAttribute(node, "batch_dims", 0) + reach)] };
};

export const split: OperatorRule = (view) => {
	const input = view.shapes[0];
	const axis = input ? axisIn(integerAttribute(view.node, "axis", 0), input.length) : null;
	if (!input || axis === null) return untold;
	const parts = listOf(view, "split", 1);
	const size = input[axis];
	const count = view.node.outputs.length;
	const sizes = Array.isArray(parts)
		? parts
		: parts === "absent" && typeof size === "number"
			? shares(size, count)
			: [];
	const whole = sizes.reduce((sum, part) => sum + part, 0);
	if (Array.isArray(parts) && differ(size, whole))
		return { fault: `splits axis ${axis} of ${formatDims(input)} into ${parts.join(" + ")}` };
	const [dims = null, ...more] = Array.from({ length: count }, (_, index) =>
		input.with(axis, sizes[index] ?? null),
	);
	return { dims, more };
};

function shares(size: number, count: number): number[] {
	const share = Math.ceil(size / count);
	return Array.from({ length: count }, (_, index) => Math.max(0, Math.min(share, size - index * share)));
}

export const topK: OperatorRule = ({ node, shapes, values }) => {
	const input = shapes[0];
	const axis = input ? axisIn(integerAttribute(node, "axis", -1), input.length) : null;
	if (!input || axis === null) return untold;
	const dims = input.with(
		axis,
		values[1]?.[0] ?? (node.inputs.length < 2 ? integerAttribute(node, "k", 0) : null),
	);
	return { dims, more: [dims] };
};

export const tile: OperatorRule = ({ shapes, values }) => {
	const [input, repeats] = [shapes[0], values[1]];
	if (!input) return untold;
	return { dims: input.map((dim, axis) => scaled(dim, repeats?.[axis] ?? null)) };
};

/** A scale is binary32, and so is the product that is rounded down. */
function scaled(dim: OnnxDim, by: OnnxDim): OnnxDim {
	if (by === 1) return dim;
	if (typeof dim !== "number" || typeof by !== "number") return null;
	return Number.isInteger(by) ? dim * by : Math.floor(Math.fround(dim * by));
}

export const pad: OperatorRule = (view) => {
	const input = view.shapes[0];
	if (!input) return untold;
	const [pads, axes] = [listOf(view, "pads", 1), listOf(view, "axes", 3)];
	if (!Array.isArray(pads) || axes === "unknown") return { dims: unknownOf(input.length) };
	const padded = axes === "absent" ? [...input.keys()] : axes.map((axis) => axisIn(axis, input.length));
	if (pads.length !== 2 * padded.length)
		return { fault: `pads ${formatDims(input)} by ${pads.length} numbers, which takes ${2 * padded.length}` };
	const short =
		textAttribute(view.node, "mode") === "reflect"
			? padded.findIndex((axis, place) =>
					isShort(input[axis ?? -1], [pads[place], pads[place + padded.length]]),
				)
			: -1;
	if (short >= 0)
		return { fault: `reflects more of axis ${padded[short]} of ${formatDims(input)} than it has` };
	return {
		dims: input.map((dim, axis) => {
			const place = padded.indexOf(axis);
			const sum = place < 0 ? 0 : (pads[place] ?? 0) + (pads[place + padded.length] ?? 0);
			return sum === 0 ? dim : typeof dim === "number" ? dim + sum : null;
		}),
	};
};

/** A reflection leaves out the edge itself. */
function isShort(size: OnnxDim | undefined, pads: readonly (number | undefined)[]): boolean {
	return typeof size === "number" && pads.some((pad) => (pad ?? 0) >= size);
}

export const resize: OperatorRule = (view) => {
	const { node, shapes, values } = view;
	const input = shapes[0];
	if (!input) return untold;
	const isPlain = ["axes", "keep_aspect_ratio_policy"].every((name) =>
		node.attributes.every((each) => each.name !== name),
	);
	const isCropping = textAttribute(node, "coordinate_transformation_mode") === "tf_crop_and_resize";
	if (!isPlain || isCropping) return { dims: unknownOf(input.length) };
	const sizes = values[3];
	if (sizes && sizes.length === input.length) return { dims: sizes };
	const scales = listOf(view, "scales", view.opset >= 11 ? 2 : 1);
	return {
		dims:
			Array.isArray(scales) && scales.length === input.length
				? input.map((dim, axis) => scaled(dim, scales[axis] ?? null))
				: unknownOf(input.length),
	};
};

export const depthToSpace: OperatorRule = ({ node, shapes }) => {
	const size = integerAttribute(node, "blocksize", 1);
	const [batch = null, channels = null, ...spatial] = shapes[0] ?? [];
	if (spatial.length !== 2) return untold;
	if (typeof channels === "number" && channels % size ** 2 !== 0)
		return { fault: `takes ${channels} channels apart by blocks of ${size} × ${size}` };
	return {
		dims: [
			batch,
			typeof channels === "number" ? channels / size ** 2 : null,
			...spatial.map((dim) => scaled(dim, size)),
		],
	};
};

export const spaceToDepth: OperatorRule = ({ node, shapes }) => {
	const size = integerAttribute(node, "blocksize", 1);
	const [batch = null, channels = null, ...spatial] = shapes[0] ?? [];
	if (spatial.length !== 2) return untold;
	return {
		dims: [
			batch,
			scaled(channels, size ** 2),
			...spatial.map((dim) => (typeof dim === "number" ? Math.floor(dim / size) : null)),
		],
	};
};
