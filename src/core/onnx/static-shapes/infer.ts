// Infers the shapes that are certain from the inputs; the others stay open.
import type { OnnxModel, OnnxNode } from "../model.ts";
import {
	type Constants,
	constantsIn,
	localOperators,
	nodesInRunOrder,
	operatorKey,
	readNames,
	type Scope,
	scopesOf,
} from "../walk.ts";
import { axisRules } from "./axes.ts";
import { layoutRules } from "./layouts.ts";
import {
	type Dims,
	maxValues,
	type OperatorResult,
	type OperatorView,
	type Outputs,
	productRules,
} from "./operator.ts";
import { inferTypes, type TypesByScope, typeIn } from "./types.ts";

const rules = new Map(Object.entries({ ...layoutRules, ...axisRules, ...productRules }));

const oldestOpset = 7;

export interface Known {
	shapes: Map<string, Dims>;
	values: Map<string, Dims>;
}

interface StaticShapes extends Readonly<Known> {
	faults: { node: OnnxNode; what: string }[];
	stopped: readonly OnnxNode[];
}

interface Given {
	constants: Constants;
	types: TypesByScope;
	start?: Known;
	others?(view: OperatorView, known: Known): OperatorResult | undefined;
}

/** Value infos are not used: tools leave stale ones behind. */
export function inferShapes(model: OnnxModel, scope: Scope, given: Given): StaticShapes {
	const known = knownFirst(model, scope, given);
	const faults: StaticShapes["faults"] = [];
	const stopped: OnnxNode[] = [];
	const opset = model.opsets[""] ?? 0;
	if (opset < oldestOpset) return { ...known, faults, stopped: scope.nodes };
	const local = localOperators(model);
	for (const node of nodesInRunOrder(scope)) {
		const rule = node.domain === "" && !local.has(operatorKey(node)) ? rules.get(node.op) : undefined;
		const type = typeIn(given.types, scope, node.inputs[0] ?? "");
		const view = { node, ...viewOf(node.inputs, known), type, opset };
		const result = rule === undefined ? given.others?.(view, known) : rule(view);
		if (typeof result === "string") faults.push({ node, what: result });
		else keep(node, result ?? null, known);
		if (isStop(node, known)) stopped.push(node);
	}
	return { ...known, faults, stopped };
}

function isStop({ inputs, outputs }: OnnxNode, { shapes }: Known) {
	return !shapes.has(outputs[0] ?? "") && inputs.every((name) => name === "" || shapes.has(name));
}

function knownFirst(model: OnnxModel, scope: Scope, { constants, start }: Given) {
	const known: Known = { shapes: new Map(start?.shapes), values: new Map(start?.values) };
	if (start === undefined)
		for (const { name, dims } of model.graph.inputs) if (dims !== null) known.shapes.set(name, dims);
	for (const [name, { dims, values }] of constants.get(scope) ?? []) {
		known.shapes.set(name, dims);
		if (values !== undefined && dims.length <= 1) known.values.set(name, values);
	}
	return known;
}

function viewOf(names: readonly string[], { shapes, values }: Known) {
	return {
		shapes: names.map((name) => shapes.get(name) ?? null),
		values: names.map((name) => values.get(name) ?? null),
	};
}

function keep(node: OnnxNode, result: Outputs | Dims | null, known: Known) {
	const { dims, more = [], value }: Outputs = result !== null && "dims" in result ? result : { dims: result };
	for (const [place, shape] of [dims, ...more].entries()) {
		const name = node.outputs[place] ?? "";
		if (name !== "" && shape !== null) known.shapes.set(name, shape);
	}
	if (value !== undefined && value.length <= maxValues) known.values.set(node.outputs[0] ?? "", value);
}

export interface ModelFacts {
	scopes: readonly Scope[];
	graph: Scope;
	constants: Constants;
	types: TypesByScope;
	static: StaticShapes;
	read: ReadonlyMap<Scope, ReadonlySet<string>>;
}

const known = new WeakMap<OnnxModel, ModelFacts>();

export function factsOf(model: OnnxModel): ModelFacts {
	const before = known.get(model);
	if (before !== undefined) return before;
	const scopes = scopesOf(model);
	const [graph] = scopes;
	const constants = constantsIn(scopes);
	const types = inferTypes(model, scopes, { constants });
	const shapes = inferShapes(model, graph, { constants, types });
	const facts = { scopes, graph, constants, types, static: shapes, read: readNames(scopes) };
	known.set(model, facts);
	return facts;
}
