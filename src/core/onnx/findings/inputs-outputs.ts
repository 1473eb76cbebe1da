// Checks the graph's inputs and outputs: what can be fed and compared, and whether every dynamic input gets a size.

import type { Finding } from "../../../../generated/result.ts";
import { isSmall } from "../../golden/tensor/small-numbers.ts";
import { groupBy } from "../../group.ts";
import { listNames } from "../../text/labels.ts";
import { toDType } from "../element-type.ts";
import { type AxisLabel, labelAxes, openAxes, shapeGivenFor } from "../input-shapes/open-axes.ts";
import { feeds, type OnnxDType, type OnnxGraph, type OnnxValue } from "../model.ts";
import { isTensor, notTensorFix, notTensorText } from "../not-tensor.ts";
import { formatDims, quoteName } from "../quote.ts";
import { hasType, type TensorRt } from "../tensorrt/support.ts";
import { finding, type PreflightContext, type Rule } from "./subject.ts";

export const inputsAndOutputs: Rule = ({ model, tensorrt, context }) => {
	const { graph } = model.onnx;
	const labels = labelAxes(feeds(graph));
	const inputs = feeds(graph).flatMap((value, index) => [
		...border("Input", value, { graph, tensorrt }),
		...(isReportedElsewhere(value, tensorrt, context) ? [] : dynamic(value, labels[index] ?? null)),
		...shapeTensor(value, tensorrt),
	]);
	return [...inputs, ...graph.outputs.flatMap((value) => border("Output", value, { graph, tensorrt }))];
};

function border(
	role: "Input" | "Output",
	value: OnnxValue,
	{ graph, tensorrt }: { graph: OnnxGraph; tensorrt: TensorRt | null },
): Finding[] {
	const name = `${role} ${quoteName(value.name)}`;
	if (value.kind === "unknown") return role === "Input" ? [finding("io-dtype", `${name} has no type.`)] : [];
	if (!isTensor(value))
		return [finding("io-not-tensor", `${name} is ${notTensorText(value)}.`, { fix: notTensorFix(graph) })];
	if (value.dtype === "undefined")
		return role === "Input" ? [finding("io-dtype", `${name} has no element type.`)] : [];
	return isCarried(value.dtype, tensorrt)
		? []
		: [
				finding(
					"io-dtype",
					`${name} is ${value.dtype}, which can be neither fed nor compared on ${tensorrt?.name ?? "ONNX Runtime"}.`,
				),
			];
}

/** ONNX Runtime 1.30 in Node refuses bfloat16 and smaller floats at the border when it loads the model (tried). */
function isCarried(dtype: OnnxDType, tensorrt: TensorRt | null): boolean {
	if (tensorrt !== null) return hasType(tensorrt.at, dtype, "border");
	const carried = toDType(dtype);
	return carried !== null && carried !== "bfloat16" && !isSmall(carried);
}

/** An input with a shape in the configuration needs no note; one without is an error of `dims-unbound` on TensorRT. */
function isReportedElsewhere(
	value: OnnxValue,
	tensorrt: TensorRt | null,
	{ dims, shapes = {} }: PreflightContext,
): boolean {
	return shapeGivenFor(value.name, shapes) !== undefined || (tensorrt !== null && dims !== undefined);
}

function dynamic(value: OnnxValue, labels: readonly AxisLabel[] | null): Finding[] {
	if (value.kind !== "tensor") return [];
	if (labels?.every((label) => typeof label === "number" || label.isNamed)) return [];
	const what =
		value.dims === null ? "has no shape" : `has an unnamed dynamic dimension: ${formatDims(value.dims)}`;
	return [
		finding("io-dynamic", `Input ${quoteName(value.name)} ${what}.`, {
			fix: `Give its shape in trtgate.yml under inputs.${quoteName(value.name, "")}.shape, or export with named dimensions.`,
		}),
	];
}

/** Whether such an input steers shapes is decided by TensorRT; it then needs values, not sizes, in the profile. */
function shapeTensor(value: OnnxValue, tensorrt: TensorRt | null): Finding[] {
	const isInteger = value.dtype === "int32" || value.dtype === "int64";
	if (tensorrt === null || !isInteger || value.dims === null || value.dims.length > 1) return [];
	return [
		finding(
			"io-shape-tensor",
			`Input ${quoteName(value.name)} (${value.dtype} ${formatDims(value.dims)}) may be a shape tensor, whose values TensorRT's profile must know.`,
		),
	];
}

