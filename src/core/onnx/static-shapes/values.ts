// Values computed from shapes: lists of sizes that a Reshape, Slice or Pad reads later, and conditions on them.
import type { OnnxDim } from "../model.ts";
import { broadcastAll, transpose } from "./layouts.ts";
import {
	type Dims,
	elementsOf,
	forEach,
	integerAttribute,
	integersAttribute,
	maxValues,
	numbers,
	type OperatorRule,
	type OperatorRules,
	onInput,
} from "./operator.ts";

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

function areLists(shapes: readonly (Dims | null)[]): boolean {
	return shapes.every((dims) => dims !== null && dims.length <= 1);
}

function pick(list: Dims, index: number): OnnxDim {
	return list[list.length === 1 ? 0 : index] ?? null;
}

/** Sums, products and comparisons of whole numbers, which sizes are, and what follows from them: 0 and 1 are conditions. */
const arithmetic: OperatorRule = (view) => {
	const { node, values, shapes, type } = view;
	const result = broadcastAll(view);
	const operation = operations[node.op];
	const [left, right] = values;
	const isWhole = type === "int64" || type === "int32" || type === "bool";
	if ("fault" in result || !operation || !left || !right || !isWhole) return result;
	const length = Math.max(left.length, right.length);
	const fits = [left, right].every((list) => list.length === 1 || list.length === length);
	if (values.length !== 2 || !areLists(shapes) || !fits) return result;
	const value = Array.from({ length }, (_, index): OnnxDim => {
		const one = pick(left, index);
		const other = pick(right, index);
		if (typeof one === "number" && typeof other === "number")
			return other === 0 && node.op === "Div" ? null : operation(one, other);
		return other === 1 && (node.op === "Mul" || node.op === "Div") ? one : null;
	});
	return { ...result, value };
};

const where: OperatorRule = (view) => {
	const result = broadcastAll(view);
	const [conditions, left, right] = view.values;
	if ("fault" in result || !conditions || !left || !right || !areLists(view.shapes)) return result;
	const length = Math.max(conditions.length, left.length, right.length);
	const value = Array.from({ length }, (_, index): OnnxDim => {
		const condition = pick(conditions, index);
		return typeof condition === "number" ? pick(condition === 0 ? right : left, index) : null;
	});
	return { ...result, value };
};

/** PyTorch turns a list of paddings as a matrix of two columns. */
const transposed: OperatorRule = (view) => {
	const result = transpose(view);
	const [rows, columns, ...more] = view.shapes[0] ?? [];
	const value = view.values[0];
	const isMatrix = typeof rows === "number" && typeof columns === "number" && more.length === 0;
	if ("fault" in result || !value || !isMatrix || integersAttribute(view.node, "perm")?.[0] === 0)
		return result;
	const turned = value.map((_, at) => value[(at % rows) * columns + Math.floor(at / rows)] ?? null);
	return { ...result, value: turned };
};

export const valueRules: OperatorRules = {
	...forEach(Object.keys(operations).join(" "), arithmetic),
	Where: where,
	Transpose: transposed,
	ConstantOfShape: ({ node, values: [dims = null] }) => {
		const elements = dims === null ? null : elementsOf(dims);
		const tensor = node.attributes.find(({ name }) => name === "value")?.tensor;
		const fill = tensor === undefined ? 0 : tensor.values?.[0];
		if (elements === null || elements > maxValues || fill === undefined) return { dims };
		return { dims, value: Array.from({ length: elements }, () => fill) };
	},
	NonZero: ({ shapes }) => ({ dims: [shapes[0]?.length ?? null, null] }),
	Not: ({ shapes: [dims = null], values }) => {
		const list = numbers(values[0]);
		return list === null ? { dims } : { dims, value: list.map((entry) => Number(entry === 0)) };
	},
	OneHot: onInput((input, { node, values }) => {
		const axis = integerAttribute(node, "axis", -1);
		return { dims: input.toSpliced(axis < 0 ? axis + input.length + 1 : axis, 0, values[1]?.[0] ?? null) };
	}),
	Range: ({ values }) => {
		const [start, limit, delta] = values.map((value) => value?.[0]);
		if (typeof start !== "number" || typeof limit !== "number" || typeof delta !== "number" || delta === 0)
			return { dims: [null] };
		return { dims: [Math.max(0, Math.ceil((limit - start) / delta))] };
	},
	Shape: ({ node, shapes: [input] }) => {
		if (!input) return { dims: [null] };
		const start = integerAttribute(node, "start", 0);
		const value = input.slice(start, integerAttribute(node, "end", input.length));
		return { dims: [value.length], value };
	},
	Size: ({ shapes: [input] }) => {
		const elements = input ? elementsOf(input) : null;
		return elements === null ? { dims: [] } : { dims: [], value: [elements] };
	},
};
