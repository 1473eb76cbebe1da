// Shapes of operators that remove, add, slice, resize or index axes.
import type { OnnxDim } from "../model.ts";
import { formatDims } from "../quote.ts";
import {
	axisIn,
	type Dims,
	differ,
	forEach,
	integerAttribute,
	listOf,
	numbers,
	type OperatorResult,
	type OperatorRules,
	type OperatorView,
	onInput,
	onTwo,
	textAttribute,
	unknownOf,
	untold,
} from "./operator.ts";
import { slice } from "./slice.ts";

function axesIn(axes: readonly number[], rank: number): Set<number> | null {
	const found = axes.map((axis) => axisIn(axis, rank));
	return found.every((axis) => axis !== null) ? new Set(found as number[]) : null;
}

const reduce = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	const keeps = integerAttribute(view.node, "keepdims", 1) !== 0;
	if (axes === "unknown") return { dims: keeps ? unknownOf(input.length) : null };
	const isEmpty = axes === "absent" || axes.length === 0;
	if (isEmpty && integerAttribute(view.node, "noop_with_empty_axes", 0) !== 0) return { dims: input };
	const wanted = isEmpty ? [...input.keys()] : axes;
	const reduced = axesIn(wanted, input.length);
	if (reduced === null) return { fault: `reduces axes ${wanted.join(", ")} of ${formatDims(input)}` };
	return { dims: input.flatMap((dim, axis): Dims => (!reduced.has(axis) ? [dim] : keeps ? [1] : [])) };
});

function statedAxis(input: Dims, { node }: OperatorView, fallback: number): number | null {
	return axisIn(integerAttribute(node, "axis", fallback), input.length);
}

function sameElements({ values: [value] }: OperatorView, dims: Dims): OperatorResult {
	return value && dims.length <= 1 ? { dims, value } : { dims };
}

const squeeze = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	if (axes === "unknown") return untold;
	if (axes === "absent") {
		if (numbers(input) === null) return untold;
		return sameElements(
			view,
			input.filter((dim) => dim !== 1),
		);
	}
	const gone = axesIn(axes, input.length);
	if (gone === null || [...gone].some((axis) => differ(input[axis], 1)))
		return {
			fault: `takes axes ${axes.join(", ")} out of ${formatDims(input)}, which are not all of size 1`,
		};
	return sameElements(
		view,
		input.filter((_, axis) => !gone.has(axis)),
	);
});

const unsqueeze = onInput((input, view) => {
	const axes = listOf(view, "axes", 1);
	if (typeof axes === "string") return untold;
	const rank = input.length + axes.length;
	const added = axesIn(axes, rank);
	if (added === null || added.size !== axes.length)
		return { fault: `adds axes ${axes.join(", ")} to ${formatDims(input)}` };
	const rest = input.values();
	const dims = Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (rest.next().value ?? null)));
	return sameElements(view, dims);
});

const gather = onTwo((data, indices, view) => {
	const axis = statedAxis(data, view, 0);
	if (axis === null)
		return { fault: `gathers along axis ${integerAttribute(view.node, "axis", 0)} of ${formatDims(data)}` };
	const dims = [...data.slice(0, axis), ...indices, ...data.slice(axis + 1)];
	const list = view.values[0];
	const picks = numbers(view.values[1]);
	if (!list || picks === null || data.length !== 1 || indices.length > 1) return { dims };
	return { dims, value: picks.map((pick) => list.at(pick) ?? null) };
});

const gatherNd = onTwo((data, indices, { node }) => {
	const reach = indices.at(-1);
	if (typeof reach !== "number") return untold;
	return { dims: [...indices.slice(0, -1), ...data.slice(integerAttribute(node, "batch_dims", 0) + reach)] };
});

const split = onInput((input, view) => {
	const axis = statedAxis(input, view, 0);
	if (axis === null) return untold;
	const parts = listOf(view, "split", 1);
	const size = input[axis];
	const count = view.node.outputs.length;
	let sizes: readonly number[] = [];
	if (typeof parts !== "string") {
		sizes = parts;
		if (
			differ(
				size,
				parts.reduce((sum, part) => sum + part, 0),
			)
		)
			return { fault: `splits axis ${axis} of ${formatDims(input)} into ${parts.join(" + ")}` };
	} else if (parts === "absent" && typeof size === "number") {
		const share = Math.ceil(size / count);
		sizes = Array.from({ length: count }, (_, index) => Math.max(0, Math.min(share, size - index * share)));
	}
	const [dims = null, ...more] = Array.from({ length: count }, (_, index) =>
		input.with(axis, sizes[index] ?? null),
	);
	return { dims, more };
});

