// Finds how many entries the table has that an integer input looks up, as token ids do in an embedding.
import type { OnnxModel, OnnxNode } from "../../../onnx/model.ts";
import type { Vocabulary } from "./generate.ts";

/** Operators that hand the ids on unchanged. */
const passing: ReadonlySet<string> = new Set(["Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"]);

/** The smallest table that the input reaches by Gather; undefined where it reaches none. */
export function vocabularyOf(model: OnnxModel, input: string): Vocabulary {
	const { nodes, initializers } = model.graph;
	const tables = new Map(initializers.map((weight) => [weight.name, weight.dims]));
	const names = new Set([input]);
	let smallest: number | undefined;
	// Nodes of an ONNX graph stand in the order in which they can run, so that one pass follows every path.
	for (const node of nodes) {
		const [first = "", second = ""] = node.inputs;
		if (passing.has(node.op) && names.has(first)) for (const output of node.outputs) names.add(output);
		const dims = node.op === "Gather" && names.has(second) ? tables.get(first) : undefined;
		const size = dims?.[axisOf(node, dims.length)];
		if (size !== undefined && size > 0) smallest = Math.min(smallest ?? size, size);
	}
	return smallest;
}

function axisOf(node: OnnxNode, rank: number): number {
	const value = node.attributes.find((attribute) => attribute.name === "axis")?.value;
	const axis = typeof value === "number" ? value : 0;
	return axis < 0 ? axis + rank : axis;
}
