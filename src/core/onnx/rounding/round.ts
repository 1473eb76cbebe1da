// Rounds a graph's weights and the outputs of its nodes to another precision, as an engine of that precision keeps them.
import type { ConstantValue, GraphEdit, KeptNode, NewNode, OnnxModel, OnnxNode } from "../model.ts";
import { typeIn } from "../static-shapes/types.ts";
import type { Scope } from "../walk.ts";
import {
	type FixedTensors,
	findFixed,
	keepsRounding,
	neverRounded,
	products,
	quantises,
	type RoundedPrecision,
	type Rounding,
	type RoundingFacts,
	roundingFacts,
	roundingNodes,
} from "./rounding-nodes.ts";

export interface RoundingPlan {
	edit: GraphEdit;
	rangeOutput: string;
	tensors: readonly string[];
}

export const oldestRoundedOpset = 9;

export function planRounding(model: OnnxModel, precision: RoundedPrecision): RoundingPlan | null {
	const facts = roundingFacts(model);
	const opset = model.opsets[""] ?? 0;
	const { graph: scope } = facts;
	if (opset < oldestRoundedOpset) return null;
	const work: Work = {
		facts,
		rounding: { precision, opset, freshName: facts.freshName },
		watched: [],
		rounds: 0,
	};
	const nodes = roundBody(work, { scope, fixed: findFixed(scope, null), rounded: new Map() });
	if (work.rounds === 0) return null;
	const rangeOutput = facts.freshName("trtgate_ranges");
	const size = work.watched.length + 1;
	return {
		edit: {
			nodes: [...nodes, ...rangeNodes(work, rangeOutput)],
			addedOutputs: [{ name: rangeOutput, dtype: "float", dims: [size] }],
		},
		rangeOutput,
		tensors: work.watched.map(({ tensor }) => tensor),
	};
}

interface Work {
	facts: RoundingFacts;
	rounding: Rounding;
	watched: { tensor: string; unguarded: string }[];
	rounds: number;
}

interface Body {
	scope: Scope;
	fixed: FixedTensors;
	rounded: ReadonlyMap<string, string>;
}

function roundBody(work: Work, { scope, fixed, rounded: outer }: Body) {
	const nodes: (KeptNode | NewNode)[] = [];
	const rounded = new Map(outer);
	const readers = readersIn(scope);
	const folded = foldedResults(scope, fixed, { readers, facts: work.facts });
	const round = (from: string, to: string, tensor: string) => {
		const made = roundingNodes(work.rounding, from, to);
		nodes.push(...made.nodes);
		work.rounds += 1;
		if (scope.kind === "graph") work.watched.push({ tensor, unguarded: made.unguarded });
	};
	for (const [index, node] of scope.nodes.entries()) {
		const bodies = roundSubgraphs(work, index, { scope, fixed, rounded });
		if (node.outputs.every((name) => fixed.fixed.has(name))) {
			nodes.push({ kept: index });
			continue;
		}
		const inputs = node.inputs.map((name, slot) => {
			if (!roundsInput(work, { scope, fixed, node, slot })) return name;
			const copy = rounded.get(name) ?? work.facts.freshName(`${name}_rounded`);
			if (!rounded.has(name)) round(name, copy, name);
			rounded.set(name, copy);
			return copy;
		});
		const outputs = node.outputs.map((name) =>
			!folded.has(name) && roundsOutput(work, { scope, node, name, reading: readers.get(name) ?? [] })
				? work.facts.freshName(`${name}_exact`)
				: name,
		);
		nodes.push({ kept: index, inputs, outputs, ...(bodies.size > 0 && { bodies }) });
		for (const [place, to] of node.outputs.entries()) {
			const from = outputs[place] ?? to;
			if (from !== to) round(from, to, to);
		}
	}
	return nodes;
}

function readersIn({ nodes }: Scope) {
	const readers = new Map<string, OnnxNode[]>();
	for (const node of nodes)
		for (const name of new Set(node.inputs)) {
			const known = readers.get(name);
			if (known === undefined) readers.set(name, [node]);
			else known.push(node);
		}
	return readers;
}