/** A scale is binary32, and so is the product that is rounded down. */
function scaled(dim: OnnxDim, by: OnnxDim): OnnxDim {
	if (by === 1) return dim;
	if (typeof dim !== "number" || typeof by !== "number") return null;
	return Number.isInteger(by) ? dim * by : Math.floor(Math.fround(dim * by));
}

const pad = onInput((input, view) => {
	const pads = listOf(view, "pads", 1);
	const axes = listOf(view, "axes", 3);
	if (typeof pads === "string" || axes === "unknown") return { dims: unknownOf(input.length) };
	const padded = axes === "absent" ? [...input.keys()] : axes.map((axis) => axisIn(axis, input.length));
	const count = padded.length;
	if (pads.length !== 2 * count)
		return { fault: `pads ${formatDims(input)} by ${pads.length} numbers, which takes ${2 * count}` };
	const added = (place: number): number[] => [pads[place] ?? 0, pads[place + count] ?? 0];
	// A reflection leaves out the edge itself.
	const short = padded.find((axis, place) => {
		const size = input[axis ?? -1];
		return typeof size === "number" && added(place).some((pad) => pad >= size);
	});
	if (short !== undefined && textAttribute(view.node, "mode") === "reflect")
		return { fault: `reflects more of axis ${short} of ${formatDims(input)} than it has` };
	return {
		dims: input.map((dim, axis) => {
			const place = padded.indexOf(axis);
			const sum = place < 0 ? 0 : added(place).reduce((total, pad) => total + pad, 0);
			return sum === 0 ? dim : typeof dim === "number" ? dim + sum : null;
		}),
	};
});

const resize = onInput((input, view) => {
	const { node, values, opset } = view;
	const open = { dims: unknownOf(input.length) };
	const hasPolicy = node.attributes.some(
		({ name }) => name === "axes" || name === "keep_aspect_ratio_policy",
	);
	if (hasPolicy || textAttribute(node, "coordinate_transformation_mode") === "tf_crop_and_resize")
		return open;
	if (values[3]?.length === input.length) return { dims: values[3] };
	const scales = listOf(view, "scales", opset >= 11 ? 2 : 1);
	if (typeof scales === "string" || scales.length !== input.length) return open;
	return { dims: input.map((dim, axis) => scaled(dim, scales[axis] ?? null)) };
});

export const axisRules: OperatorRules = {
	...forEach(
		"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
		reduce,
	),
	...forEach(
		"ArgMax ArgMin",
		onInput((input, view) => {
			const axis = statedAxis(input, view, 0);
			if (axis === null) return untold;
			const keeps = integerAttribute(view.node, "keepdims", 1) !== 0;
			return { dims: keeps ? input.with(axis, 1) : input.toSpliced(axis, 1) };
		}),
	),
	...forEach("Resize Upsample", resize),
	Gather: gather,
	GatherElements: ({ shapes }) => ({ dims: shapes[1] ?? null }),
	GatherND: gatherNd,
	Pad: pad,
	Slice: slice,
	Split: split,
	Squeeze: squeeze,
	Unsqueeze: unsqueeze,
	Tile: onInput((input, { values }) => ({
		dims: input.map((dim, axis) => scaled(dim, values[1]?.[axis] ?? null)),
	})),
	TopK: onInput((input, view) => {
		const axis = statedAxis(input, view, -1);
		if (axis === null) return untold;
		const { node, values } = view;
		const stated = node.inputs.length < 2 ? integerAttribute(node, "k", 0) : null;
		const dims = input.with(axis, values[1]?.[0] ?? stated);
		return { dims, more: [dims] };
	}),
	DepthToSpace: onInput(([batch = null, channels = null, ...spatial], { node }) => {
		const size = integerAttribute(node, "blocksize", 1);
		if (spatial.length !== 2) return untold;
		if (typeof channels === "number" && channels % size ** 2 !== 0)
			return { fault: `takes ${channels} channels apart by blocks of ${size} × ${size}` };
		const left = typeof channels === "number" ? channels / size ** 2 : null;
		return { dims: [batch, left, ...spatial.map((dim) => scaled(dim, size))] };
	}),
	SpaceToDepth: onInput(([batch = null, channels = null, ...spatial], { node }) => {
		const size = integerAttribute(node, "blocksize", 1);
		if (spatial.length !== 2) return untold;
		const left = spatial.map((dim) => (typeof dim === "number" ? Math.floor(dim / size) : null));
		return { dims: [batch, scaled(channels, size ** 2), ...left] };
	}),
};
