// Finds the part of a graph that no input reaches: engines compute it once, while they are built.
import { type Subject, subjectOf } from "../findings/subject.ts";
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
/** Their results depend on shapes alone, which are known before any value is computed. */
const ofShapes = new Set(["Shape", "Size"]);
const quantising = new Set(["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"]);

export interface FixedTensors {
	constants: ReadonlySet<string>;
	/** Constants and what is computed from shapes: sizes, scales, lengths. Engines compute them in full precision. */
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
		if (isComputedFrom(constants, node)) addAll(constants, node.outputs);
		if (!isComputedFrom(fixed, node) && !ofShapes.has(node.op)) continue;
		addAll(fixed, node.outputs);
		if (quantising.has(node.op) || dequantised.has(node.inputs[0] ?? "")) addAll(dequantised, node.outputs);
	}
	return { constants, fixed, dequantised };
}

function addAll(to: Set<string>, names: readonly string[]): void {
	for (const name of names) to.add(name);
}

function isComputedFrom(known: ReadonlySet<string>, { op, inputs }: OnnxNode): boolean {
	const read = inputs.filter((name) => name !== "");
	return read.length > 0 ? read.every((name) => known.has(name)) : op === "Constant";
}

export interface GraphFacts {
	subject: Subject;
	/** How many nodes and graph outputs read a tensor, in all scopes. */
	readers: ReadonlyMap<string, number>;
	/** A name that the model does not use. */
	freshName(base: string): string;
}

export function factsOf(onnx: OnnxModel): GraphFacts {
	const subject = subjectOf({ path: "", onnx, sha256: "", external: [] }, { backend: "onnxruntime" });
	const readers = new Map<string, number>();
	const known = new Set<string>();
	for (const { inputs, initializers, nodes, outputs } of subject.scopes) {
		for (const name of [...outputs, ...nodes.flatMap((node) => node.inputs)])
			readers.set(name, (readers.get(name) ?? 0) + 1);
		addAll(known, inputs);
		for (const { name } of initializers) known.add(name);
		for (const node of nodes) addAll(known, node.outputs);
	}
	const freshName = (base: string): string => {
		let name = base;
		for (let turn = 2; known.has(name); turn += 1) name = `${base}_${turn}`;
		known.add(name);
		return name;
	};
	return { subject, readers, freshName };
}