export const dimsUnbound: Rule = ({ model, context, tensorrt }) => {
	if (tensorrt === null) return [];
	const { dims, shapes = {} } = context;
	const inputs = feeds(model.onnx.graph);
	const labels = labelAxes(inputs);
	const named = openAxes(inputs, labels).filter(({ isNamed }) => isNamed);
	if (dims === undefined) return toBind(named.map(({ name }) => name));
	const isBound = (label: AxisLabel): boolean =>
		typeof label === "number" || (label.isNamed && Object.hasOwn(dims, label.name));
	return inputs.flatMap((input, index) => {
		const open = labels[index]?.filter((label) => !isBound(label)) ?? [null];
		return shapeGivenFor(input.name, shapes) !== undefined || input.kind !== "tensor" || open.length === 0
			? []
			: [unbound(input, open)];
	});
};

/**
 * In TensorRT, axes with the same name must have the same size, even if the name is a placeholder such as `?`. TensorRT 10.6
 * refuses to build otherwise: "Input dimensions with this name have different constant values or have contradictory … constraints".
 */
export const dimsConflict: Rule = ({ model, context: { dims = {}, shapes = {} }, tensorrt }) => {
	if (tensorrt === null) return [];
	const inputs = feeds(model.onnx.graph);
	const labels = labelAxes(inputs, shapes);
	const uses = inputs.flatMap(({ name: input, dims: axes }, index) =>
		(axes ?? []).flatMap((name, axis) => {
			const size = typeof name === "string" && name !== "" ? sizeOf(labels[index]?.[axis], dims) : undefined;
			return size === undefined
				? []
				: [{ name: String(name), size, where: `axis ${axis} of ${quoteName(input)}` }];
		}),
	);
	return [...groupBy(uses, ({ name }) => name)].flatMap(([name, [first, ...rest]]) => {
		const other = rest.find(({ size }) => size !== first?.size);
		if (first === undefined || other === undefined) return [];
		const message = `${quoteName(name)} is the name of ${first.where} (${first.size}) and ${other.where} (${other.size}); in TensorRT, axes with the same name must have the same size.`;
		return [finding("dims-conflict", message)];
	});
};

function sizeOf(
	label: AxisLabel | undefined,
	dims: NonNullable<PreflightContext["dims"]>,
): string | undefined {
	if (label === undefined || typeof label === "number") return label?.toString();
	const range = Object.hasOwn(dims, label.name) ? dims[label.name] : undefined;
	return range && (range.min === range.max ? `${range.min}` : `${range.min} to ${range.max}`);
}

function toBind(names: readonly string[]): Finding[] {
	if (names.length === 0) return [];
	const quoted = names.map((name) => quoteName(name));
	const message = `TensorRT needs sizes for ${listNames(quoted, 10)}; without them trtexec builds for size 1.`;
	return [
		finding("dims-unbound", message, {
			severity: "note",
			fix: "Give min, opt and max in trtgate.yml under `dims`.",
		}),
	];
}

/** @param open the axes without a size; null for an input of which no shape is known. */
function unbound(input: OnnxValue, open: readonly (AxisLabel | null)[]): Finding {
	const shape = input.dims === null ? "no shape at all" : `the shape ${formatDims(input.dims)}`;
	const names = open.flatMap((label) =>
		label !== null && typeof label !== "number" && label.isNamed ? [quoteName(label.name)] : [],
	);
	const says =
		names.length === 0
			? "and the configuration gives none"
			: `and the configuration gives no size for ${names.join(", ")}`;
	const message = `Input ${quoteName(input.name)} has ${shape}, ${says}: TensorRT would build for size 1.`;
	const byShape = `\`inputs: { ${quoteName(input.name, "")}: { shape: […] } }\``;
	const fix =
		names.length === open.length
			? "Give min, opt and max in trtgate.yml under `dims`."
			: `Give its shape in trtgate.yml: ${byShape}.`;
	return finding("dims-unbound", message, { fix });
}
