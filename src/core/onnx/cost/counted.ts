// What counting a graph gives: the cost of each node, of one pass through a body, and of the whole.
import type { OnnxNode } from "../model.ts";
import type { Dims } from "../static-shapes/operator.ts";

export interface CountedNode {
	node: OnnxNode;
	/** In all its runs; null where they are not known. */
	multiplyAdds: number | null;
	/** Why they are not known, as the end of a sentence that begins with the node. */
	why?: string;
	/** Elements of its constant inputs. */
	weights: number;
	/** Shape of its first output. */
	output: Dims | null;
}

/** Every figure is at least this: what is not known counts as 0. */
export interface CountedGraph {
	multiplyAdds: number;
	/** Elements of all tensors that the file holds. */
	parameters: number;
	weightBytes: number;
	/** The most bytes of tensors that are alive at once, in the types of the file. */
	activationBytes: number;
	nodes: readonly CountedNode[];
	/** Nodes whose multiply-adds are not known. */
	unknownNodes: number;
	tensors: number;
	unknownTensors: number;
}

/** Of one pass through a body of nodes. */
export interface CountedBody {
	nodes: readonly CountedNode[];
	outputs: readonly (Dims | null)[];
	/** Values of the first output, where it is a short list. */
	firstOutput: Dims | null;
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export interface InputSizes {
	/** By input. */
	shapes: Readonly<Record<string, readonly number[]>>;
	/** Inputs of one number that the run gives. */
	values?: Readonly<Record<string, number>>;
}

/** What is not known counts as 0. */
export function leastOf({ nodes }: Pick<CountedBody, "nodes">): number {
	return nodes.reduce((sum, { multiplyAdds }) => sum + (multiplyAdds ?? 0), 0);
}
