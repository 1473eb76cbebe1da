// Counts what a graph costs at given sizes: multiply-adds, parameters, and bytes of weights and live tensors.
import type { FilledInput } from "../../timed-inputs.ts";
import { type OnnxModel, type OnnxNode, tensorBytes } from "../model.ts";
import { inferShapes, type Known } from "../static-shapes/infer.ts";
import { type Dims, elementsOf, type OperatorView } from "../static-shapes/operator.ts";
import { inferTypes, type TypesByScope, typeIn } from "../static-shapes/types.ts";
import {
	type Constants,
	constantsIn,
	foundIn,
	nodesInRunOrder,
	readsOf,
	type Scope,
	scopesOf,
	tensorsOf,
} from "../walk.ts";
import {
	type Control,
	type CountedGraph,
	controlCost,
	type InputSizes,
	inlineFunctions,
	leastOf,
	typesOfControl,
} from "./control-flow.ts";
import { operatorOf, typeOfOther } from "./operators.ts";

export function sizesOf(inputs: readonly (FilledInput & { name: string })[]): InputSizes {
	const numbers = inputs.flatMap(({ name, fill }) =>
		typeof fill === "number" ? [[name, fill] as const] : [],
	);
	return {
		shapes: Object.fromEntries(inputs.map(({ name, shape }) => [name, shape])),
		values: Object.fromEntries(numbers),
	};
}

interface Context {
	model: OnnxModel;
	bodies: ReadonlyMap<OnnxNode, ReadonlyMap<string, Scope>>;
	constants: Constants;
	types: TypesByScope;
}

export function costsOf(original: OnnxModel): (sizes: InputSizes) => CountedGraph {
	const model = inlineFunctions(original);
	const scopes = scopesOf(model);
	const [graph] = scopes;
	const constants = constantsIn(scopes);
	const bodies = bodiesIn(scopes);
	const types = inferTypes(model, scopes, {
		constants,
		others: (node, given, typesOf) => {
			const [body] = bodies.get(node)?.values() ?? [];
			return body === undefined ? [typeOfOther(node, given)] : typesOfControl(node, typesOf(body));
		},
	});
	const weights = weightsOf(original);
	return (sizes) => {
		const start = startOf(model, sizes);
		const body = walkBody(graph, start, { model, bodies, constants, types });
		const { nodes, peakBytes: activationBytes, tensors, unknownTensors } = body;
		const unknownNodes = nodes.filter(({ multiplyAdds }) => multiplyAdds === null).length;
		const multiplyAdds = leastOf(body);
		return { nodes, multiplyAdds, unknownNodes, ...weights, activationBytes, tensors, unknownTensors };
	};
}

function bodiesIn(scopes: readonly Scope[]) {
	const byNodes = new Map(scopes.map((scope) => [scope.nodes, scope]));
	const found = new Map<OnnxNode, Map<string, Scope>>();
	for (const { nodes, subgraphs } of scopes) {
		for (const { attribute, nodeIndex, graph } of subgraphs) {
			const [node, body] = [nodes[nodeIndex], byNodes.get(graph.nodes)];
			if (node !== undefined && body !== undefined)
				found.set(node, (found.get(node) ?? new Map()).set(attribute, body));
		}
	}
	return found;
}

function weightsOf(model: OnnxModel) {
	let [parameters, weightBytes] = [0, 0];
	for (const { dtype, dims, bytes, sparse } of tensorsOf(scopesOf(model))) {
		const elements = elementsOf(dims) ?? 0;
		parameters += elements;
		weightBytes += sparse === true ? bytes : (tensorBytes(dtype, elements) ?? bytes);
	}
	return { parameters, weightBytes };
}

function startOf({ graph }: OnnxModel, { shapes, values = {} }: InputSizes) {
	const known: Known = { shapes: new Map(), values: new Map() };
	for (const { name, dims } of graph.inputs) {
		const shape = Object.hasOwn(shapes, name) ? (shapes[name] ?? null) : dims;
		if (shape !== null) known.shapes.set(name, shape);
		const value = Object.hasOwn(values, name) ? values[name] : undefined;
		if (value !== undefined && shape?.every((size) => size === 1)) known.values.set(name, [value]);
	}
	return known;
}

