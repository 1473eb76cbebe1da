// Walks every body of nodes in a model: the graph, the subgraphs inside it, and the functions that it defines.
import type { OnnxGraph, OnnxInitializer, OnnxModel, OnnxNode, OnnxSubgraph, OnnxValue } from "./model.ts";
import { quoteName } from "./quote.ts";

export interface Scope {
	/** For people, e.g. `the graph`, `subgraph then_branch of If "gate"`, `function com.acme.Gelu`. */
	where: string;
	kind: "graph" | "subgraph" | "function";
	inputs: readonly string[];
	outputs: readonly string[];
	declared: readonly OnnxValue[];
	initializers: readonly OnnxInitializer[];
	nodes: readonly OnnxNode[];
	subgraphs: readonly OnnxSubgraph[];
	opsets: Readonly<Record<string, number>>;
	outer: Scope | null;
}

export function scopesOf(model: OnnxModel): Scope[] {
	const scopes: Scope[] = [];
	addScope(
		scopes,
		graphScope(model.graph, { where: "the graph", kind: "graph", opsets: model.opsets, outer: null }),
	);
	for (const { domain, name, inputs, outputs, nodes, subgraphs, opsets } of model.functions) {
		const where = `function ${quoteName(domain === "" ? name : `${domain}.${name}`)}`;
		const own = Object.keys(opsets).length === 0 ? model.opsets : opsets;
		addScope(scopes, {
			where,
			kind: "function",
			inputs,
			outputs,
			declared: [],
			initializers: [],
			nodes,
			subgraphs,
			opsets: own,
			outer: null,
		});
	}
	return scopes;
}

function addScope(scopes: Scope[], scope: Scope): void {
	scopes.push(scope);
	for (const { attribute, nodeIndex, graph } of scope.subgraphs) {
		const where = `subgraph ${quoteName(attribute)} of ${nodeLabel(scope.nodes[nodeIndex])}`;
		addScope(scopes, graphScope(graph, { where, kind: "subgraph", opsets: scope.opsets, outer: scope }));
	}
}

function graphScope(graph: OnnxGraph, rest: Pick<Scope, "where" | "kind" | "opsets" | "outer">): Scope {
	const { initializers, nodes, subgraphs } = graph;
	const names = (values: OnnxGraph["inputs"]): string[] => values.map((value) => value.name);
	return {
		...rest,
		inputs: names(graph.inputs),
		outputs: names(graph.outputs),
		declared: graph.inputs,
		initializers,
		nodes,
		subgraphs,
	};
}

export function readNames(scopes: readonly Scope[]): ReadonlyMap<Scope, ReadonlySet<string>> {
	const read = new Map<Scope, Set<string>>(scopes.map((scope) => [scope, new Set()]));
	for (const scope of scopes) {
		for (const name of [...scope.outputs, ...scope.nodes.flatMap((node) => node.inputs)])
			for (let at: Scope | null = scope; at !== null; at = at.outer) read.get(at)?.add(name);
	}
	return read;
}

export function nodeLabel(node: OnnxNode | undefined): string {
	if (node === undefined) return "a node";
	const op = node.domain === "" ? node.op : `${node.domain}.${node.op}`;
	if (node.name !== "") return `${quoteName(op, "")} ${quoteName(node.name)}`;
	return `${quoteName(op, "")} (unnamed, output ${quoteName(node.outputs[0] ?? "")})`;
}

export function tensorsOf(scopes: readonly Scope[]): OnnxInitializer[] {
	return scopes.flatMap((scope) => [
		...scope.initializers,
		...scope.nodes.flatMap((node) =>
			node.attributes.flatMap((attribute) => (attribute.tensor ? [attribute.tensor] : [])),
		),
	]);
}

// Tensors with known values or dims by name: initialisers and outputs of Constant nodes.

export type Constants = ReadonlyMap<Scope, ReadonlyMap<string, OnnxInitializer>>;

export function constantsIn(scopes: readonly Scope[]): Constants {
	return new Map(scopes.map((scope) => [scope, constantsOf(scope)]));
}

export function constantNamed(
	constants: Constants,
	scope: Scope,
	name: string | undefined,
): OnnxInitializer | null {
	if (name === undefined || name === "") return null;
	for (let at: Scope | null = scope; at !== null; at = at.outer) {
		const found = constants.get(at)?.get(name);
		if (found !== undefined) return found;
	}
	return null;
}

function constantsOf(scope: Scope): Map<string, OnnxInitializer> {
	const constants = new Map(scope.initializers.map((weight) => [weight.name, weight]));
	for (const node of scope.nodes) {
		const name = node.outputs[0];
		if (node.op !== "Constant" || node.domain !== "" || name === undefined) continue;
		const tensor = constantTensor(node, name);
		if (tensor !== null) constants.set(name, tensor);
	}
	return constants;
}

/** Constant holds its value as a tensor, or since opset 12 as numbers. */
function constantTensor(node: OnnxNode, name: string): OnnxInitializer | null {
	const attribute = node.attributes[0];
	if (attribute?.tensor !== undefined) return { ...attribute.tensor, name };
	const value = attribute?.value;
	const dtype = attribute?.name.startsWith("value_int") ? "int64" : "float";
	if (typeof value === "number")
		return { name, dtype, dims: [], bytes: 0, storage: "typed", values: [value] };
	const numbers = Array.isArray(value) ? value.filter((entry) => typeof entry === "number") : [];
	return numbers.length === 0
		? null
		: { name, dtype, dims: [numbers.length], bytes: 0, storage: "typed", values: numbers };
}
