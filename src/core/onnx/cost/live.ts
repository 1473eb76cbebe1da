// The most bytes that tensors take at once while the nodes of a body run in order, each tensor from the node that makes it to the
// last that reads it.
import type { OnnxNode } from "../model.ts";
import { nodesInRunOrder, readsOf } from "../run-order.ts";
import type { Scope } from "../walk.ts";

interface LiveFacts {
	bytesOf(name: string): number | null;
	isConstant(name: string): boolean;
	/** Bytes that a node's bodies need beside its own tensors. */
	innerBytes(node: OnnxNode): number;
}

interface Live {
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export function peakOf(scope: Scope, { bytesOf, isConstant, innerBytes }: LiveFacts): Live {
	const reads = readsOf(scope);
	const readsOfNode = new Map(scope.nodes.map((node, at) => [node, reads[at] ?? []]));
	const order = nodesInRunOrder(scope).map((node) => ({ node, read: readsOfNode.get(node) ?? [] }));
	const lastRead = new Map(order.flatMap(({ read }, at) => read.map((name) => [name, at])));
	const kept = new Set(scope.outputs);
	const live = new Map<string, number>();
	let [bytes, peakBytes, tensors, unknownTensors] = [0, 0, 0, 0];
	const add = (name: string): void => {
		if (name === "" || isConstant(name) || live.has(name)) return;
		const size = bytesOf(name);
		tensors += 1;
		if (size === null) unknownTensors += 1;
		live.set(name, size ?? 0);
		bytes += size ?? 0;
	};
	const drop = (name: string): void => {
		if (kept.has(name)) return;
		bytes -= live.get(name) ?? 0;
		live.delete(name);
	};
	for (const name of scope.inputs) add(name);
	peakBytes = bytes;
	for (const [at, { node, read }] of order.entries()) {
		for (const name of node.outputs) add(name);
		peakBytes = Math.max(peakBytes, bytes + innerBytes(node));
		for (const name of read) if (lastRead.get(name) === at) drop(name);
		for (const name of node.outputs) if (!lastRead.has(name)) drop(name);
	}
	return { peakBytes, tensors, unknownTensors };
}
