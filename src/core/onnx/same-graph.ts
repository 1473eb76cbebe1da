// Tells whether two models are the same network: same nodes, same wiring, weights of the same types and sizes.
import type { OnnxGraph, OnnxInitializer, OnnxModel } from "./model.ts";

type Network = Pick<OnnxModel, "graph" | "functions">;

/** Ignores weight values, node names and metadata, so that a retrained network counts as the same. */
export function isSameGraph(left: Network, right: Network): boolean {
	const text = ({ graph, functions }: Network): string => describe(graph) + JSON.stringify(functions);
	return left.graph.nodes.length === right.graph.nodes.length && text(left) === text(right);
}

function describe(graph: OnnxGraph): string {
	const weight = ({ name, dtype, dims }: OnnxInitializer) => [name, dtype, dims];
	const byName = (one: OnnxInitializer, other: OnnxInitializer): number => (one.name < other.name ? -1 : 1);
	return JSON.stringify([
		graph.inputs,
		graph.outputs,
		[...graph.initializers].sort(byName).map(weight),
		graph.nodes.map(({ domain, op, inputs, outputs, attributes }) => [
			domain,
			op,
			inputs,
			outputs,
			attributes.map(({ name, value, tensor }) => [
				name,
				value,
				tensor === undefined ? null : weight(tensor),
			]),
		]),
		graph.subgraphs.map((inner) => describe(inner.graph)),
	]);
}
