// Checks inputs and outputs: what can be fed and compared, and whether every axis gets a size.
import type { Finding } from "../../../../generated/result.ts";
import { isSmall } from "../../../golden/core/tensor/small-numbers.ts";
import { groupBy } from "../../group.ts";
import { toDType } from "../element-type.ts";
import { type AxisLabel, labelAxes, shapeGivenFor } from "../input-shapes/open-axes.ts";
import { feeds, isTensor, notTensorFix, notTensorText, type OnnxDType, type OnnxValue } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { hasType, type TensorRt } from "../tensorrt/support.ts";
import { finding, type PreflightContext, type Rule, type Subject } from "./subject.ts";

export const inputsAndOutputs: Rule = (subject) => {
	const { graph } = subject.model.onnx;
	return [
		...feeds(graph).flatMap((value) => border("Input", value, subject)),
		...graph.outputs.flatMap((value) => border("Output", value, subject)),
	];
};

function border(role: "Input" | "Output", value: OnnxValue, { model, tensorrt }: Subject): Finding[] {
	const name = `${role} ${quoteName(value.name)}`;
	if (!isTensor(value)) {
		const fix = notTensorFix(model.onnx.graph);
		return [finding("io-not-tensor", `${name} is ${notTensorText(value)}.`, { fix })];
	}
	if (value.kind === "unknown" || value.dtype === "undefined")
		return role === "Output" ? [] : [finding("io-dtype", `${name} has no element type.`)];
	if (isCarried(value.dtype, tensorrt)) return [];
	const where = tensorrt?.name ?? "ONNX Runtime";
	return [
		finding("io-dtype", `${name} is ${value.dtype}, which can be neither fed nor compared on ${where}.`),
	];
}

/** ONNX Runtime 1.30 in Node refuses bfloat16 and smaller floats at the border when it loads the model (tried). */
function isCarried(dtype: OnnxDType, tensorrt: TensorRt | null): boolean {
	if (tensorrt !== null) return hasType(tensorrt.at, dtype, "border");
	const carried = toDType(dtype);
	return carried !== null && carried !== "bfloat16" && !isSmall(carried);
}

export const dimsUnbound: Rule = ({ model, context: { dims, shapes = {} }, tensorrt }) => {
	if (tensorrt === null || dims === undefined) return [];
	const inputs = feeds(model.onnx.graph);
	const isOpen = (label: AxisLabel) =>
		typeof label !== "number" && !(label.isNamed && Object.hasOwn(dims, label.name));
	return labelAxes(inputs).flatMap((labels, index) => {
		const input = inputs[index];
		if (input?.kind !== "tensor" || shapeGivenFor(input.name, shapes) !== undefined) return [];
		const open = labels?.filter(isOpen);
		return open?.length === 0 ? [] : [unbound(input, open ?? [])];
	});
};

function unbound(input: OnnxValue, open: readonly AxisLabel[]): Finding {
	const shape = input.dims === null ? "no shape at all" : `the shape ${formatDims(input.dims)}`;
	const names = open.flatMap((label) =>
		typeof label !== "number" && label.isNamed ? [quoteName(label.name)] : [],
	);
	const lack = names.length === 0 ? "none" : `no size for ${names.join(", ")}`;
	const message = `Input ${quoteName(input.name)} has ${shape}, and the configuration gives ${lack}: TensorRT would build for size 1.`;
	const fix =
		names.length > 0 && names.length === open.length
			? "Give min, opt and max in trtgate.yml under `dims`."
			: `Give its shape in trtgate.yml: \`inputs: { ${quoteName(input.name, "")}: { shape: […] } }\`.`;
	return finding("dims-unbound", message, { fix });
}

/** TensorRT 10.6 refuses to build otherwise: "Input dimensions with this name have different constant values or have contradictory … constraints". */
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
