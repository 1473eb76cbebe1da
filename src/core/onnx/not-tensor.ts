// Inputs and outputs that are not tensors: sequences, maps, optional values. They can be neither fed nor compared here.
import type { OnnxGraph, OnnxValue } from "./model.ts";

export function notTensorText({ kind }: OnnxValue): string {
	return `${kind === "optional" ? "an" : "a"} ${kind}, not a tensor: it can be neither fed nor compared`;
}

/** scikit-learn's exports end in a ZipMap unless told otherwise. */
export function notTensorFix({ nodes }: OnnxGraph): string {
	const hint = nodes.some(({ op }) => op === "ZipMap")
		? "; skl2onnx and onnxmltools do so with the option zipmap=False"
		: "";
	return `Export the model with tensors as inputs and outputs${hint}.`;
}

export function isTensor({ kind }: OnnxValue): boolean {
	return kind === "tensor" || kind === "unknown";
}
