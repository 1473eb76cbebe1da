// Compares what two graphs cost: the figures of each, and the nodes that make the difference.
import type { GraphFigures, NodeCostChange } from "../../../../generated/result.ts";
import { groupBy, numberRepeats } from "../../group.ts";
import { formatDims, quoteName } from "../../text/escape.ts";
import type { CountedGraph, CountedNode } from "./control-flow.ts";

export function figuresOf({ nodes, ...figures }: CountedGraph): GraphFigures {
	return { nodes: nodes.length, ...figures };
}

function nodeName({ node }: CountedNode) {
	return quoteName(node.name || (node.outputs[0] ?? ""), "");
}

function nodeCost({ node, multiplyAdds, weights, output }: CountedNode) {
	const operator = quoteName(node.domain === "" ? node.op : `${node.domain}.${node.op}`, "");
	return { operator, multiplyAdds, weights, output: output === null ? "?" : formatDims(output) };
}

function isCostly({ multiplyAdds, weights }: CountedNode) {
	return multiplyAdds !== 0 || weights > 0;
}

export function changedNodes(base: CountedGraph, head: CountedGraph): NodeCostChange[] {
	const [before, after] = [base, head].map(
		({ nodes }) => new Map(numberRepeats(nodes.filter(isCostly), nodeName)),
	) as [Map<string, CountedNode>, Map<string, CountedNode>];
	const both = [...after].flatMap(([key, node]) => {
		const old = before.get(key);
		const isSame = old?.multiplyAdds === node.multiplyAdds && old.weights === node.weights;
		return old === undefined || isSame
			? []
			: [{ node: nodeName(node), base: nodeCost(old), head: nodeCost(node) }];
	});
	// An exporter may rename every node: nodes with equal costs in the same order are the same.
	const costOf = (node: CountedNode) => JSON.stringify(nodeCost(node));
	const added = groupBy(
		[...after].flatMap(([key, node]) => (before.has(key) ? [] : [node])),
		costOf,
	);
	const gone = [...before].flatMap(([key, node]) =>
		after.has(key) || added.get(costOf(node))?.shift() !== undefined ? [] : [node],
	);
	const all: NodeCostChange[] = [
		...both,
		...gone.map((node) => ({ node: nodeName(node), base: nodeCost(node), head: null })),
		...[...added.values()].flat().map((node) => ({ node: nodeName(node), base: null, head: nodeCost(node) })),
	];
	const by = (figure: "multiplyAdds" | "weights", one: NodeCostChange, other: NodeCostChange) => {
		const [first = 0, second = 0] = [one, other].map(({ base: old, head: own }) =>
			Math.abs((own?.[figure] ?? 0) - (old?.[figure] ?? 0)),
		);
		return second - first;
	};
	return all.sort((one, other) => by("multiplyAdds", one, other) || by("weights", one, other));
}

interface CostOf {
	path: string;
	shapes: Readonly<Record<string, readonly number[]>>;
	cost: CountedGraph;
}

export type CostFacts = ReturnType<typeof costFacts>;

export function costFacts({ head, base }: { head: CostOf; base: CostOf | null }) {
	return {
		head: factsOf(head),
		...(base && { base: factsOf(base), changes: changedNodes(base.cost, head.cost) }),
	};
}

function factsOf({ path, shapes, cost }: CostOf) {
	const costly = cost.nodes.filter(isCostly);
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
