// Judges the shapes that are certain from the file: ones that contradict each other, and ones that no device holds.
import type { Finding } from "../../schema/result.ts";
import { formatBytes } from "../../units.ts";
import { tensorBytes } from "../element-type.ts";
import type { OnnxDType } from "../model.ts";
import { quoteName } from "../quote.ts";
import { formatDims } from "../shapes.ts";
import { inferShapes, type StaticShapes } from "../static-shapes/infer.ts";
import { elementsOf } from "../static-shapes/operator.ts";
import { nodeLabel } from "../walk.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

/** TensorRT's limit of a tensor's elements, and about what one GPU holds in float16. */
const mostElements = 2 ** 31 - 1;

export const staticShapes: Rule = (subject) => {
	const [graph] = subject.scopes;
	if (graph === undefined) return [];
	const inferred = inferShapes(subject.model.onnx, graph, subject.constants.get(graph) ?? new Map());
	return [...mismatches(inferred), ...tooBig(subject, inferred)];
};

function mismatches({ faults }: StaticShapes): Finding[] {
	return faults.map(({ node, what }) =>
		finding("shape-mismatch", {
			severity: "error",
			message: `${nodeLabel(node)} ${what}.`,
			fix: "Export the model again; a layer was changed without the one that follows it.",
			node,
		}),
	);
}

/** Only the first tensor of a chain is named: all behind it are as large. */
function tooBig({ model }: Subject, { shapes }: StaticShapes): Finding[] {
	const { graph } = model.onnx;
	const weights = new Set(graph.initializers.map((weight) => weight.name));
	for (const [name, dims] of shapes) {
		const elements = elementsOf(dims);
		if (elements === null || elements <= mostElements || weights.has(name)) continue;
		const node = graph.nodes.find((each) => each.outputs.includes(name));
		const by = node === undefined ? "" : ` of ${nodeLabel(node)}`;
		const size = formatBytes(tensorBytes(floatUnlessTold(graph.inputs, name), elements) ?? 0);
		const message = `Tensor ${quoteName(name)}${by} has the shape ${formatDims(dims)}: ${elements} elements, ${size} as float, more than a tensor may have (2^31 - 1).`;
		const fix = "Check the constant that gives this shape.";
		return [finding("tensor-too-big", { severity: "warning", message, fix, ...(node && { node }) })];
	}
	return [];
}

function floatUnlessTold(values: readonly { name: string; dtype: OnnxDType }[], name: string): OnnxDType {
	return values.find((value) => value.name === name)?.dtype ?? "float";
}
