// Finds the numbers that an answer in integers is chosen from: tensors to export where the answer itself shows no defect.
import type { OnnxGraph, OnnxNode } from "../../onnx/model.ts";

/** They choose by numbers, and lose those; with the input that holds them. */
const choosing: Readonly<Record<string, number>> = {
	ArgMax: 0,
	ArgMin: 0,
	TopK: 0,
	Greater: 0,
	GreaterOrEqual: 0,
	Less: 0,
	LessOrEqual: 0,
	Multinomial: 0,
	NonMaxSuppression: 1,
	Round: 0,
	Floor: 0,
	Ceil: 0,
};

/** The nearest such tensors before the output; empty where no node of the main graph chooses. */
export function findInnerNumbers(graph: OnnxGraph, output: string): string[] {
	const producers = new Map(
		graph.nodes.flatMap((node) => node.outputs.map((name): [string, OnnxNode] => [name, node])),
	);
	const found = new Set<string>();
	const casts: string[] = [];
	const seen = new Set<OnnxNode>();
	const queue = [output];
	for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
		const node = producers.get(name);
		if (node === undefined || seen.has(node)) continue;
		seen.add(node);
		const numbers = chosenFrom(node);
		if (numbers !== undefined) found.add(numbers);
		else queue.push(...node.inputs);
		if (node.op === "Cast") casts.push(...node.inputs);
	}
	const all = found.size > 0 ? [...found] : casts.slice(0, 1);
	return all.filter((name) => producers.has(name));
}

function chosenFrom({ op, inputs }: OnnxNode): string | undefined {
	return Object.hasOwn(choosing, op) ? inputs[choosing[op] ?? 0] : undefined;
}
