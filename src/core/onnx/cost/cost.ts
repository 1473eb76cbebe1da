// What a graph costs at given sizes, from its file alone: multiply-adds, parameters, bytes of weights, and bytes of the tensors that
// are alive at once.
import type { FilledInput } from "../../fill.ts";
import { tensorBytes } from "../element-type.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import { nodesInRunOrder } from "../run-order.ts";
import { inferShapes, type Known } from "../static-shapes/infer.ts";
import { type Dims, elementsOf } from "../static-shapes/operator.ts";
import { inferTypes, type OtherTypes, type TensorTypes, typeIn } from "../static-shapes/types.ts";
import { type Constants, constantNamed, constantsIn, type Scope, scopesOf, tensorsOf } from "../walk.ts";
import { type Control, controlCost, typesOfControl } from "./control-flow.ts";
import {
	type CountedBody,
	type CountedGraph,
	type CountedNode,
	type InputSizes,
	leastOf,
} from "./counted.ts";
import { inlineFunctions } from "./inline.ts";
import { peakOf } from "./live.ts";
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
	bodies: ReadonlyMap<readonly OnnxNode[], Scope>;
	constants: Constants;
	types: ReadonlyMap<Scope, TensorTypes>;
}

export function costsOf(original: OnnxModel): (sizes: InputSizes) => CountedGraph {
	const model = inlineFunctions(original);
	const scopes = scopesOf(model);
	const constants = constantsIn(scopes);
	const bodies = new Map(scopes.map((scope) => [scope.nodes, scope] as const));
	const inner = new Map(scopes.flatMap((scope) => [...innerScopes(scope, bodies)]));
	const others: OtherTypes = (node, [first = null], typesOf) => {
		const [body] = inner.get(node)?.values() ?? [];
		return body === undefined ? [typeOfOther(node, first)] : typesOfControl(node, typesOf(body));
	};
	const context = { model, bodies, constants, types: inferTypes(model, scopes, { constants, others }) };
	const weights = weightsOf(original);
	return (sizes) => {
		const [graph] = scopes;
		const none = { nodes: [], peakBytes: 0, tensors: 0, unknownTensors: 0 };
		const body = graph === undefined ? none : walkBody(graph, startOf(model, sizes), context);
		const { nodes, peakBytes, tensors, unknownTensors } = body;
		return {
			...{ multiplyAdds: leastOf(body), ...weights, activationBytes: peakBytes, nodes },
			...{
				unknownNodes: nodes.filter(({ multiplyAdds }) => multiplyAdds === null).length,
				tensors,
				unknownTensors,
			},
		};
	};
}

function weightsOf(model: OnnxModel): Pick<CountedGraph, "parameters" | "weightBytes"> {
	let [parameters, weightBytes] = [0, 0];
	for (const { dtype, dims, bytes, sparse } of tensorsOf(scopesOf(model))) {
		const elements = elementsOf(dims) ?? 0;
		parameters += elements;
		weightBytes += sparse === true ? bytes : (tensorBytes(dtype, elements) ?? bytes);
	}
	return { parameters, weightBytes };
}

function startOf({ graph }: OnnxModel, { shapes, values = {} }: InputSizes): Known {
	const known: Known = { shapes: new Map(), values: new Map() };
	for (const { name, dims } of graph.inputs) {
		const shape = Object.hasOwn(shapes, name) ? (shapes[name] ?? null) : dims;
		if (shape !== null) known.shapes.set(name, shape);
		const value = Object.hasOwn(values, name) ? values[name] : undefined;
		if (value !== undefined && shape?.every((size) => size === 1)) known.values.set(name, [value]);
	}
	return known;
}

