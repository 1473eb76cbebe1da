// The most bytes that tensors take at once while the nodes of a body run in order, each tensor from the node that makes it to the
// last that reads it.

import type { OnnxNode } from "../model.ts";
import { nodesInRunOrder, readsOf } from "../run-order.ts";
import type { Scope } from "../walk.ts";

export interface LiveFacts {
	bytesOf(name: string): number | null;
	isConstant(name: string): boolean;
	innerBytes(node: OnnxNode): number;
}

export interface Live {
	peakBytes: number;
	tensors: number;
	unknownTensors: number;
}

export function peakOf(scope: Scope, { bytesOf, isConstant, innerBytes }: LiveFacts): Live {
	const reads = readsOf(scope);
	const readsOfNode = new Map(scope.nodes.map((node, at) => [node, reads[at] ?? []]));
	const order = nodesInRunOrder(scope);
	const lastRead = new Map(
		order.flatMap((node, at) => (readsOfNode.get(node) ?? []).map((name) => [name, at] as const)),
	);
	const kept = new Set(scope.outputs);
	const live = new Map<string, number>();
	const state: Live = { peakBytes: 0, tensors: 0, unknownTensors: 0 };
	let bytes = 0;
	const add = (name: string): void => {
		if (name === "" || isConstant(name) || live.has(name)) return;
		const size = bytesOf(name);
		state.tensors += 1;
		if (size === null) state.unknownTensors += 1;
		live.set(name, size ?? 0);
		bytes += size ?? 0;
	};
	const drop = (name: string): void => {
		if (kept.has(name)) return;
		bytes -= live.get(name) ?? 0;
		live.delete(name);
	};
	for (const name of scope.inputs) add(name);
	state.peakBytes = bytes;
	for (const [at, node] of order.entries()) {
		for (const name of node.outputs) add(name);
		state.peakBytes = Math.max(state.peakBytes, bytes + innerBytes(node));
		for (const name of readsOfNode.get(node) ?? []) if (lastRead.get(name) === at) drop(name);
		for (const name of node.outputs) if (!lastRead.has(name)) drop(name);
	}
	return state;
}
