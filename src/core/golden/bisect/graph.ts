// What the search for the first tensor that strays needs of two models' graphs: tensors of both, and what each is computed of.

import type { OnnxDType, OnnxGraph, OnnxModel, OnnxNode } from "../../onnx/model.ts";
import { factsOf, findFixed } from "../../onnx/rounding/constants.ts";

export interface BisectGraph {
	nodes: readonly OnnxNode[];
	/** Index of the node that writes each tensor; constants, and what is computed of shapes, are left out. */
	writers: ReadonlyMap<string, number>;
	/** What each node reads, also inside its bodies; inputs of the model and constants are left out. */
	reads: readonly (readonly string[])[];
	/** Float tensors that both models compute, by name. */
	comparable: ReadonlyMap<string, OnnxDType>;
}

const floats: ReadonlySet<OnnxDType> = new Set(["float", "float16", "bfloat16", "double"]);

export function bisectGraph(head: OnnxModel, reference: OnnxModel): BisectGraph {
	const [own, other] = [floatTensors(head), reference === head ? null : floatTensors(reference)];
	const { nodes } = head.graph;
	const writers = new Map(
		nodes.flatMap(({ outputs }, at) => outputs.flatMap((name) => (own.fixed.has(name) ? [] : [[name, at] as const]))),
	);
	const reads = nodes.map((node, at) => {
		const inner = head.graph.subgraphs.filter(({ nodeIndex }) => nodeIndex === at).flatMap(({ graph }) => readInside(graph));
		return [...new Set([...node.inputs, ...inner])].filter((name) => writers.has(name));
	});
	const shared = [...own.types].filter(([name]) => writers.has(name) && (other === null || other.types.has(name)));
	return { nodes, writers, reads, comparable: new Map(shared) };
}

function readInside({ nodes, subgraphs }: OnnxGraph): string[] {
	return [...nodes.flatMap(({ inputs }) => inputs), ...subgraphs.flatMap(({ graph }) => readInside(graph))];
}

function floatTensors(model: OnnxModel): { types: ReadonlyMap<string, OnnxDType>; fixed: ReadonlySet<string> } {
	const { subject } = factsOf(model);
	const [graph] = subject.scopes;
	if (graph === undefined) return { types: new Map(), fixed: new Set() };
	const { fixed } = findFixed(graph, null);
	const written = new Set(model.graph.nodes.flatMap(({ outputs }) => outputs));
	const types = [...(subject.types.get(graph) ?? [])].filter(([name, type]) => written.has(name) && floats.has(type) && !fixed.has(name));
	return { types: new Map(types), fixed };
}
