// The result of counting a graph: the cost of each node, of one pass through a body, and of the whole.
import type { OnnxNode } from "../model.ts";
import type { Dims } from "../static-shapes/operator.ts";

export interface CountedNode {
	node: OnnxNode;
	/** Sum over all its runs; null if unknown. */
	multiplyAdds: number | null;
	why?: string;
	weights: number;
	output: Dims | null;
}

export interface CountedGraph {
	multiplyAdds: number;
	parameters: number;
	weightBytes: number;
	activationBytes: number;
	nodes: readonly CountedNode[];
	unknownNodes: number;
	tensors: number;
	unknownTensors: number;
}

export interface CountedBody {
	nodes: readonly CountedNode[];
	outputs: readonly (Dims | null)[];
	firstOutput: Dims | null;
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export interface InputSizes {
	shapes: Readonly<Record<string, readonly number[]>>;
	values?: Readonly<Record<string, number>>;
}

export function leastOf({ nodes }: Pick<CountedBody, "nodes">): number {
	return nodes.reduce((sum, { multiplyAdds }) => sum + (multiplyAdds ?? 0), 0);
}
