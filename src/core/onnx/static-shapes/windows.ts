// Output sizes of sliding windows: convolutions and pooling.
import type { OnnxDim, OnnxNode } from "../model.ts";
import { type Dims, integerAttribute, integersAttribute, type OperatorRule, textAttribute, untold } from "./operator.ts";

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

/** Of a transposed convolution. */
export function spread(node: OnnxNode, input: Dims, kernel: Dims): Dims {
	const stated = integersAttribute(node, "output_shape");
	const added = integersAttribute(node, "output_padding");
	return input.map((size, axis) => {
		const window = windowAt(node, axis, input.length);
		const taps = kernel[axis];
		if (stated !== null || typeof size !== "number" || typeof taps !== "number" || window === null || window.padding === "same")
			return null;
		return window.stride * (size - 1) + (added?.[axis] ?? 0) + window.dilation * (taps - 1) + 1 - window.padding;
	});
}

interface Window {
	stride: number;
	dilation: number;
	/** Of both sides. */
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

/** Pooling keeps batch and channels. */
export const pool: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	const kernel = integersAttribute(node, "kernel_shape");
	if (!input) return untold;
	const spatial = kernel === null ? input.slice(2).map((): OnnxDim => null) : slid(node, input.slice(2), kernel);
	const dims = [...input.slice(0, 2), ...spatial];
	return { dims, more: [dims] };
};
