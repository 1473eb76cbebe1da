// Shapes of operators that remove, add, slice, resize or index axes.

import { formatDims } from "../../text/escape.ts";
import type { OnnxDim } from "../model.ts";
import {
	axisIn,
	type Dims,
	differ,
	forEach,
	integerAttribute,
	listOf,
	numbers,
	type OperatorRules,
	type OperatorView,
	onAxis,
	onInput,
	onTwo,
	scaled,
	textAttribute,
	unknownOf,
} from "./operator.ts";

function axesIn(axes: readonly number[], rank: number) {
	const found = axes.map((axis) => axisIn(axis, rank)).filter((axis) => axis !== null);
	return found.length === axes.length ? new Set(found) : null;
}

function sameElements({ values: [value] }: OperatorView, dims: Dims) {
	return value && dims.length <= 1 ? { dims, value } : dims;
}

const reduce = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	const keeps = integerAttribute(view.node, "keepdims", 1) !== 0;
	const isEmpty = axes === "absent" || axes.length === 0;
	if (isEmpty && integerAttribute(view.node, "noop_with_empty_axes", 0) !== 0) return input;
	const reduced = axes === "unknown" ? null : axesIn(isEmpty ? [...input.keys()] : axes, input.length);
	if (reduced === null) return keeps ? unknownOf(input.length) : null;
	return input.flatMap((dim, axis) => (!reduced.has(axis) ? [dim] : keeps ? [1] : []));
});

const squeeze = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	if (axes === "unknown" || (axes === "absent" && numbers(input) === null)) return null;
	const ones = [...input.keys()].filter((axis) => input[axis] === 1);
	const wanted = axes === "absent" ? ones : axes;
	const gone = axesIn(wanted, input.length);
	if (gone === null || [...gone].some((axis) => differ(input[axis], 1)))
		return `takes axes ${wanted.join(", ")} out of ${formatDims(input)}, which are not all of size 1`;
	return sameElements(
		view,
		input.filter((_, axis) => !gone.has(axis)),
	);
});

const unsqueeze = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	if (typeof axes === "string") return null;
	const rank = input.length + axes.length;
	const added = axesIn(axes, rank);
	if (added?.size !== axes.length) return null;
	const rest = input.values();
	const dims = Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (rest.next().value ?? null)));
	return sameElements(view, dims);
});

const gather = onAxis(0, (data, axis, view) => {
	const indices = view.shapes[1];
	if (!indices) return null;
	const dims = [...data.slice(0, axis), ...indices, ...data.slice(axis + 1)];
	const list = view.values[0];
	const picks = numbers(view.values[1]);
	if (!list || picks === null || data.length !== 1 || indices.length > 1) return dims;
	return { dims, value: picks.map((pick) => list.at(pick) ?? null) };
});

const gatherNd = onTwo((data, indices, { node }) => {
	const reach = indices.at(-1);
	if (typeof reach !== "number") return null;
	return [...indices.slice(0, -1), ...data.slice(integerAttribute(node, "batch_dims", 0) + reach)];
});

const slice = onInput((input, view) => {
	const [starts, ends, axes, steps] = ["starts", "ends", "axes", "steps"].map((name, index) =>
		listOf(view, name, index + 1),
	);
	const cut = axes === "absent" && Array.isArray(starts) ? [...starts.keys()] : axes;
	if (!Array.isArray(cut)) return unknownOf(input.length);
	const dims: OnnxDim[] = [...input];
	for (const [index, given] of cut.entries()) {
		const axis = axisIn(given, input.length);
		if (axis === null) return null;
		const at = (list: typeof starts) => (Array.isArray(list) ? (list[index] ?? null) : null);
		const span = spanOf(input[axis] ?? null, at(starts), at(ends), steps === "absent" ? 1 : at(steps));
		dims[axis] = span?.length ?? null;
		const list = view.values[0];
		const row = input.length === 2 ? input[1] : 1;
		if (axis > 0 || cut.length > 1 || input.length > 2 || typeof row !== "number" || !span || !list) continue;
		// The rows of a list or of a small matrix.
		const places = Array.from({ length: span.length }, (_, place) => span.first + place * span.step);
		return { dims, value: places.flatMap((place) => list.slice(place * row, (place + 1) * row)) };
	}
	return dims;
});

function spanOf(size: OnnxDim, start: number | null, end: number | null, step: number | null) {
	if (typeof size !== "number" || start === null || end === null || !step) return null;
	// Backwards to the largest integer is nothing in ONNX, and everything in ONNX Runtime.
	if (step < 0 && end >= 2 ** 31 - 1) return null;
	const clamp = (place: number, least: number, most: number) =>
		Math.min(Math.max(place < 0 ? place + size : place, least), most);
	const first = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
	const last = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
	return { first, step, length: Math.max(0, Math.ceil((last - first) / step)) };
}