function walkBody(scope: Scope, start: Known, context: Context) {
	const { model, constants, types, bodies } = context;
	const controls = new Map<OnnxNode, Control>();
	const others = (view: OperatorView, known: Known) => {
		const inner = bodies.get(view.node);
		if (inner === undefined) return operatorOf(view.node).shape?.(view);
		if (depthOf(scope) > maxDepth) return undefined;
		const walk = (body: Scope, at: Known) => walkBody(body, at, context);
		const control = controlCost(view, { scopes: inner, known, walk });
		if (control !== null) controls.set(view.node, control);
		return control?.result;
	};
	const { shapes, values } = inferShapes(model, scope, { constants, types, start, others });
	const shapeOf = (name: string) => shapes.get(name) ?? null;
	const weightsOfNode = weightReader(scope, constants);
	const nodes = nodesInRunOrder(scope).flatMap((node) => {
		const weights = weightsOfNode(node);
		const costs = bodies.has(node) ? () => NaN : operatorOf(node).multiplyAdds;
		return controls.get(node)?.nodes ?? [costOfNode(node, { shapeOf, weights, costs })];
	});
	const bytesOf = (name: string) => {
		const type = typeIn(types, scope, name);
		const elements = elementsOf(shapes.get(name) ?? [null]);
		const bytes = elements === null || type === null ? null : tensorBytes(type, elements);
		return bytes !== null && Number.isSafeInteger(bytes) ? bytes : null;
	};
	const innerBytes = (node: OnnxNode) => {
		const peakBytes = controls.get(node)?.peakBytes ?? 0;
		// A branch computes the outputs of the If.
		const own = node.op === "If" ? node.outputs.reduce((sum, name) => sum + (bytesOf(name) ?? 0), 0) : 0;
		return Math.max(0, peakBytes - own);
	};
	const isConstant = (name: string) => constants.get(scope)?.has(name) === true;
	const live = peakOf(scope, { bytesOf, isConstant, innerBytes });
	const within = [...controls.values()];
	return {
		nodes,
		outputs: scope.outputs.map(shapeOf),
		firstOutput: values.get(scope.outputs[0] ?? "") ?? null,
		peakBytes: live.peakBytes,
		tensors: within.reduce((sum, { tensors }) => sum + tensors, live.tensors),
		unknownTensors: within.reduce((sum, { unknownTensors }) => sum + unknownTensors, live.unknownTensors),
	};
}

/** The body of a Loop may be walked twice, and so each Loop inside it. */
const maxDepth = 8;

function depthOf({ outer }: Scope): number {
	return outer === null ? 0 : depthOf(outer) + 1;
}

const carrying = new Set(
	"Cast DequantizeLinear Identity QuantizeLinear Reshape Squeeze Transpose Unsqueeze".split(" "),
);

function weightReader(scope: Scope, constants: Constants): (node: OnnxNode) => number {
	const carried = new Map<string, number>();
	const elementsIn = (name: string) =>
		carried.get(name) ?? elementsOf(foundIn(constants, scope, name)?.dims ?? [0]) ?? 0;
	return (node) => {
		const [own = 0, ...others] = node.inputs.map(elementsIn);
		if (!carrying.has(node.op) || own === 0) return others.reduce((sum, elements) => sum + elements, own);
		carried.set(node.outputs[0] ?? "", own);
		return 0;
	};
}

interface NodeFacts {
	shapeOf(name: string): Dims | null;
	weights: number;
	costs: ReturnType<typeof operatorOf>["multiplyAdds"];
}

function costOfNode(node: OnnxNode, { shapeOf, weights, costs }: NodeFacts) {
	const output = shapeOf(node.outputs[0] ?? "");
	const inputs = node.inputs.map(shapeOf);
	const multiplyAdds = costs(node, inputs, output);
	if (Number.isSafeInteger(multiplyAdds)) return { node, multiplyAdds, weights, output };
	const isOpen = inputs.some(
		(dims, at) => node.inputs[at] !== "" && (dims === null || elementsOf(dims) === null),
	);
	const why = isOpen
		? "has shapes that depend on data or are not known"
		: "is an operator whose multiply-adds are not known";
	return { node, multiplyAdds: null, why, weights, output };
}

interface LiveFacts {
	bytesOf(name: string): number | null;
	isConstant(name: string): boolean;
	innerBytes(node: OnnxNode): number;
}

function peakOf(scope: Scope, { bytesOf, isConstant, innerBytes }: LiveFacts) {
	const reads = readsOf(scope);
	const readsOfNode = new Map(scope.nodes.map((node, at) => [node, reads[at] ?? []]));
	const order = nodesInRunOrder(scope).map((node) => ({ node, read: readsOfNode.get(node) ?? [] }));
	const lastRead = new Map(order.flatMap(({ read }, at) => read.map((name) => [name, at])));
	const kept = new Set(scope.outputs);
	const live = new Map<string, number>();
	let [bytes, peakBytes, tensors, unknownTensors] = [0, 0, 0, 0];
	const add = (name: string) => {
		if (name === "" || isConstant(name) || live.has(name)) return;
		const size = bytesOf(name);
		tensors += 1;
		if (size === null) unknownTensors += 1;
		live.set(name, size ?? 0);
		bytes += size ?? 0;
	};
	const drop = (name: string) => {
		if (kept.has(name)) return;
		bytes -= live.get(name) ?? 0;
		live.delete(name);
	};
	for (const name of scope.inputs) add(name);
	peakBytes = bytes;
	for (const [at, { node, read }] of order.entries()) {
		for (const name of node.outputs) add(name);
		peakBytes = Math.max(peakBytes, bytes + innerBytes(node));
		for (const name of read) if (lastRead.get(name) === at) drop(name);
		for (const name of node.outputs) if (!lastRead.has(name)) drop(name);
	}
	return { peakBytes, tensors, unknownTensors };
}
