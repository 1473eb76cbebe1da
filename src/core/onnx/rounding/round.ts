// Rounds a graph's weights and the outputs of its nodes to another precision, as an engine of that precision keeps them.
import type { GraphEdit, KeptNode, NewNode } from "../graph-edit.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import { typeIn } from "../static-shapes/types.ts";
import type { Scope } from "../walk.ts";
import { type FixedTensors, factsOf, findFixed, type GraphFacts } from "./constants.ts";
import {
	keepsRounding,
	neverRounded,
	products,
	quantises,
	type RoundedPrecision,
	type Rounding,
	roundingNodes,
} from "./rounding-nodes.ts";

export interface RoundingPlan {
	edit: GraphEdit;
	/** The added output: for each of `tensors` a number that is finite unless some value is beyond the precision's range. */
	rangeOutput: string;
	tensors: readonly string[];
}

export interface RoundingRule {
	precision: RoundedPrecision;
	guarded: boolean;
}

export const oldestRoundedOpset = 9;

/** null: nothing in the graph is rounded. The model is folded before. */
export function planRounding(model: OnnxModel, rule: RoundingRule): RoundingPlan | null {
	const facts = factsOf(model);
	const [graph] = facts.subject.scopes;
	if (graph === undefined || (model.opsets[""] ?? 0) < oldestRoundedOpset) return null;
	const work: Work = {
		facts,
		rule,
		rounding: { ...rule, opset: model.opsets[""] ?? 0, freshName: facts.freshName },
		watched: [],
	};
	const body = roundBody(work, { scope: graph, fixed: findFixed(graph, null), rounded: new Map() });
	if (work.watched.length === 0 && body.rounds === 0) return null;
	const rangeOutput = facts.freshName("trtgate_ranges");
	const nodes = [...body.nodes, ...rangeNodes(work, rangeOutput)];
	return {
		edit: {
			nodes,
			addedOutputs: [{ name: rangeOutput, dtype: "float", size: Math.max(1, work.watched.length) }],
		},
		rangeOutput,
		tensors: work.watched.map(({ tensor }) => tensor),
	};
}

interface Work {
	facts: GraphFacts;
	rule: RoundingRule;
	rounding: Omit<Rounding, "guarded">;
	watched: { tensor: string; unguarded: string }[];
}

interface Body {
	scope: Scope;
	fixed: FixedTensors;
	/** Rounded copies of what is not computed here: constants and inputs, of this body and those around it. */
	rounded: ReadonlyMap<string, string>;
}

interface RoundedBody {
	nodes: (KeptNode | NewNode)[];
	rounds: number;
}

function roundBody(work: Work, body: Body): RoundedBody {
	const { scope, fixed } = body;
	const made: RoundedBody = { nodes: [], rounds: 0 };
	const readers = readersIn(scope);
	const rounded = new Map(body.rounded);
	for (const [index, node] of scope.nodes.entries()) {
		const inner = roundSubgraphs(work, index, { scope, fixed, rounded });
		made.rounds += inner.rounds;
		if (node.outputs.every((name) => fixed.fixed.has(name))) {
			made.nodes.push({ kept: index });
			continue;
		}
		const inputs = node.inputs.map((name, slot) => {
			if (!roundsInput(work, { scope, fixed, node, slot })) return name;
			const copy = rounded.get(name) ?? work.facts.freshName(`${name}_rounded`);
			if (!rounded.has(name))
				round(work, made, { scope, from: name, to: copy, label: name, isFixed: fixed.fixed.has(name) });
			rounded.set(name, copy);
			return copy;
		});
		const renamed = node.outputs.map((name) =>
			roundsOutput(work, { scope, node, name, readers }) ? work.facts.freshName(`${name}_exact`) : name,
		);
		made.nodes.push({
			kept: index,
			inputs,
			outputs: renamed,
			...(inner.edits.size > 0 && { bodies: inner.edits }),
		});
		for (const [place, from] of renamed.entries()) {
			const to = node.outputs[place] ?? "";
			if (from !== to) round(work, made, { scope, from, to, label: to, isFixed: false });
		}
	}
	return made;
}

interface RoundedTensor {
	scope: Scope;
	from: string;
	to: string;
	label: string;
	isFixed: boolean;
}

