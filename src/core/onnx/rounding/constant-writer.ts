// Writes nodes that compute on constants; ONNX Runtime does their arithmetic once, when it loads the model.
import type { NewNode } from "../graph-edit.ts";
import type { GraphFacts } from "./facts.ts";

export interface ConstantWriter {
	/** Nodes so far, in order. */
	nodes: NewNode[];
	/** The output of a new node on constants. */
	compute(op: string, inputs: readonly string[], attributes?: NewNode["attributes"]): string;
	vector(values: readonly number[], dtype: "float" | "int64"): string;
	/** As one vector. */
	flat(name: string): string;
}

export function constantWriter({ freshName }: Pick<GraphFacts, "freshName">): ConstantWriter {
	const nodes: NewNode[] = [];
	const compute: ConstantWriter["compute"] = (op, inputs, attributes) => {
		const name = freshName("trtgate_folded");
		nodes.push({ op, inputs, outputs: [name], ...(attributes && { attributes }) });
		return name;
	};
	const vector: ConstantWriter["vector"] = (values, dtype) => compute("Constant", [], { value: { dtype, dims: [values.length], values } });
	return { nodes, compute, vector, flat: (name) => compute("Reshape", [name, vector([-1], "int64")]) };
}
