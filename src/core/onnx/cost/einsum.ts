// Einsum: its output's shape, and its multiply-adds if operands are contracted two by two, from left to right.
import type { OnnxDim, OnnxNode } from "../model.ts";
import { type Dims, type OperatorRule, textAttribute, untold } from "../static-shapes/operator.ts";

interface Equation {
	operands: readonly (readonly string[])[];
	output: readonly string[];
	sizes: ReadonlyMap<string, OnnxDim>;
}

/** An ellipsis stands for the axes that have no letter, counted from the last. */
function labelsOf(term: string, rank: number): string[] {
	const covered = rank - term.replace("...", "").length;
	const hidden = Array.from({ length: Math.max(0, covered) }, (_, at) => `.${covered - at}`);
	const [before = "", after] = term.split("...");
	return after === undefined ? [...before] : [...before, ...hidden, ...after];
}

function equationOf(node: OnnxNode, shapes: readonly (Dims | null)[]): Equation | null {
	const [left = "", right] = (textAttribute(node, "equation") ?? "").replaceAll(/\s/g, "").split("->");
	const terms = left.split(",");
	const known = shapes.filter((shape) => shape !== null);
	if (left === "" || terms.length !== shapes.length || known.length !== shapes.length) return null;
	const operands = terms.map((term, at) => labelsOf(term, known[at]?.length ?? 0));
	if (operands.some((labels, at) => labels.length !== known[at]?.length)) return null;
	const sizes = new Map<string, OnnxDim>();
	for (const [at, labels] of operands.entries()) {
		for (const [axis, label] of labels.entries()) {
			const size = known[at]?.[axis] ?? null;
			if (!sizes.has(label) || sizes.get(label) === 1) sizes.set(label, size);
		}
	}
	const dotted = [...sizes.keys()]
		.filter((label) => label.startsWith("."))
		.sort((one, other) => Number(other.slice(1)) - Number(one.slice(1)));
	const output =
		right === undefined
			? [...dotted, ...single(operands)]
			: labelsOf(right, right.replace("...", "").length + dotted.length);
	return { operands, output: output.filter((label) => sizes.has(label)), sizes };
}

function single(operands: Equation["operands"]): string[] {
	const all = operands.flat().filter((label) => !label.startsWith("."));
	return all.filter((label) => all.indexOf(label) === all.lastIndexOf(label)).sort();
}

export const einsum = {
	shape: (({ node, shapes }) => {
		const equation = equationOf(node, shapes);
		return equation === null
			? untold
			: { dims: equation.output.map((label) => equation.sizes.get(label) ?? null) };
	}) satisfies OperatorRule,
	multiplyAdds,
};

/** Each contraction costs the product of all sizes that its two operands have. One without a sum is elementwise. */
function multiplyAdds(node: OnnxNode, inputs: readonly (Dims | null)[]): number | null {
	const equation = equationOf(node, inputs);
	if (equation === null) return null;
	const { operands, output, sizes } = equation;
	let total = 0;
	let joined = new Set(operands[0]);
	for (const [at, operand] of operands.entries()) {
		if (at === 0) continue;
		const both = [...new Set([...joined, ...operand])];
		const needed = new Set([...output, ...operands.slice(at + 1).flat()]);
		const counts = both.map((label) => sizes.get(label) ?? null);
		if (!counts.every((size) => typeof size === "number")) return null;
		joined = new Set(both.filter((label) => needed.has(label)));
		if (joined.size < both.length) total += counts.reduce((product, size) => product * size, 1);
	}
	return total;
}
