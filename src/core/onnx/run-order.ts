// The order in which nodes can run. A file may have them in any order: converters to fp16 put the Cast of an input last.
import type { OnnxGraph, OnnxNode } from "./model.ts";
import type { Scope } from "./walk.ts";

export function producersOf(scope: Scope): number[][] {
	const producer = new Map<string, number>();
	for (const [index, node] of scope.nodes.entries())
		for (const name of node.outputs) if (name !== "") producer.set(name, index);
	return readsOf(scope).map((names) =>
		names.map((name) => producer.get(name)).filter((at) => at !== undefined),
	);
}

export function readsOf(scope: Scope): string[][] {
	const reads = scope.nodes.map((node) => [...node.inputs]);
	for (const { nodeIndex, graph } of scope.subgraphs)
		for (const name of outerNames(graph)) reads[nodeIndex]?.push(name);
	return reads;
}

function outerNames(graph: OnnxGraph): string[] {
	const own = new Set([...graph.inputs, ...graph.initializers].map((value) => value.name));
	for (const node of graph.nodes) for (const name of node.outputs) own.add(name);
	const read = [...graph.nodes.flatMap((node) => node.inputs), ...graph.outputs.map((value) => value.name)];
	for (const inner of graph.subgraphs) for (const name of outerNames(inner.graph)) read.push(name);
	return read.filter((name) => name !== "" && !own.has(name));
}

/** Without the nodes on cycles and behind them (Kahn's algorithm). */
export function runnable(producers: readonly (readonly number[])[]): number[] {
	// Most exporters write nodes in order already.
	if (producers.every((from, index) => from.every((at) => at < index))) return [...producers.keys()];
	const users: number[][] = producers.map(() => []);
	for (const [index, from] of producers.entries()) for (const at of from) users[at]?.push(index);
	const waits = producers.map((from) => from.length);
	const ready = waits.flatMap((count, index) => (count === 0 ? [index] : []));
	for (const index of ready) {
		for (const user of users[index] ?? []) {
			waits[user] = (waits[user] ?? 0) - 1;
			if (waits[user] === 0) ready.push(user);
		}
	}
	return ready;
}

const orders = new WeakMap<Scope, readonly OnnxNode[]>();

export function nodesInRunOrder(scope: Scope): readonly OnnxNode[] {
	const known = orders.get(scope);
	if (known !== undefined) return known;
	const order = new Set(runnable(producersOf(scope)));
	for (const index of scope.nodes.keys()) order.add(index);
	const nodes = [...order].flatMap((index) => scope.nodes[index] ?? []);
	orders.set(scope, nodes);
	return nodes;
}
