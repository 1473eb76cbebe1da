// Finds the part of a graph that no input reaches: engines compute it once, while they are built.
import { type Subject, subjectOf } from "../findings/subject.ts";
import type { NewNode } from "../graph-edit.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import type { Scope } from "../walk.ts";

const random = new Set([
	"RandomNormal",
	"RandomNormalLike",
	"RandomUniform",
	"RandomUniformLike",
	"Bernoulli",
	"Multinomial",
]);
/** What these give depends on shapes alone, which are known before any value is computed. */
const ofShapes = new Set(["Shape", "Size"]);
const quantising = new Set(["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"]);

export interface FixedTensors {
	constants: ReadonlySet<string>;
	/** Constants and what is computed of shapes: sizes, scales, lengths. Engines compute them beside the network, in full precision. */
	fixed: ReadonlySet<string>;
	dequantised: ReadonlySet<string>;
}

export function findFixed(scope: Scope, outer: FixedTensors | null): FixedTensors {
	const constants = new Set([...(outer?.constants ?? []), ...scope.initializers.map(({ name }) => name)]);
	const fixed = new Set([...(outer?.fixed ?? []), ...constants]);
	const dequantised = new Set(outer?.dequantised);
	const withBodies = new Set(scope.subgraphs.map(({ nodeIndex }) => nodeIndex));
	for (const [index, node] of scope.nodes.entries()) {
		if (withBodies.has(index) || random.has(node.op)) continue;
		if (isComputedOf(node, constants)) addAll(constants, node.outputs);
		if (!isComputedOf(node, fixed) && !ofShapes.has(node.op)) continue;
		addAll(fixed, node.outputs);
		if (quantising.has(node.op) || dequantised.has(node.inputs[0] ?? "")) addAll(dequantised, node.outputs);
	}
	return { constants, fixed, dequantised };
}

function addAll(to: Set<string>, names: readonly string[]): void {
	for (const name of names) to.add(name);
}

function isComputedOf({ op, inputs }: OnnxNode, known: ReadonlySet<string>): boolean {
	const read = inputs.filter((name) => name !== "");
	return read.length > 0 ? read.every((name) => known.has(name)) : op === "Constant";
}

// Writes nodes that compute on constants; ONNX Runtime does their arithmetic once, when it loads the model.

export interface ConstantWriter {
	nodes: NewNode[];
	compute(op: string, inputs: readonly string[], attributes?: NewNode["attributes"]): string;
	vector(values: readonly number[], dtype: "float" | "int64"): string;
	flat(name: string): string;
}

export function constantWriter({ freshName }: Pick<GraphFacts, "freshName">): ConstantWriter {
	const nodes: NewNode[] = [];
	const compute: ConstantWriter["compute"] = (op, inputs, attributes) => {
		const name = freshName("trtgate_folded");
		nodes.push({ op, inputs, outputs: [name], ...(attributes && { attributes }) });
		return name;
	};
	const vector: ConstantWriter["vector"] = (values, dtype) =>
		compute("Constant", [], { value: { dtype, dims: [values.length], values } });
	return { nodes, compute, vector, flat: (name) => compute("Reshape", [name, vector([-1], "int64")]) };
}

// What folding and rounding need to know of a model, and names that the model does not use.

export interface GraphFacts {
	subject: Subject;
	readers: ReadonlyMap<string, number>;
	freshName(base: string): string;
}

export function factsOf(onnx: OnnxModel): GraphFacts {
	const subject = subjectOf({ path: "", onnx, sha256: "", external: [] }, { backend: "onnxruntime" });
	const readers = new Map<string, number>();
	const known = new Set<string>();
	for (const scope of subject.scopes) {
		for (const name of [...scope.outputs, ...scope.nodes.flatMap(({ inputs }) => inputs)])
			readers.set(name, (readers.get(name) ?? 0) + 1);
		for (const name of [
			...scope.inputs,
			...scope.initializers.map(({ name }) => name),
			...scope.nodes.flatMap(({ outputs }) => outputs),
		])
			known.add(name);
	}
	return { subject, readers, freshName: (base) => freshName(known, base) };
}

function freshName(known: Set<string>, base: string): string {
	let name = base;
	for (let turn = 2; known.has(name); turn += 1) name = `${base}_${turn}`;
	known.add(name);
	return name;
}

export function isFloatConstant(
	{ facts, fixed }: { facts: GraphFacts; fixed: FixedTensors },
	name: string,
): boolean {
	const [graph] = facts.subject.scopes;
	const types = graph && facts.subject.types.get(graph);
	return fixed.constants.has(name) && !fixed.dequantised.has(name) && types?.get(name) === "float";
}
