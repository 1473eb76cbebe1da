// What If, Loop and Scan cost: that of the bodies that they run, as often as they run them.
import type { OnnxDim, OnnxNode } from "../model.ts";
import type { Known } from "../static-shapes/infer.ts";
import {
	type Dims,
	integerAttribute,
	integersAttribute,
	type OperatorResult,
	type OperatorView,
} from "../static-shapes/operator.ts";
import type { Scope } from "../walk.ts";
import { type CountedBody, type CountedNode, leastOf } from "./counted.ts";

export interface Control {
	result: OperatorResult;
	nodes: readonly CountedNode[];
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export interface Bodies {
	scopes: ReadonlyMap<string, Scope>;
	known: Known;
	walk(scope: Scope, known: Known): CountedBody;
}

type ControlRule = (view: OperatorView, bodies: Bodies) => Control | null;

function unknownAt(node: OnnxNode, why: string): CountedNode {
	return { node, multiplyAdds: null, why, weights: 0, output: null };
}

/** The branch that the condition names; where it depends on data, the one that costs less. */
const either: ControlRule = ({ node, values }, { scopes, known, walk }) => {
	const branches = ["then_branch", "else_branch"].flatMap((name) => scopes.get(name) ?? []);
	const condition = values[0]?.[0];
	const ran = branches
		.filter((_, at) => typeof condition !== "number" || at === (condition === 0 ? 1 : 0))
		.map((scope) => walk(scope, known));
	const [first, second] = ran;
	if (first === undefined) return null;
	const [least, other] =
		second !== undefined && leastOf(second) < leastOf(first) ? [second, first] : [first, second];
	const dims = first.outputs.map((shape, at) =>
		other === undefined ? shape : common(shape, (least === first ? other : least).outputs[at] ?? null),
	);
	const differs =
		other !== undefined && (leastOf(other) !== leastOf(least) || other.peakBytes !== least.peakBytes);
	const why = `depends on data which branch runs: ${leastOf(least)} or ${leastOf(other ?? least)} multiply-adds`;
	return {
		...least,
		peakBytes: Math.min(...ran.map(({ peakBytes }) => peakBytes)),
		nodes: [...least.nodes, ...(differs ? [unknownAt(node, why)] : [])],
		result: resultOf(dims),
	};
};

function resultOf([first = null, ...more]: readonly (Dims | null)[]): OperatorResult {
	return { dims: first, more };
}

function common(one: Dims | null, other: Dims | null): Dims | null {
	if (one === null || other === null || one.length !== other.length) return null;
	return one.map((dim, axis) => (dim === other[axis] ? dim : null));
}

function bind(
	known: Known,
	names: readonly string[],
	to: { shapes: readonly (Dims | null)[]; values?: readonly (Dims | null)[] },
): Known {
	const bound: Known = { shapes: new Map(known.shapes), values: new Map(known.values) };
	for (const [at, name] of names.entries()) {
		const [shape, value] = [to.shapes[at], to.values?.[at]];
		if (shape) bound.shapes.set(name, shape);
		else bound.shapes.delete(name);
		if (value) bound.values.set(name, value);
		else bound.values.delete(name);
	}
	return bound;
}

function repeated(node: OnnxNode, body: CountedBody, count: number | null): CountedNode[] {
	if (count === null) {
		const each = leastOf(body);
		const isFree = each === 0 && body.nodes.every(({ multiplyAdds }) => multiplyAdds !== null);
		return isFree
			? []
			: [unknownAt(node, `depends on data how often its body runs, each time with ${each} multiply-adds`)];
	}
	return body.nodes.map((each) => ({
		...each,
		multiplyAdds: each.multiplyAdds === null ? null : each.multiplyAdds * count,
	}));
}

/** Inputs: the most iterations, the first condition, values that each iteration changes. Outputs: those values, then one row each time. */
const loop: ControlRule = ({ node, shapes, values }, { scopes, known, walk }) => {
	const scope = scopes.get("body");
	if (scope === undefined) return null;
	const start = shapes.slice(2);
	const condition = node.inputs[1] === "" || node.inputs[1] === undefined ? 1 : values[1]?.[0];
	const first = {
		shapes: [[], [], ...start],
		values: [null, typeof condition === "number" ? [condition] : null],
	};
	let body = walk(scope, bind(known, scope.inputs, first));
	const carried = start.map((shape, at) => common(shape, body.outputs[at + 1] ?? null));
	// What an iteration changes is not the same in the next one.
	if (carried.some((shape, at) => shape?.join() !== start[at]?.join()))
		body = walk(scope, bind(known, scope.inputs, { ...first, shapes: [[], [], ...carried] }));
	const most = values[0]?.[0];
	const goesOn = condition === 1 && body.firstOutput?.[0] === 1;
	const count = typeof most === "number" && goesOn ? most : null;
	const rows = body.outputs
		.slice(start.length + 1)
		.map((shape) => (shape === null ? null : [count, ...shape]));
	return { ...body, nodes: repeated(node, body, count), result: resultOf([...carried, ...rows]) };
};

/** Inputs: states, then tensors whose slices the body takes one by one. Outputs: states, then the slices that it gives. */
const scan: ControlRule = ({ node, shapes, opset }, { scopes, known, walk }) => {
	const scope = scopes.get("body");
	if (scope === undefined || opset < 9) return null;
	const states = shapes.length - integerAttribute(node, "num_scan_inputs", 0);
	const axes = integersAttribute(node, "scan_input_axes");
	const axisOf = (at: number, rank: number): number => ((axes?.[at] ?? 0) + rank) % rank;
	let count: OnnxDim = null;
	const slices = shapes.slice(states).map((shape, at) => {
		if (!shape) return null;
		const axis = axisOf(at, shape.length);
		if (typeof shape[axis] === "number") count = shape[axis];
		return shape.toSpliced(axis, 1);
	});
	const body = walk(scope, bind(known, scope.inputs, { shapes: [...shapes.slice(0, states), ...slices] }));
	const outputAxes = integersAttribute(node, "scan_output_axes");
	const stacked = body.outputs.slice(states).map((shape, at) => {
		if (shape === null) return null;
		const rank = shape.length + 1;
		return shape.toSpliced(((outputAxes?.[at] ?? 0) + rank) % rank, 0, count);
	});
	return {
		...body,
		nodes: repeated(node, body, count),
		result: resultOf([...body.outputs.slice(0, states), ...stacked]),
	};
};

const rules: Readonly<Record<string, ControlRule>> = { If: either, Loop: loop, Scan: scan };

const firstOutputs: Readonly<Record<string, number>> = { If: 0, Loop: 1, Scan: 0 };

export function typesOfControl<Type>({ domain, op }: OnnxNode, body: readonly Type[]): readonly Type[] {
	return domain === "" && Object.hasOwn(firstOutputs, op) ? body.slice(firstOutputs[op]) : [];
}

export function controlCost(view: OperatorView, bodies: Bodies): Control | null {
	return view.node.domain === ""
		? Object.hasOwn(rules, view.node.op)
			? (rules[view.node.op]?.(view, bodies) ?? null)
			: null
		: null;
}
