// Checks the graph as a whole: outputs and cycles.
import type { Finding } from "../../schema/result.ts";
import type { OnnxGraph } from "../model.ts";
import type { Scope } from "../walk.ts";
import { finding, nodeIn, type Rule } from "./subject.ts";

export const graphOutputs: Rule = ({ model }) =>
	model.onnx.graph.outputs.length > 0
		? []
		: [
				finding("graph-no-outputs", {
					severity: "error",
					message: "The graph has no outputs: nothing can be computed or compared.",
					fix: "Export the model with at least one output.",
				}),
			];

export const cycles: Rule = ({ scopes }) => scopes.flatMap(cycleIn);

/** Nodes may stand in any order, so only a node that waits for itself is at fault (Kahn's algorithm). */
function cycleIn(scope: Scope): Finding[] {
	const needs = needsByNode(scope);
	const left = nodesInCycles(needs);
	const first = left.values().next().value;
	if (first === undefined) return [];
	const node = scope.nodes[onCycle(first, needs, left)];
	if (node === undefined) return [];
	return [
		finding("graph-cycle", {
			severity: "error",
			message: `${nodeIn(node, scope)} waits for its own output: the graph has a cycle.`,
			fix: "Export the model again; a tool that edited the graph may have joined the wrong tensors.",
			node,
		}),
	];
}

function needsByNode(scope: Scope): number[][] {
	const producer = new Map<string, number>();
	for (const [index, node] of scope.nodes.entries()) for (const name of node.outputs) if (name !== "") producer.set(name, index);
	const captured = new Map<number, string[]>();
	for (const { nodeIndex, graph } of scope.subgraphs) captured.set(nodeIndex, [...(captured.get(nodeIndex) ?? []), ...outerNames(graph)]);
	return scope.nodes.map((node, index) => {
		const producers = [...node.inputs, ...(captured.get(index) ?? [])].map((name) => producer.get(name));
		return [...new Set(producers.filter((at) => at !== undefined))];
	});
}

/** What a subgraph reads from around it: everything that it does not give itself. */
function outerNames(graph: OnnxGraph): string[] {
	const own = new Set([...graph.inputs, ...graph.initializers].map((value) => value.name));
	for (const node of graph.nodes) for (const name of node.outputs) own.add(name);
	const read = [...graph.nodes.flatMap((node) => node.inputs), ...graph.outputs.map((value) => value.name)];
	for (const inner of graph.subgraphs) read.push(...outerNames(inner.graph));
	return read.filter((name) => name !== "" && !own.has(name));
}

/** The nodes on cycles and behind them. */
function nodesInCycles(needs: readonly (readonly number[])[]): Set<number> {
	const users: number[][] = needs.map(() => []);
	for (const [index, from] of needs.entries()) for (const at of from) users[at]?.push(index);
	const waits = needs.map((from) => from.length);
	const ready = waits.flatMap((count, index) => (count === 0 ? [index] : []));
	const left = new Set(needs.keys());
	for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
		left.delete(index);
		for (const user of users[index] ?? []) {
			waits[user] = (waits[user] ?? 0) - 1;
			if (waits[user] === 0) ready.push(user);
		}
	}
	return left;
}

/** Walks back from a node that waits until a node comes again: that one is on the cycle. */
function onCycle(start: number, needs: readonly (readonly number[])[], left: ReadonlySet<number>): number {
	const seen = new Set<number>();
	let at = start;
	while (!seen.has(at)) {
		seen.add(at);
		at = needs[at]?.find((from) => left.has(from)) ?? at;
	}
	return at;
}
