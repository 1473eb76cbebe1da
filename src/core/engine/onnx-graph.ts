// The ONNX graphs of both engines as one: each node with the kernel that ran it on each side.

import type { EngineGroup } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import type { OnnxNode } from "../onnx/model.ts";
import { shorten } from "../text/escape.ts";
import type { Component, Engines } from "./components.ts";
import type { PartFacts } from "./facts.ts";
import { takesTime } from "./layer.ts";
import { type EngineModel, type ModelLayer, undelayed } from "./model.ts";
import type { Delta } from "./noise.ts";
import { commonSequence } from "./sequence.ts";

export interface GraphGroup {
	component: Component;
	base: PartFacts;
	head: PartFacts;
	isChanged: boolean;
	delta: Delta;
}

export interface Part {
	/** Where it comes in each engine; null: only the other has it. */
	base: number | null;
	head: number | null;
	shown: EngineGroup;
}

export type ArmEdges = Iterable<readonly [from: number, to: number, isFused: boolean]>;

type Arm = "base" | "head";

/** As TensorRT names a node that has no name. */
export const nameOf = ({ name, outputs }: OnnxNode): string => name || `node_of_${outputs[0] ?? ""}`;

interface PlacedNode extends OnnxNode {
	at: number;
	/** Layers that run it; none where the builder computed it, or where it needs no work. */
	layers: readonly ModelLayer[];
	group: GraphGroup | undefined;
}

function layersByNode({ layers }: EngineModel): Map<string, readonly ModelLayer[]> {
	const pairs = layers.filter(takesTime).flatMap((layer) => layer.nodes.map((node) => ({ node, layer })));
	return new Map(
		[...groupBy(pairs, ({ node }) => node)].map(([node, own]) => [node, own.map(({ layer }) => layer)]),
	);
}

function placed(engine: EngineModel, arm: Arm, groups: readonly GraphGroup[]): PlacedNode[] {
	const layersOf = layersByNode(engine);
	const groupOf = new Map(
		groups.flatMap((group) => group.component[arm].map((layer) => [layer.index, group] as const)),
	);
	const nodes = (engine.graph?.nodes ?? []).map((node, at): PlacedNode => {
		const layers = layersOf.get(nameOf(node)) ?? [];
		return { ...node, at, name: nameOf(node), layers, group: layers[0] && groupOf.get(layers[0].index) };
	});
	return nodes.filter(({ op }) => op !== "Constant");
}

/** By name where both ran in one group, else by operation, in the order of the graphs. */
function pairsOf(
	base: readonly PlacedNode[],
	head: readonly PlacedNode[],
	groups: readonly GraphGroup[],
): Map<number, PlacedNode> {
	const numbers = new Map<GraphGroup | undefined, number>(groups.map((group, at) => [group, at]));
	const byName = new Map(base.map((node) => [`${node.op} ${node.name}`, node]));
	const pairs = new Map<number, PlacedNode>();
	for (const { at, op, name, group } of head) {
		const same = byName.get(`${op} ${name}`);
		if (same !== undefined && (same.group === group || same.group === undefined || group === undefined))
			pairs.set(at, same);
	}
	const taken = new Set(pairs.values());
	const [left, right] = [base.filter((node) => !taken.has(node)), head.filter(({ at }) => !pairs.has(at))];
	const mark = ({ op, group }: PlacedNode): string => `${op} ${numbers.get(group) ?? ""}`;
	for (const [one, other] of commonSequence(left.map(mark), right.map(mark))) {
		const [from, to] = [left[one], right[other]];
		if (from !== undefined && to !== undefined) pairs.set(to.at, from);
	}
	return pairs;
}

/** `overheadMs`: what the profiler adds to each layer. */
export function nodeParts(groups: readonly GraphGroup[], engines: Engines, overheadMs: number): Part[] {
	const [base, head] = [placed(engines.base, "base", groups), placed(engines.head, "head", groups)];
	const pairs = pairsOf(base, head, groups);
	const taken = new Set(pairs.values());
	const gone = base.filter((node) => !taken.has(node));
	return [
		...head.map((node) => partOf(pairs.get(node.at) ?? null, node, overheadMs)),
		...gone.map((node) => partOf(node, null, overheadMs)),
	];
}

function partOf(base: PlacedNode | null, head: PlacedNode | null, overheadMs: number): Part {
	const group = head?.group ?? base?.group;
	const node = head ?? base;
	const isChanged =
		group !== undefined && (base === null || head === null || group.isChanged || group.delta.isSignificant);
	return {
		base: base?.at ?? null,
		head: head?.at ?? null,
		shown: {
			...{
				label: shorten(node?.name ?? "", 120),
				op: shorten(node?.op ?? "", 40),
				base: ran(base, overheadMs),
				head: ran(head, overheadMs),
				isChanged,
			},
			...(isChanged && group?.delta.isSignificant ? { changeMs: group.delta.ms } : {}),
		},
	};
}

function ran(node: PlacedNode | null, overheadMs: number): EngineGroup["head"] {
	if (node === null) return null;
	const { layers } = node;
	const precision = layers.find((layer) => layer.precision !== null)?.precision;
	const isTimed = layers.some(({ timesMs }) => timesMs.length > 0);
	const shared = layers.reduce((most, { nodes }) => Math.max(most, nodes.length), 1);
	return {
		ms: isTimed
			? layers.reduce((sum, { timesMs }) => sum + Math.max(0, undelayed(timesMs) - overheadMs), 0)
			: null,
		kernels: layers.length,
		...(precision == null ? {} : { precision }),
		...(shared > 1 ? { shared } : {}),
	};
}

/** Tensors between nodes; inside one kernel they are never written to memory. */
export function* nodeEdges(engine: EngineModel): ArmEdges & Generator {
	const layersOf = layersByNode(engine);
	const nodes = engine.graph?.nodes ?? [];
	const writers = new Map(nodes.flatMap((node, at) => node.outputs.map((output) => [output, at] as const)));
	for (const [at, node] of nodes.entries()) {
		const own = layersOf.get(nameOf(node)) ?? [];
		for (const input of node.inputs) {
			const from = writers.get(input);
			const source = from === undefined ? undefined : nodes[from];
			if (from === undefined || source === undefined) continue;
			const before = layersOf.get(nameOf(source)) ?? [];
			yield [from, at, own.length > 0 && own.some((layer) => before.includes(layer))];
		}
	}
}
