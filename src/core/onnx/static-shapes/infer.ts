// Propagates the shapes that are certain from the inputs through the graph; the others stay open.
import type { OnnxInitializer, OnnxModel, OnnxNode } from "../model.ts";
import { nodesInRunOrder } from "../run-order.ts";
import type { Scope } from "../walk.ts";
import { axisRules } from "./axes.ts";
import { layoutRules } from "./layouts.ts";
import { type Dims, maxValues, type OperatorResult, type OperatorView, untold } from "./operator.ts";
import { productRules } from "./products.ts";
import type { TensorTypes } from "./types.ts";
import { valueRules } from "./values.ts";

const rules = new Map(Object.entries({ ...layoutRules, ...axisRules, ...productRules, ...valueRules }));

/** Broadcasting and other meanings are as in NumPy since this opset. */
const oldestOpset = 7;

export interface Known {
	shapes: Map<string, Dims>;
	values: Map<string, Dims>;
}

export interface StaticShapes extends Readonly<Known> {
	faults: { node: OnnxNode; what: string }[];
	/** Nodes whose inputs' shapes are known and whose output's is not: after them little is checked. */
	stopped: readonly OnnxNode[];
}

interface Given {
	constants: ReadonlyMap<string, OnnxInitializer>;
	types: Pick<TensorTypes, "get">;
	/** What is known before the first node, constants aside; left out: the shapes that the graph's inputs declare. */
	start?: Known;
	others?(view: OperatorView, known: Known): OperatorResult;
}

/** Value infos are not used: both runtimes ignore them, and tools leave stale ones behind. */
export function inferShapes(model: OnnxModel, graph: Scope, given: Given): StaticShapes {
	const known = knownFirst(model, given);
	const { shapes } = known;
	const faults: StaticShapes["faults"] = [];
	const stopped: OnnxNode[] = [];
	const opset = model.opsets[""] ?? 0;
	if (opset < oldestOpset) return { ...known, faults, stopped: graph.nodes };
	const local = new Set(model.functions.map(({ domain, name }) => `${domain}\n${name}`));
	for (const node of nodesInRunOrder(graph)) {
		const rule = node.domain === "" && !local.has(`\n${node.op}`) ? rules.get(node.op) : undefined;
		const view = viewOf(node, known, given, opset);
		const result = (rule === undefined ? given.others?.(view, known) : rule(view)) ?? untold;
		if ("fault" in result) faults.push({ node, what: result.fault });
		else keep(node, result, known);
		const isFed = node.inputs.every((name) => name === "" || shapes.has(name));
		if (isFed && !shapes.has(node.outputs[0] ?? "")) stopped.push(node);
	}
	return { ...known, faults, stopped };
}

function knownFirst(model: OnnxModel, { constants, start }: Given): Known {
	const known: Known = { shapes: new Map(start?.shapes), values: new Map(start?.values) };
	if (start === undefined)
		for (const { name, dims } of model.graph.inputs) if (dims !== null) known.shapes.set(name, dims);
	for (const [name, { dims, values }] of constants) {
		known.shapes.set(name, dims);
		if (values !== undefined && dims.length <= 1) known.values.set(name, values);
	}
	return known;
}

function viewOf(node: OnnxNode, { shapes, values }: Known, { types }: Given, opset: number): OperatorView {
	return {
		node,
		shapes: node.inputs.map((name) => shapes.get(name) ?? null),
		values: node.inputs.map((name) => values.get(name) ?? null),
		type: types.get(node.inputs[0] ?? "") ?? null,
		opset,
	};
}

function keep(node: OnnxNode, result: Exclude<OperatorResult, { fault: string }>, known: Known): void {
	for (const [place, dims] of [result.dims, ...(result.more ?? [])].entries()) {
		const name = node.outputs[place] ?? "";
		if (name !== "" && dims !== null) known.shapes.set(name, dims);
	}
	if (result.value !== undefined && result.value.length <= maxValues)
		known.values.set(node.outputs[0] ?? "", result.value);
}
