// Finds the part of a graph that no input reaches: engines compute it once, while they are built.
import type { OnnxNode } from "../model.ts";
import type { Scope } from "../walk.ts";

/** These give something else each time. */
const random = new Set(["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"]);
/** What these give depends on shapes alone, which are known before any value is computed. */
const ofShapes = new Set(["Shape", "Size"]);
const quantising = new Set(["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"]);

export interface FixedTensors {
	/** Initialisers, and what is computed of nothing else. */
	constants: ReadonlySet<string>;
	/** Constants and what is computed of shapes: sizes, scales, lengths. Engines compute them beside the network, in full precision. */
	fixed: ReadonlySet<string>;
	/** Among the fixed ones, what comes out of a DequantizeLinear: it stands for integers. */
	dequantised: ReadonlySet<string>;
}

/** Of one body of nodes, and of those around it. */
export function findFixed(scope: Scope, outer: FixedTensors | null): FixedTensors {
	const constants = new Set([...(outer?.constants ?? []), ...scope.initializers.map(({ name }) => name)]);
	const fixed = new Set([...(outer?.fixed ?? []), ...constants]);
	const dequantised = new Set(outer?.dequantised);
	const withBodies = new Set(scope.subgraphs.map(({ nodeIndex }) => nodeIndex));
	for (const [index, node] of scope.nodes.entries()) {
		if (withBodies.has(index) || random.has(node.op)) continue;
		if (isComputedOf(node, constants)) addAll(constants, node.outputs);
		if (!isComputedOf(node, fixed) && !ofShapes.has(node.op)) continue;
		addAll(fixed, node.outputs);
		if (quantising.has(node.op) || dequantised.has(node.inputs[0] ?? "")) addAll(dequantised, node.outputs);
	}
	return { constants, fixed, dequantised };
}

function addAll(to: Set<string>, names: readonly string[]): void {
	for (const name of names) to.add(name);
}

function isComputedOf({ op, inputs }: OnnxNode, known: ReadonlySet<string>): boolean {
	const read = inputs.filter((name) => name !== "");
	return read.length > 0 ? read.every((name) => known.has(name)) : op === "Constant";
}