const split = onAxis(0, (input, axis, view) => {
	const parts = listOf(view, "split", 1);
	const size = input[axis];
	const count = view.node.outputs.length;
	let sizes: readonly number[] = [];
	if (typeof parts !== "string") {
		sizes = parts;
		const whole = parts.reduce((sum, part) => sum + part, 0);
		if (differ(size, whole)) return `splits axis ${axis} of ${formatDims(input)} into ${parts.join(" + ")}`;
	} else if (parts === "absent" && typeof size === "number") {
		if (view.opset < 18 && size % count !== 0)
			return `splits axis ${axis} of ${formatDims(input)} into ${count} equal parts`;
		const share = Math.ceil(size / count);
		sizes = Array.from({ length: count }, (_, index) => Math.max(0, Math.min(share, size - index * share)));
	}
	const [dims = null, ...more] = Array.from({ length: count }, (_, index) =>
		input.with(axis, sizes[index] ?? null),
	);
	return { dims, more };
});

const pad = onInput((input, view) => {
	const pads = listOf(view, "pads", 1);
	const stated = listOf(view, "axes", 3);
	if (typeof pads === "string" || stated === "unknown") return unknownOf(input.length);
	const axes =
		stated === "absent" ? [...input.keys()] : stated.map((axis) => axisIn(axis, input.length) ?? -1);
	const count = axes.length;
	if (pads.length !== 2 * count)
		return `pads ${formatDims(input)} by ${pads.length} numbers, which takes ${2 * count}`;
	const added = (place: number) => [pads[place] ?? 0, pads[place + count] ?? 0];
	const short = axes.find((axis, place) => {
		const size = input[axis];
		return typeof size === "number" && added(place).some((pad) => pad >= size);
	});
	if (short !== undefined && textAttribute(view.node, "mode") === "reflect")
		return `reflects more of axis ${short} of ${formatDims(input)} than it has`;
	return input.map((dim, axis) => {
		const [before = 0, after = 0] = added(axes.indexOf(axis));
		if (!axes.includes(axis) || before + after === 0) return dim;
		return typeof dim === "number" ? dim + before + after : null;
	});
});

const resize = onInput((input, view) => {
	const { node, values, opset } = view;
	const open = unknownOf(input.length);
	const hasPolicy = node.attributes.some(
		({ name }) => name === "axes" || name === "keep_aspect_ratio_policy",
	);
	if (hasPolicy || textAttribute(node, "coordinate_transformation_mode") === "tf_crop_and_resize")
		return open;
	if (values[3]?.length === input.length) return values[3];
	const scales = listOf(view, "scales", opset >= 11 ? 2 : 1);
	if (typeof scales === "string" || scales.length !== input.length) return open;
	return input.map((dim, axis) => scaled(dim, scales[axis] ?? null));
});

export const axisRules: OperatorRules = {
	...forEach(
		"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
		reduce,
	),
	...forEach(
		"ArgMax ArgMin",
		onAxis(0, (input, axis, view) => {
			const keeps = integerAttribute(view.node, "keepdims", 1) !== 0;
			return keeps ? input.with(axis, 1) : input.toSpliced(axis, 1);
		}),
	),
	...forEach("Resize Upsample", resize),
	Gather: gather,
	GatherElements: ({ shapes: [, dims = null] }) => dims,
	GatherND: gatherNd,
	NonZero: ({ shapes }) => [shapes[0]?.length ?? null, null],
	OneHot: onInput((input, { node, values }) => {
		const axis = integerAttribute(node, "axis", -1);
		return input.toSpliced(axis < 0 ? axis + input.length + 1 : axis, 0, values[1]?.[0] ?? null);
	}),
	Pad: pad,
	Slice: slice,
	Split: split,
	Squeeze: squeeze,
	Unsqueeze: unsqueeze,
	Tile: onInput((input, { values }) => input.map((dim, axis) => scaled(dim, values[1]?.[axis] ?? null))),
	TopK: onAxis(-1, (input, axis, { node, values }) => {
		const stated = node.inputs.length < 2 ? integerAttribute(node, "k", 0) : null;
		const dims = input.with(axis, values[1]?.[0] ?? stated);
		return { dims, more: [dims] };
	}),
	DepthToSpace: onInput(([batch = null, channels = null, ...spatial], { node }) => {
		const size = integerAttribute(node, "blocksize", 1);
		if (spatial.length !== 2) return null;
		if (typeof channels === "number" && channels % size ** 2 !== 0)
			return `takes ${channels} channels apart by blocks of ${size} × ${size}`;
		const left = typeof channels === "number" ? channels / size ** 2 : null;
		return [batch, left, ...spatial.map((dim) => scaled(dim, size))];
	}),
	SpaceToDepth: onInput(([batch = null, channels = null, ...spatial], { node }) => {
		const size = integerAttribute(node, "blocksize", 1);
		if (spatial.length !== 2) return null;
		const left = spatial.map((dim) => (typeof dim === "number" ? Math.floor(dim / size) : null));
		return [batch, scaled(channels, size ** 2), ...left];
	}),
};