function walkBody(scope: Scope, start: Known, context: Context): CountedBody {
	const { model, constants, types, bodies } = context;
	const controls = new Map<OnnxNode, Control>();
	const inner = innerScopes(scope, bodies);
	const { shapes, values } = inferShapes(model, scope, {
		constants: constants.get(scope) ?? new Map(),
		types: { get: (name) => typeIn(types, scope, name) ?? undefined },
		start,
		others: (view, known) => {
			const own = inner.get(view.node);
			if (own === undefined) return operatorOf(view.node).shape?.(view) ?? { dims: null };
			const control =
				depthOf(scope) > maxDepth
					? null
					: controlCost(view, { scopes: own, known, walk: (body, at) => walkBody(body, at, context) });
			if (control === null) return { dims: null };
			controls.set(view.node, control);
			return control.result;
		},
	});
	const shapeOf = (name: string | undefined): Dims | null => shapes.get(name ?? "") ?? null;
	const isConstant = (name: string): boolean => constants.get(scope)?.has(name) === true;
	const weightsOfNode = weightReader(scope, constants);
	const nodes = nodesInRunOrder(scope).flatMap((node): readonly CountedNode[] => {
		const control = controls.get(node);
		if (control !== undefined) return control.nodes;
		return [costOfNode(node, { shapeOf, weights: weightsOfNode(node), hasBody: inner.has(node) })];
	});
	const bytesOf = (name: string): number | null => {
		const [dims, type] = [shapes.get(name), typeIn(types, scope, name)];
		const elements = dims === undefined ? null : elementsOf(dims);
		const bytes = elements === null || type === null ? null : tensorBytes(type, elements);
		return bytes !== null && Number.isSafeInteger(bytes) ? bytes : null;
	};
	const live = peakOf(scope, {
		bytesOf,
		isConstant,
		innerBytes: (node) => innerBytes(node, controls.get(node), bytesOf),
	});
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

function innerBytes(
	node: OnnxNode,
	control: Control | undefined,
	bytesOf: (name: string) => number | null,
): number {
	if (control === undefined) return 0;
	const own = node.op === "If" ? node.outputs.reduce((sum, name) => sum + (bytesOf(name) ?? 0), 0) : 0;
	return Math.max(0, control.peakBytes - own);
}

function innerScopes(scope: Scope, bodies: Context["bodies"]): Map<OnnxNode, Map<string, Scope>> {
	const found = new Map<OnnxNode, Map<string, Scope>>();
	for (const { attribute, nodeIndex, graph } of scope.subgraphs) {
		const [node, body] = [scope.nodes[nodeIndex], bodies.get(graph.nodes)];
		if (node !== undefined && body !== undefined)
			found.set(node, (found.get(node) ?? new Map()).set(attribute, body));
	}
	return found;
}

/** The body of a Loop may be walked twice, and so each Loop inside it. */
const maxDepth = 8;

function depthOf({ outer }: Scope): number {
	return outer === null ? 0 : depthOf(outer) + 1;
}

const carrying = new Set(
	"Cast DequantizeLinear Identity QuantizeLinear Reshape Squeeze Transpose Unsqueeze".split(" "),
);

/** Elements of the constants that a node reads, through nodes that convert them. Nodes are asked in the order in which they run. */
function weightReader(scope: Scope, constants: Constants): (node: OnnxNode) => number {
	const carried = new Map<string, number>();
	const elementsIn = (name: string): number =>
		carried.get(name) ?? elementsOf(constantNamed(constants, scope, name)?.dims ?? [0]) ?? 0;
	return (node) => {
		const [first = "", ...others] = node.inputs;
		const own = elementsIn(first);
		if (carrying.has(node.op) && own > 0) {
			carried.set(node.outputs[0] ?? "", own);
			return 0;
		}
		return others.reduce((sum, name) => sum + elementsIn(name), own);
	};
}

interface NodeFacts {
	shapeOf(name: string | undefined): Dims | null;
	weights: number;
	hasBody: boolean;
}

function costOfNode(node: OnnxNode, { shapeOf, weights, hasBody }: NodeFacts): CountedNode {
	const output = shapeOf(node.outputs[0]);
	const inputs = node.inputs.map(shapeOf);
	const counted = hasBody ? null : operatorOf(node).multiplyAdds(node, inputs, output);
	if (counted !== null && Number.isSafeInteger(counted))
		return { node, multiplyAdds: counted, weights, output };
	return { node, multiplyAdds: null, why: whyUnknown(node, inputs), weights, output };
}

function whyUnknown(node: OnnxNode, inputs: readonly (Dims | null)[]): string {
	const isOpen = inputs.some(
		(dims, at) => node.inputs[at] !== "" && (dims === null || elementsOf(dims) === null),
	);
	return isOpen
		? "has shapes that depend on data or are not known"
		: "is an operator whose multiply-adds are not known";
}
