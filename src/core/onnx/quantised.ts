// Whether a model computes in small integers.
import type { OnnxGraph } from "./model.ts";

const quantisedOperators = /^((De|Dynamic)?[Qq]uantize|QLinear|QGemm|QAttention)|Integer/;

/** Quantised operators anywhere in it: runtimes fuse them differently, so that they round at other places. */
export function isQuantised(graph: OnnxGraph): boolean {
	return graph.nodes.some(({ op }) => quantisedOperators.test(op)) || graph.subgraphs.some((inner) => isQuantised(inner.graph));
}
