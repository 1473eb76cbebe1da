// Input and output of an operator's shape rule, and helpers that the rules share.
import type { OnnxAttribute, OnnxDim, OnnxDType, OnnxNode } from "../model.ts";

export type Dims = readonly OnnxDim[];

export interface OperatorView {
	node: OnnxNode;
	shapes: readonly (Dims | null)[];
	/** Numbers or short lists of them: constants, and what is computed from shapes. */
	values: readonly (Dims | null)[];
	/** Type of the first input. */
	type: OnnxDType | null;
	opset: number;
}

/** Shapes of the outputs (null if not known) and the first one's values. */
export interface Outputs {
	dims: Dims | null;
	more?: readonly (Dims | null)[];
	value?: Dims;
}
/** The shape of the first output is enough; text says why the inputs cannot be right. */
export type OperatorResult = Outputs | Dims | string | null;
export type OperatorRule = (view: OperatorView) => OperatorResult;
export type OperatorRules = Readonly<Record<string, OperatorRule>>;

export const maxValues = 64;

export function onInput(rule: (input: Dims, view: OperatorView) => OperatorResult): OperatorRule {
	return (view) => (view.shapes[0] ? rule(view.shapes[0], view) : null);
}

export function onTwo(rule: (left: Dims, right: Dims, view: OperatorView) => OperatorResult): OperatorRule {
	return onInput((left, view) => (view.shapes[1] ? rule(left, view.shapes[1], view) : null));
}

export function forEach(operators: string, rule: OperatorRule): OperatorRules {
	return Object.fromEntries(operators.split(" ").map((operator) => [operator, rule]));
}

export const keepShape: OperatorRule = ({ shapes: [dims = null] }) => dims;

export function attributeOf(node: OnnxNode, name: string): OnnxAttribute["value"] | undefined {
	return node.attributes.find((attribute) => attribute.name === name)?.value;
}

export function integerAttribute(node: OnnxNode, name: string, fallback: number): number {
	const value = attributeOf(node, name);
	return typeof value === "number" ? value : fallback;
}

export function integersAttribute(node: OnnxNode, name: string): readonly number[] | null {
	const value = attributeOf(node, name);
	return Array.isArray(value) && value.every((entry) => typeof entry === "number") ? value : null;
}

export function textAttribute(node: OnnxNode, name: string): string | null {
	const value = attributeOf(node, name);
	return typeof value === "string" ? value : null;
}

/** An attribute in older operator sets, an input in newer ones. */
export function listOf(
	{ node, values }: OperatorView,
	attribute: string,
	place: number,
): readonly number[] | "absent" | "unknown" {
	const given = integersAttribute(node, attribute);
	if (given !== null) return given;
	if (node.inputs[place]) return numbers(values[place]) ?? "unknown";
	return attributeOf(node, attribute) === undefined ? "absent" : "unknown";
}

export function numbers(list: Dims | null | undefined): readonly number[] | null {
	return list?.every((entry) => typeof entry === "number") ? (list as readonly number[]) : null;
}

export function axisIn(axis: number, rank: number): number | null {
	const at = axis < 0 ? axis + rank : axis;
	return at >= 0 && at < rank ? at : null;
}

export function unknownOf(rank: number): Dims {
	return Array.from({ length: rank }, () => null);
}

export function differ(left: OnnxDim | undefined, right: OnnxDim | undefined): boolean {
	return typeof left === "number" && typeof right === "number" && left !== right;
}

/** Rounded down; a scale is binary32, and so is the product. */
export function scaled(dim: OnnxDim, by: OnnxDim): OnnxDim {
	if (by === 1) return dim;
	if (typeof dim !== "number" || typeof by !== "number") return null;
	return Number.isInteger(by) ? dim * by : Math.floor(Math.fround(dim * by));
}

/** NumPy's broadcasting; null if two known sizes are incompatible. */
export function broadcast(left: Dims, right: Dims): Dims | null {
	const rank = Math.max(left.length, right.length);
	const sizeAt = (dims: Dims, axis: number) =>
		axis < rank - dims.length ? 1 : (dims[axis - rank + dims.length] ?? null);
	const dims: OnnxDim[] = [];
	for (let axis = 0; axis < rank; axis++) {
		const one = sizeAt(left, axis);
		const other = sizeAt(right, axis);
		if (one !== 1 && other !== 1 && differ(one, other)) return null;
		if (one === 1) dims.push(other);
		else if (other === 1 || one === other || typeof one === "number") dims.push(one);
		else dims.push(typeof other === "number" ? other : null);
	}
	return dims;
}

export function elementsOf(dims: Dims): number | null {
	return dims.reduce<number | null>(
		(product, dim) => (product === null || typeof dim !== "number" ? null : product * dim),
		1,
	);
}
