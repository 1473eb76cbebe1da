// Replaces calls of functions that a model defines by their bodies.
import type { OnnxAttribute, OnnxFunction, OnnxGraph, OnnxModel, OnnxNode, OnnxSubgraph } from "../model.ts";
import { operatorKey } from "../walk.ts";

/** A few small functions that call each other can stand for any number of nodes. */
const maxNodes = 200_000;

type Body = Pick<OnnxGraph, "nodes" | "subgraphs">;

interface Inlining {
	functions: ReadonlyMap<string, OnnxFunction>;
	left: number;
	calls: number;
}

export function inlineFunctions(model: OnnxModel): OnnxModel {
	if (model.functions.length === 0) return model;
	const functions = new Map(model.functions.map((each) => [operatorKey({ ...each, op: each.name }), each]));
	const inlining: Inlining = { functions, left: maxNodes, calls: 0 };
	return { ...model, functions: [], graph: { ...model.graph, ...inlineBody(model.graph, inlining, []) } };
}

function inlineBody({ nodes, subgraphs }: Body, inlining: Inlining, within: readonly OnnxFunction[]): Body {
	const result: { nodes: OnnxNode[]; subgraphs: OnnxSubgraph[] } = { nodes: [], subgraphs: [] };
	for (const [index, node] of nodes.entries()) {
		const called = inlining.functions.get(operatorKey(node));
		const own = subgraphs.filter(({ nodeIndex }) => nodeIndex === index);
		if (called === undefined || within.includes(called) || called.nodes.length > inlining.left) {
			const nodeIndex = result.nodes.push(node) - 1;
			for (const inner of own)
				result.subgraphs.push({
					...inner,
					nodeIndex,
					graph: { ...inner.graph, ...inlineBody(inner.graph, inlining, within) },
				});
			continue;
		}
		inlining.left -= called.nodes.length;
		const body = inlineBody(bodyOf(called, node, ++inlining.calls), inlining, [...within, called]);
		for (const inner of body.subgraphs)
			result.subgraphs.push({ ...inner, nodeIndex: inner.nodeIndex + result.nodes.length });
		for (const each of body.nodes) result.nodes.push(each);
	}
	return result;
}

function bodyOf(called: OnnxFunction, caller: OnnxNode, call: number): Body {
	const names = new Map<string, string>([["", ""]]);
	for (const [at, name] of called.inputs.entries()) names.set(name, caller.inputs[at] ?? "");
	for (const [at, name] of called.outputs.entries())
		if (caller.outputs[at]) names.set(name, caller.outputs[at]);
	return renamed(called, {
		nameOf: (name) => names.get(name) ?? `${name}\n${call}`,
		given: new Map(caller.attributes.map((attribute) => [attribute.name, attribute])),
		prefix: caller.name,
	});
}

interface Renaming {
	nameOf(name: string): string;
	given: ReadonlyMap<string, OnnxAttribute>;
	prefix: string;
}

function renamed({ nodes, subgraphs }: Body, renaming: Renaming): Body {
	const { nameOf, given, prefix } = renaming;
	return {
		nodes: nodes.map((node) => ({
			...node,
			name: `${prefix}/${node.name || node.op}`,
			inputs: node.inputs.map(nameOf),
			outputs: node.outputs.map(nameOf),
			attributes: node.attributes.flatMap((attribute) => {
				if (attribute.reference === undefined) return [attribute];
				const value = given.get(attribute.reference);
				return value === undefined ? [] : [{ ...value, name: attribute.name }];
			}),
		})),
		subgraphs: subgraphs.map((inner) => ({ ...inner, graph: renamedGraph(inner.graph, renaming) })),
	};
}

function renamedGraph(graph: OnnxGraph, renaming: Renaming): OnnxGraph {
	const rename = <Named extends { name: string }>(list: readonly Named[]): Named[] =>
		list.map((each) => ({ ...each, name: renaming.nameOf(each.name) }));
	const { inputs, outputs, initializers } = graph;
	return {
		...graph,
		...renamed(graph, renaming),
		inputs: rename(inputs),
		outputs: rename(outputs),
		initializers: rename(initializers),
	};
}
