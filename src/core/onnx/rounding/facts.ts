// What folding and rounding need to know of a model, and names that the model does not use.
import { type Subject, subjectOf } from "../findings/subject.ts";
import type { OnnxModel } from "../model.ts";
import type { FixedTensors } from "./constants.ts";

export interface GraphFacts {
	subject: Subject;
	/** How many nodes and graph outputs read a tensor, anywhere in the model. */
	readers: ReadonlyMap<string, number>;
	freshName(base: string): string;
}

export function factsOf(onnx: OnnxModel): GraphFacts {
	const subject = subjectOf({ path: "", onnx, sha256: "", external: [] }, { backend: "onnxruntime" });
	const readers = new Map<string, number>();
	const known = new Set<string>();
	for (const scope of subject.scopes) {
		for (const name of [...scope.outputs, ...scope.nodes.flatMap(({ inputs }) => inputs)]) readers.set(name, (readers.get(name) ?? 0) + 1);
		for (const name of [...scope.inputs, ...scope.initializers.map(({ name }) => name), ...scope.nodes.flatMap(({ outputs }) => outputs)])
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

/** A float weight of the graph that holds no integers. */
export function isFloatConstant({ facts, fixed }: { facts: GraphFacts; fixed: FixedTensors }, name: string): boolean {
	const [graph] = facts.subject.scopes;
	const types = graph && facts.subject.types.get(graph);
	return fixed.constants.has(name) && !fixed.dequantised.has(name) && types?.get(name) === "float";
}