function round(work: Work, made: RoundedBody, { scope, from, to, label, isFixed }: RoundedTensor): void {
	const isWatched = scope.kind === "graph";
	const { nodes, unguarded } = roundingNodes(work.rounding, {
		from,
		to,
		guarded: isFixed || work.rule.guarded || !isWatched,
	});
	made.nodes.push(...nodes);
	made.rounds += 1;
	if (isWatched) work.watched.push({ tensor: label, unguarded });
}

function readersIn({ nodes }: Scope): ReadonlyMap<string, readonly OnnxNode[]> {
	const readers = new Map<string, OnnxNode[]>();
	for (const node of nodes) {
		for (const name of new Set(node.inputs)) {
			const known = readers.get(name);
			if (known === undefined) readers.set(name, [node]);
			else known.push(node);
		}
	}
	return readers;
}

/** Bodies of If, Loop and Scan: what goes in is rounded, so the inside is rounded like the rest. */
function roundSubgraphs(
	work: Work,
	index: number,
	around: Body,
): { edits: Map<string, GraphEdit>; rounds: number } {
	const edits = new Map<string, GraphEdit>();
	let rounds = 0;
	// Scopes come in the order of the subgraphs that they are.
	const inner = work.facts.subject.scopes.filter(({ outer }) => outer === around.scope);
	for (const [place, { nodeIndex, attribute }] of around.scope.subgraphs.entries()) {
		const scope = inner[place];
		if (nodeIndex !== index || scope === undefined) continue;
		const body = roundBody(work, { scope, fixed: findFixed(scope, around.fixed), rounded: around.rounded });
		edits.set(attribute, { nodes: body.nodes });
		rounds += body.rounds;
	}
	return { edits, rounds };
}

interface InputAt {
	scope: Scope;
	fixed: FixedTensors;
	node: OnnxNode;
	slot: number;
}

/** Where a weight or an input of the model meets a node that computes; in TF32 every operand of a product. */
function roundsInput({ facts, rule }: Work, { scope, fixed, node, slot }: InputAt): boolean {
	const name = node.inputs[slot] ?? "";
	if (name === "" || fixed.dequantised.has(name) || typeIn(facts.subject.types, scope, name) !== "float")
		return false;
	if (rule.precision === "tf32") return products.has(node.op);
	const isGiven = fixed.fixed.has(name) || facts.subject.scopes[0]?.inputs.includes(name) === true;
	return isGiven && !neverRounded(node, slot);
}

interface OutputAt {
	scope: Scope;
	node: OnnxNode;
	name: string;
	readers: ReadonlyMap<string, readonly OnnxNode[]>;
}

function roundsOutput({ facts, rule }: Work, { scope, node, name, readers }: OutputAt): boolean {
	if (rule.precision === "tf32" || name === "" || keepsRounding(node)) return false;
	if (typeIn(facts.subject.types, scope, name) !== "float") return false;
	// What only becomes integers is not kept as a float.
	const reading = readers.get(name) ?? [];
	return scope.outputs.includes(name) || reading.length === 0 || reading.some((reader) => !quantises(reader));
}

/** One number for each rounded tensor: its sum, which is finite unless a value is infinite or NaN. */
function rangeNodes({ watched, facts }: Work, output: string): NewNode[] {
	if (watched.length === 0)
		return [
			{
				op: "Constant",
				inputs: [],
				outputs: [output],
				attributes: { value: { dtype: "float", dims: [1], values: [0] } },
			},
		];
	const one = facts.freshName("trtgate_one");
	const sums = watched.map(({ unguarded }) => ({
		unguarded,
		sum: facts.freshName("trtgate_sum"),
		vector: facts.freshName("trtgate_range"),
	}));
	return [
		{
			op: "Constant",
			inputs: [],
			outputs: [one],
			attributes: { value: { dtype: "int64", dims: [1], values: [1] } },
		},
		...sums.flatMap(({ unguarded, sum, vector }): NewNode[] => [
			{ op: "ReduceSum", inputs: [unguarded], outputs: [sum], attributes: { keepdims: 0 } },
			{ op: "Reshape", inputs: [sum, one], outputs: [vector] },
		]),
		{ op: "Concat", inputs: sums.map(({ vector }) => vector), outputs: [output], attributes: { axis: 0 } },
	];
}
