// Walks the graph, its subgraphs and functions, and orders their nodes.

import { quoteName } from "../text/escape.ts";
import {
	type AddedOutput,
	feeds,
	type GraphEdit,
	type KeptNode,
	type OnnxGraph,
	type OnnxInitializer,
	type OnnxModel,
	type OnnxNode,
	type OnnxSubgraph,
	type OnnxValue,
} from "./model.ts";

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

/** The graph first, each body before those inside it. */
export function scopesOf(model: OnnxModel): [Scope, ...Scope[]] {
	const { opsets } = model;
	const graph = graphScope(model.graph, { where: "the graph", kind: "graph", opsets, outer: null });
	const scopes: [Scope, ...Scope[]] = [graph];
	addInner(scopes, graph);
	for (const { domain, name, opsets: own, ...body } of model.functions) {
		const scope: Scope = {
			...body,
			where: `function ${quoteName(domain === "" ? name : `${domain}.${name}`)}`,
			kind: "function",
			declared: [],
			initializers: [],
			opsets: Object.keys(own).length === 0 ? opsets : own,
			outer: null,
		};
		scopes.push(scope);
		addInner(scopes, scope);
	}
	return scopes;
}

function addInner(scopes: Scope[], outer: Scope) {
	for (const { attribute, nodeIndex, graph } of outer.subgraphs) {
		const where = `subgraph ${quoteName(attribute)} of ${nodeLabel(outer.nodes[nodeIndex])}`;
		const scope = graphScope(graph, { where, kind: "subgraph", opsets: outer.opsets, outer });
		scopes.push(scope);
		addInner(scopes, scope);
	}
}

function graphScope(graph: OnnxGraph, rest: Pick<Scope, "where" | "kind" | "opsets" | "outer">) {
	const { initializers, nodes, subgraphs } = graph;
	const names = (values: readonly OnnxValue[]) => values.map((value) => value.name);
	const inputs = names(graph.inputs);
	const outputs = names(graph.outputs);
	return { ...rest, inputs, outputs, declared: graph.inputs, initializers, nodes, subgraphs };
}

export function foundIn<Value>(
	byScope: ReadonlyMap<Scope, Pick<ReadonlyMap<string, Value>, "get">>,
	scope: Scope,
	name: string | undefined,
): Value | null {
	if (name === undefined || name === "") return null;
	for (let at: Scope | null = scope; at !== null; at = at.outer) {
		const found = byScope.get(at)?.get(name);
		if (found !== undefined) return found;
	}
	return null;
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
	const op = quoteName(node.domain === "" ? node.op : `${node.domain}.${node.op}`, "");
	if (node.name !== "") return `${op} ${quoteName(node.name)}`;
	return `${op} (unnamed, output ${quoteName(node.outputs[0] ?? "")})`;
}

export function operatorKey({ domain, op }: Pick<OnnxNode, "domain" | "op">): string {
	return `${domain}\n${op}`;
}

export function localOperators({ functions }: OnnxModel): ReadonlySet<string> {
	return new Set(functions.map(({ domain, name }) => operatorKey({ domain, op: name })));
}

export function tensorsOf(scopes: readonly Scope[]): OnnxInitializer[] {
	return scopes.flatMap(({ initializers, nodes }) => [
		...initializers,
		...nodes.flatMap((node) => node.attributes.flatMap(({ tensor }) => tensor ?? [])),
	]);
}

export type Constants = ReadonlyMap<Scope, ReadonlyMap<string, OnnxInitializer>>;

export function constantsIn(scopes: readonly Scope[]): Constants {
	const found = scopes.map((scope): [Scope, Map<string, OnnxInitializer>] => {
		const nodes = scope.nodes.filter(({ op, domain }) => op === "Constant" && domain === "");
		const tensors = [...scope.initializers, ...nodes.flatMap(constantOf)];
		return [scope, new Map(tensors.map((tensor) => [tensor.name, tensor]))];
	});
	return new Map(found);
}

/** Constant holds its value as a tensor, or since opset 12 as numbers. */
function constantOf({ outputs: [name], attributes: [attribute] }: OnnxNode): OnnxInitializer[] {
	if (name === undefined || attribute === undefined) return [];
	if (attribute.tensor !== undefined) return [{ ...attribute.tensor, name }];
	const { value } = attribute;
	const values = [value].flat().filter((entry) => typeof entry === "number");
	if (values.length === 0) return [];
	const dtype = attribute.name.startsWith("value_int") ? "int64" : "float";
	const dims = typeof value === "number" ? [] : [values.length];
	return [{ name, dtype, dims, bytes: 0, storage: "typed", values }];
}

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

function outerNames(graph: OnnxGraph) {
	const own = new Set([...graph.inputs, ...graph.initializers].map((value) => value.name));
	for (const node of graph.nodes) for (const name of node.outputs) own.add(name);
	const read = [...graph.nodes.flatMap((node) => node.inputs), ...graph.outputs.map((value) => value.name)];
	for (const inner of graph.subgraphs) for (const name of outerNames(inner.graph)) read.push(name);
	return read.filter((name) => name !== "" && !own.has(name));
}

/** Without the nodes on cycles and behind them (Kahn's algorithm). */
export function runnable(producers: readonly (readonly number[])[]): number[] {
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

/** All inputs stay, so that the same values can be fed; weights that nothing reads go. */
export function cutAt(model: OnnxModel, output: AddedOutput): GraphEdit & { nodes: KeptNode[] } {
	const [scope] = scopesOf(model);
	const producers = producersOf(scope);
	const reads = readsOf(scope);
	const kept = new Set(scope.nodes.flatMap(({ outputs }, at) => (outputs.includes(output.name) ? [at] : [])));
	for (const at of kept) for (const from of producers[at] ?? []) kept.add(from);
	const nodes = [...kept].sort((a, b) => a - b);
	const tensors = nodes.flatMap((at) => [...(reads[at] ?? []), ...(scope.nodes[at]?.outputs ?? [])]);
	const inputs = feeds(model.graph).map(({ name }) => name);
	return {
		nodes: nodes.map((at) => ({ kept: at })),
		keptTensors: new Set([...inputs, ...tensors]),
		addedOutputs: [output],
	};
}
