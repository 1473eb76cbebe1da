// What two graphs cost, side by side: the figures of each, and the nodes that make the difference.

import type { GraphFigures, NodeCost, NodeCostChange } from "../../../../generated/result.ts";
import { groupBy, numberRepeats } from "../../group.ts";
import { formatDims, quoteName } from "../quote.ts";
import type { CountedGraph, CountedNode } from "./counted.ts";

export function figuresOf(cost: CountedGraph): GraphFigures {
	const {
		nodes,
		multiplyAdds,
		unknownNodes,
		parameters,
		weightBytes,
		activationBytes,
		tensors,
		unknownTensors,
	} = cost;
	return {
		nodes: nodes.length,
		multiplyAdds,
		unknownNodes,
		parameters,
		weightBytes,
		activationBytes,
		tensors,
		unknownTensors,
	};
}

export function nodeName({ node }: CountedNode): string {
	return quoteName(node.name || (node.outputs[0] ?? ""), "");
}

export function nodeCost({ node, multiplyAdds, weights, output }: CountedNode): NodeCost {
	const operator = quoteName(node.domain === "" ? node.op : `${node.domain}.${node.op}`, "");
	return { operator, multiplyAdds, weights, output: output === null ? "?" : formatDims(output) };
}

function byName({ nodes }: CountedGraph): Map<string, CountedNode> {
	const costly = nodes.filter(({ multiplyAdds, weights }) => multiplyAdds !== 0 || weights > 0);
	return new Map(numberRepeats(costly, nodeName));
}

/** Nodes whose multiply-adds or weights differ, the largest difference first. A node that only has another name is none of them. */
export function changedNodes(base: CountedGraph, head: CountedGraph): NodeCostChange[] {
	const [before, after] = [byName(base), byName(head)];
	const changed = [...after].flatMap(([key, node]): NodeCostChange[] => {
		const old = before.get(key);
		return old === undefined || isSame(old, node)
			? []
			: [{ node: nodeName(node), base: nodeCost(old), head: nodeCost(node) }];
	});
	const [gone, added] = withoutRenamed(
		[...before].flatMap(([key, node]) => (after.has(key) ? [] : [node])),
		[...after].flatMap(([key, node]) => (before.has(key) ? [] : [node])),
	);
	const all = [
		...changed,
		...gone.map((node): NodeCostChange => ({ node: nodeName(node), base: nodeCost(node), head: null })),
		...added.map((node): NodeCostChange => ({ node: nodeName(node), base: null, head: nodeCost(node) })),
	];
	return all.sort(
		(one, other) =>
			differenceOf(other, "multiplyAdds") - differenceOf(one, "multiplyAdds") ||
			differenceOf(other, "weights") - differenceOf(one, "weights"),
	);
}

function isSame(one: CountedNode, other: CountedNode): boolean {
	return one.multiplyAdds === other.multiplyAdds && one.weights === other.weights;
}

/** An exporter may give every node another name: those that cost the same, in the same order, are the same. */
function withoutRenamed(
	gone: readonly CountedNode[],
	added: readonly CountedNode[],
): [CountedNode[], CountedNode[]] {
	const costOf = (node: CountedNode): string => JSON.stringify(nodeCost(node));
	const left = groupBy(added, costOf);
	const removed = gone.filter((node) => left.get(costOf(node))?.shift() === undefined);
	const remaining = new Set([...left.values()].flat());
	return [removed, added.filter((node) => remaining.has(node))];
}

function differenceOf({ base, head }: NodeCostChange, figure: "multiplyAdds" | "weights"): number {
	return Math.abs((head?.[figure] ?? 0) - (base?.[figure] ?? 0));
}

interface CostOf {
	path: string;
	shapes: Readonly<Record<string, readonly number[]>>;
	cost: CountedGraph;
}

export interface ComparedCosts {
	head: CostOf;
	base: CostOf | null;
}

export type CostFacts = ReturnType<typeof costFacts>;

export function costFacts({ head, base }: ComparedCosts) {
	return {
		head: factsOf(head),
		...(base === null ? {} : { base: factsOf(base), changes: changedNodes(base.cost, head.cost) }),
	};
}

function factsOf({ path, shapes, cost }: CostOf) {
	const costly = cost.nodes.filter(({ multiplyAdds, weights }) => multiplyAdds !== 0 || weights > 0);
	return {
		path,
		shapes,
		figures: figuresOf(cost),
		operators: operatorsOf(costly),
		nodes: costly.map((node) => ({ node: nodeName(node), ...nodeCost(node), why: node.why })),
	};
}

function operatorsOf(nodes: readonly CountedNode[]) {
	const groups = [...groupBy(nodes, (node) => nodeCost(node).operator)].map(([operator, own]) => ({
		operator,
		nodes: own.length,
		multiplyAdds: own.reduce((sum, { multiplyAdds }) => sum + (multiplyAdds ?? 0), 0),
		weights: own.reduce((sum, { weights }) => sum + weights, 0),
		unknown: own.filter(({ multiplyAdds }) => multiplyAdds === null).length,
	}));
	return groups.sort((one, other) => other.multiplyAdds - one.multiplyAdds || other.weights - one.weights);
}
