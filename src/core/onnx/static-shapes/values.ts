// Values computed from shapes: lists of sizes that a Reshape, Slice or Pad reads later, and conditions on them.
import type { OnnxDim } from "../model.ts";
import { broadcastAll, transpose } from "./layouts.ts";
import {
	type Dims,
	elementsOf,
	integerAttribute,
	integersAttribute,
	maxValues,
	numbers,
	type OperatorRule,
	untold,
} from "./operator.ts";

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
	if (typeof start !== "number" || typeof limit !== "number" || typeof delta !== "number" || delta === 0)
		return { dims: [null] };
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
	And: (left, right) => left && right,
	Or: (left, right) => left || right,
	Equal: (left, right) => Number(left === right),
	Greater: (left, right) => Number(left > right),
	GreaterOrEqual: (left, right) => Number(left >= right),
	Less: (left, right) => Number(left < right),
	LessOrEqual: (left, right) => Number(left <= right),
};

/** Sums, products and comparisons of whole numbers, which sizes are, and what follows from them: 0 and 1 are conditions. */
export const arithmetic: OperatorRule = (view) => {
	const result = broadcastAll(view);
	const operation = operations[view.node.op];
	const [left, right] = view.values;
	const isWhole = view.type === "int64" || view.type === "int32" || view.type === "bool";
	if ("fault" in result || operation === undefined || !left || !right || !isWhole || view.values.length !== 2)
		return result;
	if (!areLists(view.shapes)) return result;
	const value = together(left, right, (one, other) => {
		if (typeof one === "number" && typeof other === "number")
			return other === 0 && view.node.op === "Div" ? null : operation(one, other);
		return other === 1 && (view.node.op === "Mul" || view.node.op === "Div") ? one : null;
	});
	return value === null ? result : { ...result, value };
};

function areLists(shapes: readonly (Dims | null)[]): boolean {
	return shapes.every((dims) => dims !== null && dims.length <= 1);
}

function together(left: Dims, right: Dims, join: (one: OnnxDim, other: OnnxDim) => OnnxDim): Dims | null {
	const length = Math.max(left.length, right.length);
	if ([left, right].some((list) => list.length !== 1 && list.length !== length)) return null;
	const pick = (list: Dims, index: number): OnnxDim => list[list.length === 1 ? 0 : index] ?? null;
	return Array.from({ length }, (_, index) => join(pick(left, index), pick(right, index)));
}

export const not: OperatorRule = ({ shapes, values }) => {
	const list = numbers(values[0]);
	return list === null
		? { dims: shapes[0] ?? null }
		: { dims: shapes[0] ?? null, value: list.map((entry) => Number(entry === 0)) };
};

export const where: OperatorRule = (view) => {
	const result = broadcastAll(view);
	const [conditions, left, right] = view.values;
	if ("fault" in result || !conditions || !left || !right || !areLists(view.shapes)) return result;
	const length = Math.max(conditions.length, left.length, right.length);
	const pick = (list: Dims, index: number): OnnxDim => list[list.length === 1 ? 0 : index] ?? null;
	const value = Array.from({ length }, (_, index): OnnxDim => {
		const condition = pick(conditions, index);
		return typeof condition === "number" ? pick(condition === 0 ? right : left, index) : null;
	});
	return { ...result, value };
};

export const constantOfShape: OperatorRule = ({ node, values }) => {
	const dims = values[0] ?? null;
	const elements = dims === null ? null : elementsOf(dims);
	const tensor = node.attributes.find(({ name }) => name === "value")?.tensor;
	const fill = tensor === undefined ? 0 : tensor.values?.[0];
	if (elements === null || elements > maxValues || fill === undefined) return { dims };
	return { dims, value: Array.from({ length: elements }, () => fill) };
};

/** PyTorch turns a list of paddings as a matrix of two columns. */
export const transposed: OperatorRule = (view) => {
	const result = transpose(view);
	const [rows, columns, ...more] = view.shapes[0] ?? [];
	const value = view.values[0];
	const isTurned = integersAttribute(view.node, "perm")?.[0] !== 0;
	if (
		"fault" in result ||
		!value ||
		more.length > 0 ||
		typeof rows !== "number" ||
		typeof columns !== "number" ||
		!isTurned
	)
		return result;
	return {
		...result,
		value: value.map((_, at) => value[(at % rows) * columns + Math.floor(at / rows)] ?? null),
	};
};
