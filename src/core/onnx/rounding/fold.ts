// Folds scales and shifts behind a linear layer into its weights, as every engine does: exporters leave them as nodes of their own.
import type { GraphEdit, KeptNode, NewNode } from "../graph-edit.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import {
	type ConstantWriter,
	constantWriter,
	type FixedTensors,
	factsOf,
	findFixed,
	type GraphFacts,
	isFloatConstant,
} from "./constants.ts";
import { type Affine, foldedLayer, type LinearLayer, linearLayer } from "./linear-layer.ts";

/** The arithmetic is left to ONNX Runtime, in constant nodes. null: there is nothing to fold. */
export function planFolding(model: OnnxModel): GraphEdit | null {
	const facts = factsOf(model);
	const [graph] = facts.subject.scopes;
	if (graph === undefined) return null;
	const work = {
		facts,
		fixed: findFixed(graph, null),
		nodes: model.graph.nodes,
		consumers: consumersOf(model.graph.nodes),
	};
	const replaced = new Map<number, readonly (KeptNode | NewNode)[]>();
	for (const index of work.nodes.keys()) {
		const chain = replaced.has(index) ? null : followChain(work, index);
		if (chain === null) continue;
		for (const gone of [index, ...chain.nodes]) replaced.set(gone, []);
		// Where the last node of the chain was, all its constants are known.
		replaced.set(chain.nodes.at(-1) ?? index, chain.written);
	}
	if (replaced.size === 0) return null;
	return { nodes: work.nodes.flatMap((_, index) => replaced.get(index) ?? [{ kept: index }]) };
}

interface Folding {
	facts: GraphFacts;
	fixed: FixedTensors;
	nodes: readonly OnnxNode[];
	consumers: ReadonlyMap<string, readonly number[]>;
}

function consumersOf(nodes: readonly OnnxNode[]): Map<string, number[]> {
	const consumers = new Map<string, number[]>();
	for (const [index, { inputs }] of nodes.entries()) {
		for (const name of inputs) consumers.set(name, [...(consumers.get(name) ?? []), index]);
	}
	return consumers;
}

interface Chain {
	nodes: number[];
	written: (KeptNode | NewNode)[];
}

function followChain(work: Folding, index: number): Chain | null {
	const layer = linearLayer(index, work);
	if (layer === null) return null;
	const writer = constantWriter(work.facts);
	const nodes: number[] = [];
	let affine: Affine = { scale: null, shift: null };
	let output = layer.node.outputs[0] ?? "";
	for (;;) {
		const [next, ...others] = work.consumers.get(output) ?? [];
		const node = next === undefined ? undefined : work.nodes[next];
		if (node === undefined || next === undefined || others.length > 0 || work.facts.readers.get(output) !== 1)
			break;
		const step = stepOf({ node, output, layer, affine, writer, work });
		if (step === null) break;
		affine = step;
		nodes.push(next);
		output = node.outputs[0] ?? "";
	}
	// A product without a bias has nowhere to put a shift alone.
	if (nodes.length === 0 || (layer.kind === "MatMul" && affine.scale === null)) return null;
	const written = foldedLayer(layer, { affine, output, writer });
	return { nodes, written: [...writer.nodes, ...written] };
}

interface Step {
	node: OnnxNode;
	output: string;
	layer: LinearLayer;
	affine: Affine;
	writer: ConstantWriter;
	work: Folding;
}

/** What one more node makes of y · scale + shift; null: it cannot be folded. */
function stepOf(step: Step): Affine | null {
	const { node } = step;
	if (node.domain !== "" || node.outputs.length !== 1) return null;
	if (node.op === "BatchNormalization") return normalised(step);
	const constant = constantOperand(step);
	if (constant === null) return null;
	return node.op === "Add" || node.op === "Sub" ? shifted(step, constant) : scaled(step, constant);
}

/** The other operand of y + c, y − c, y · c or y / c, where it is one number for each channel. */
function constantOperand(step: Step): string | null {
	const { node, output } = step;
	const other = node.inputs.find((name) => name !== output);
	const commutes = node.op === "Add" || node.op === "Mul";
	if (other === undefined || node.inputs.length !== 2 || (!commutes && node.inputs[0] !== output))
		return null;
	return ["Add", "Sub", "Mul", "Div"].includes(node.op) && isAlongChannels(step, other) ? other : null;
}

function shifted({ node, affine: { scale, shift }, writer }: Step, constant: string): Affine {
	const value = writer.flat(constant);
	if (shift !== null) return { scale, shift: writer.compute(node.op, [shift, value]) };
	return { scale, shift: node.op === "Sub" ? writer.compute("Neg", [value]) : value };
}

function scaled({ node, affine: { scale, shift }, writer }: Step, constant: string): Affine {
	const value = writer.flat(constant);
	const first = scale ?? writer.vector([1], "float");
	return {
		scale: writer.compute(node.op, [first, value]),
		shift: shift === null ? null : writer.compute(node.op, [shift, value]),
	};
}

function normalised({ node, output, affine, writer, layer, work }: Step): Affine | null {
	const [input, ...parameters] = node.inputs;
	const [weight, bias, mean, variance] = parameters;
	if (input !== output || !weight || !bias || !mean || !variance || !layer.normalisable) return null;
	if (!parameters.every((name) => isFloatConstant(work, name))) return null;
	if (
		node.attributes.some(
			({ name, value }) =>
				(name === "training_mode" || name === "spatial") && value === (name === "spatial" ? 0 : 1),
		)
	)
		return null;
	const stated = node.attributes.find(({ name }) => name === "epsilon")?.value;
	const epsilon = writer.vector([typeof stated === "number" ? stated : 1e-5], "float");
	const factor = writer.compute("Div", [
		weight,
		writer.compute("Sqrt", [writer.compute("Add", [variance, epsilon])]),
	]);
	const centred =
		affine.shift === null ? writer.compute("Neg", [mean]) : writer.compute("Sub", [affine.shift, mean]);
	return {
		scale: affine.scale === null ? factor : writer.compute("Mul", [affine.scale, factor]),
		shift: writer.compute("Add", [writer.compute("Mul", [centred, factor]), bias]),
	};
}

/** Whether a constant has one element, or one for each channel of the layer's output and nothing else. */
function isAlongChannels({ layer, work }: Step, name: string): boolean {
	const dims = work.facts.subject.static.shapes.get(name);
	if (!dims || !isFloatConstant(work, name) || dims.length > layer.rank) return false;
	const channelAt = layer.channelAxis - (layer.rank - dims.length);
	return dims.every((size, axis) => size === 1 || (axis === channelAt && size === layer.channels));
}
