// Values computed from shapes: lists of sizes that a Reshape or Slice reads later.
import type { OnnxDim } from "../model.ts";
import { broadcastAll } from "./layouts.ts";
import { type Dims, elementsOf, integerAttribute, type OperatorRule, untold } from "./operator.ts";

export const shapeOf: OperatorRule = ({ node, shapes }) => {
	const input = shapes[0];
	if (!input) return { dims: [null] };
	const end = integerAttribute(node, "end", input.length);
	const value = input.slice(integerAttribute(node, "start", 0), end);
	return { dims: [value.length], value };
};

export const sizeOf: OperatorRule = ({ shapes }) => {
	const elements = shapes[0] ? elementsOf(shapes[0]) : null;
	return elements === null ? { dims: [] } : { dims: [], value: [elements] };
};

export const range: OperatorRule = ({ values }) => {
	const [start, limit, delta] = values.map((value) => value?.[0]);
	if (typeof start !== "number" || typeof limit !== "number" || typeof delta !== "number" || delta === 0) return { dims: [null] };
	return { dims: [Math.max(0, Math.ceil((limit - start) / delta))] };
};

export const nonZero: OperatorRule = ({ shapes }) => ({ dims: [shapes[0]?.length ?? null, null] });

export const oneHot: OperatorRule = ({ node, shapes, values }) => {
	const input = shapes[0];
	if (!input) return untold;
	const axis = integerAttribute(node, "axis", -1);
	return { dims: input.toSpliced(axis < 0 ? axis + input.length + 1 : axis, 0, values[1]?.[0] ?? null) };
};

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
	Add: (left, right) => left + right,
	Sub: (left, right) => left - right,
	Mul: (left, right) => left * right,
	Div: (left, right) => Math.trunc(left / right),
	Max: Math.max,
	Min: Math.min,
};

/** Sums and products of whole numbers, which sizes are. */
export const arithmetic: OperatorRule = (view) => {
	const result = broadcastAll(view);
	const operation = operations[view.node.op];
	const [left, right] = view.values;
	const isWhole = view.type === "int64" || view.type === "int32";
	if ("fault" in result || operation === undefined || !left || !right || !isWhole || view.values.length !== 2) return result;
	const value = together(left, right, (one, other) => {
		if (typeof one === "number" && typeof other === "number") return other === 0 && view.node.op === "Div" ? null : operation(one, other);
		return other === 1 && (view.node.op === "Mul" || view.node.op === "Div") ? one : null;
	});
	return value === null ? result : { ...result, value };
};

function together(left: Dims, right: Dims, join: (one: OnnxDim, other: OnnxDim) => OnnxDim): Dims | null {
	const length = Math.max(left.length, right.length);
	if ([left, right].some((list) => list.length !== 1 && list.length !== length)) return null;
	const pick = (list: Dims, index: number): OnnxDim => list[list.length === 1 ? 0 : index] ?? null;
	return Array.from({ length }, (_, index) => join(pick(left, index), pick(right, index)));
}
