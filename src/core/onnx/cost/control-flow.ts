// Costs of If, Loop and Scan: those of the bodies, as often as they run; and calls of functions, replaced by their bodies.
import type {
	OnnxAttribute,
	OnnxDim,
	OnnxFunction,
	OnnxGraph,
	OnnxModel,
	OnnxNode,
	OnnxSubgraph,
} from "../model.ts";
import type { Known } from "../static-shapes/infer.ts";
import {
	type Dims,
	integerAttribute,
	integersAttribute,
	type OperatorView,
	type Outputs,
} from "../static-shapes/operator.ts";
import { operatorKey, type Scope } from "../walk.ts";

export interface CountedNode {
	node: OnnxNode;
	multiplyAdds: number | null;
	why?: string;
	weights: number;
	output: Dims | null;
}

export interface CountedGraph {
	multiplyAdds: number;
	parameters: number;
	weightBytes: number;
	activationBytes: number;
	nodes: readonly CountedNode[];
	unknownNodes: number;
	tensors: number;
	unknownTensors: number;
}

export interface CountedBody {
	nodes: readonly CountedNode[];
	outputs: readonly (Dims | null)[];
	firstOutput: Dims | null;
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export interface InputSizes {
	shapes: Readonly<Record<string, readonly number[]>>;
	values?: Readonly<Record<string, number>>;
}

export function leastOf({ nodes }: Pick<CountedBody, "nodes">): number {
	return nodes.reduce((sum, { multiplyAdds }) => sum + (multiplyAdds ?? 0), 0);
}

export interface Control extends Pick<CountedBody, "nodes" | "peakBytes" | "tensors" | "unknownTensors"> {
	result: Outputs;
}

interface Bodies {
	scopes: ReadonlyMap<string, Scope>;
	known: Known;
	walk(scope: Scope, known: Known): CountedBody;
}

type Shapes = readonly (Dims | null)[];

function unknownAt(node: OnnxNode, why: string) {
	return { node, multiplyAdds: null, why, weights: 0, output: null };
}

function resultOf([dims = null, ...more]: Shapes) {
	return { dims, more };
}

function either({ node, values }: OperatorView, { scopes, known, walk }: Bodies) {
	const branches = ["then_branch", "else_branch"].flatMap((name) => scopes.get(name) ?? []);
	const condition = values[0]?.[0];
	const ran = branches
		.filter((_, at) => typeof condition !== "number" || at === (condition === 0 ? 1 : 0))
		.map((scope) => walk(scope, known));
	const [least, other] = ran.sort((one, two) => leastOf(one) - leastOf(two));
	if (least === undefined) return null;
	if (other === undefined) return { ...least, result: resultOf(least.outputs) };
	const [one, two] = [least, other].map((branch) => {
		const isOpen = branch.nodes.some(({ multiplyAdds }) => multiplyAdds === null);
		return `${isOpen ? "at least " : ""}${leastOf(branch)}`;
	});
	const why = `depends on data which branch runs: ${one} or ${two} multiply-adds`;
	return {
		...least,
		peakBytes: Math.min(least.peakBytes, other.peakBytes),
		unknownTensors: least.unknownTensors + (least.peakBytes === other.peakBytes ? 0 : 1),
		nodes: [...least.nodes, ...(one === two ? [] : [unknownAt(node, why)])],
		result: resultOf(common(least.outputs, other.outputs)),
	};
}

function common(left: Shapes, right: Shapes) {
	return left.map((one, at) => {
		const other = right[at] ?? null;
		if (one === null || other === null || one.length !== other.length) return null;
		return one.map((dim, axis) => (dim === other[axis] ? dim : null));
	});
}

function bind(known: Known, names: readonly string[], to: { shapes: Shapes; values?: Shapes }) {
	const bound: Known = { shapes: new Map(known.shapes), values: new Map(known.values) };
	for (const [at, name] of names.entries()) {
		for (const kind of ["shapes", "values"] as const) {
			const dims = to[kind]?.[at];
			if (dims) bound[kind].set(name, dims);
			else bound[kind].delete(name);
		}
	}
	return bound;
}

function repeated(node: OnnxNode, body: CountedBody, count: number | null) {
	if (count !== null)
		return body.nodes.map((each) => ({
			...each,
			multiplyAdds: each.multiplyAdds === null ? null : each.multiplyAdds * count,
		}));
	const each = leastOf(body);
	const isFree = body.nodes.every(({ multiplyAdds }) => multiplyAdds === 0);
	const why = `depends on data how often its body runs, each time with ${each} multiply-adds`;
	return isFree ? [] : [unknownAt(node, why)];
}

/** Inputs: most iterations, first condition, carried values. Outputs: carried values, then a row of each iteration. */
function loop({ node, shapes, values }: OperatorView, { scopes, known, walk }: Bodies) {
	const scope = scopes.get("body");
	if (scope === undefined) return null;
	const start = shapes.slice(2);
	const condition = node.inputs[1] ? values[1]?.[0] : 1;
	const first = {
		shapes: [[], [], ...start],
		values: [null, typeof condition === "number" ? [condition] : null],
	};
	let body = walk(scope, bind(known, scope.inputs, first));
	const carried = common(start, body.outputs.slice(1));
	// A shape that an iteration changes may differ in the next one too.
	if (carried.some((shape, at) => shape?.join() !== start[at]?.join()))
		body = walk(scope, bind(known, scope.inputs, { ...first, shapes: [[], [], ...carried] }));
	const most = values[0]?.[0];
	const goesOn = condition === 1 && body.firstOutput?.[0] === 1;
	const count = typeof most === "number" && goesOn ? most : null;
	const rows = body.outputs.slice(start.length + 1).map((shape) => shape && [count, ...shape]);
	return { ...body, nodes: repeated(node, body, count), result: resultOf([...carried, ...rows]) };
}

/** Inputs: states, then tensors that are read slice by slice. Outputs: states, then stacked slices. */
function scan({ node, shapes, opset }: OperatorView, { scopes, known, walk }: Bodies) {
	const scope = scopes.get("body");
	if (scope === undefined || opset < 9) return null;
	const states = shapes.length - integerAttribute(node, "num_scan_inputs", 0);
	const axisOf = (attribute: string, at: number, rank: number) =>
		((integersAttribute(node, attribute)?.[at] ?? 0) + rank) % rank;
	let count: OnnxDim = null;
	const slices = shapes.slice(states).map((shape, at) => {
		if (!shape) return null;
		const axis = axisOf("scan_input_axes", at, shape.length);
		if (typeof shape[axis] === "number") count = shape[axis];
		return shape.toSpliced(axis, 1);
	});
	const body = walk(scope, bind(known, scope.inputs, { shapes: [...shapes.slice(0, states), ...slices] }));
	const stacked = body.outputs
		.slice(states)
		.map((shape, at) => shape?.toSpliced(axisOf("scan_output_axes", at, shape.length + 1), 0, count) ?? null);
	const result = resultOf([...body.outputs.slice(0, states), ...stacked]);
	return { ...body, nodes: repeated(node, body, count), result };
}

const controls = new Map([
	["If", { cost: either, firstOutput: 0 }],
	["Loop", { cost: loop, firstOutput: 1 }],
	["Scan", { cost: scan, firstOutput: 0 }],
]);

function controlOf({ domain, op }: OnnxNode) {
	return domain === "" ? controls.get(op) : undefined;
}

export function typesOfControl<Type>(node: OnnxNode, body: readonly Type[]): readonly Type[] {
	const control = controlOf(node);
	return control === undefined ? [] : body.slice(control.firstOutput);
}

export function controlCost(view: OperatorView, bodies: Bodies): Control | null {
	return controlOf(view.node)?.cost(view, bodies) ?? null;
}

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

function inlineBody({ nodes, subgraphs }: Body, inlining: Inlining, within: readonly OnnxFunction[]) {
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

function bodyOf(called: OnnxFunction, caller: OnnxNode, call: number) {
	const names = new Map<string, string>([["", ""]]);
	for (const [at, name] of called.inputs.entries()) names.set(name, caller.inputs[at] ?? "");
	for (const [at, name] of called.outputs.entries())
		if (caller.outputs[at]) names.set(name, caller.outputs[at]);
	return renamed(called, {
		nameOf: (name) => names.get(name) ?? `${name}\n${call}`,
		given: caller.attributes,
		prefix: caller.name,
	});
}

interface Renaming {
	nameOf(name: string): string;
	given: readonly OnnxAttribute[];
	prefix: string;
}

function renamed({ nodes, subgraphs }: Body, renaming: Renaming) {
	const { nameOf, given, prefix } = renaming;
	return {
		nodes: nodes.map((node) => ({
			...node,
			name: `${prefix}/${node.name || node.op}`,
			inputs: node.inputs.map(nameOf),
			outputs: node.outputs.map(nameOf),
			attributes: node.attributes.flatMap((attribute) => {
				if (attribute.reference === undefined) return [attribute];
				const value = given.find(({ name }) => name === attribute.reference);
				return value === undefined ? [] : [{ ...value, name: attribute.name }];
			}),
		})),
		subgraphs: subgraphs.map((inner) => ({ ...inner, graph: renamedGraph(inner.graph, renaming) })),
	};
}

function renamedGraph(graph: OnnxGraph, renaming: Renaming): OnnxGraph {
	const rename = <Named extends { name: string }>(list: readonly Named[]): Named[] =>
		list.map((each) => ({ ...each, name: renaming.nameOf(each.name) }));
	return {
		...graph,
		...renamed(graph, renaming),
		inputs: rename(graph.inputs),
		outputs: rename(graph.outputs),
		initializers: rename(graph.initializers),
	};
}