function roundSubgraphs(work: Work, index: number, around: Body) {
	const edits = new Map<string, GraphEdit>();
	// Scopes are in the order of their subgraphs.
	const inner = work.facts.scopes.filter(({ outer }) => outer === around.scope);
	for (const [place, { nodeIndex, attribute }] of around.scope.subgraphs.entries()) {
		const scope = inner[place];
		if (nodeIndex !== index || scope === undefined) continue;
		const body = { scope, fixed: findFixed(scope, around.fixed), rounded: around.rounded };
		edits.set(attribute, { nodes: roundBody(work, body) });
	}
	return edits;
}

const linear = new Set(["Conv", "ConvTranspose", "Gemm"]);
const affine = new Set(["BatchNormalization", "Add", "Sub", "Mul", "Div"]);

/** Engines fold the scale or shift by constants that reads these results, and never round them: rounding would exaggerate the error. */
function foldedResults(
	{ nodes }: Scope,
	{ constants }: FixedTensors,
	{ readers, facts }: { readers: ReadonlyMap<string, readonly OnnxNode[]>; facts: RoundingFacts },
) {
	const folded = new Set<string>();
	const variablesOf = ({ inputs }: OnnxNode) => inputs.filter((name) => name !== "" && !constants.has(name));
	const isAffineIn = (node: OnnxNode, name: string) =>
		affine.has(node.op) &&
		variablesOf(node).join() === name &&
		(node.op !== "Div" || node.inputs[0] === name);
	for (const node of nodes) {
		const [input = "", ...others] = variablesOf(node);
		const isFoldable =
			others.length === 0 && (linear.has(node.op) || (folded.has(input) && isAffineIn(node, input)));
		const [name = ""] = node.outputs;
		const [reader] = readers.get(name) ?? [];
		if (isFoldable && reader !== undefined && facts.readers.get(name) === 1 && isAffineIn(reader, name))
			folded.add(name);
	}
	return folded;
}

function roundsInput(
	{ facts, rounding }: Work,
	{ scope, fixed, node, slot }: { scope: Scope; fixed: FixedTensors; node: OnnxNode; slot: number },
) {
	const name = node.inputs[slot] ?? "";
	if (name === "" || fixed.dequantised.has(name) || typeIn(facts.types, scope, name) !== "float")
		return false;
	if (rounding.precision === "tf32") return products.has(node.op);
	const isGiven = fixed.fixed.has(name) || facts.scopes[0]?.inputs.includes(name) === true;
	return isGiven && !neverRounded(node, slot);
}

interface OutputAt {
	scope: Scope;
	node: OnnxNode;
	name: string;
	reading: readonly OnnxNode[];
}

function roundsOutput({ facts, rounding }: Work, { scope, node, name, reading }: OutputAt) {
	if (rounding.precision === "tf32" || name === "" || keepsRounding(node)) return false;
	if (typeIn(facts.types, scope, name) !== "float") return false;
	return scope.outputs.includes(name) || reading.length === 0 || reading.some((reader) => !quantises(reader));
}

/** A sum is finite unless a value of its tensor is infinite or NaN. */
function rangeNodes({ watched, facts }: Work, output: string) {
	const [zero, one] = [facts.freshName("trtgate_zero"), facts.freshName("trtgate_one")];
	const constant = (name: string, value: ConstantValue) => {
		return { op: "Constant", inputs: [], outputs: [name], attributes: { value } };
	};
	const sums = watched.map(({ unguarded }) => ({
		unguarded,
		sum: facts.freshName("trtgate_sum"),
		vector: facts.freshName("trtgate_range"),
	}));
	return [
		constant(zero, { dtype: "float", dims: [1], values: [0] }),
		constant(one, { dtype: "int64", dims: [1], values: [1] }),
		...sums.flatMap(({ unguarded, sum, vector }) => [
			{ op: "ReduceSum", inputs: [unguarded], outputs: [sum], attributes: { keepdims: 0 } },
			{ op: "Reshape", inputs: [sum, one], outputs: [vector] },
		]),
		{
			op: "Concat",
			inputs: [zero, ...sums.map(({ vector }) => vector)],
			outputs: [output],
			attributes: { axis: 0 },
		},
	];
}
