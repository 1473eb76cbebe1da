// A changed component, its surroundings, and what the model changed there.
import { groupBy } from "../../core/group.ts";
import { quoted } from "../../core/text/escape.ts";
import { listNames } from "../../core/text/labels.ts";
import type { Component, Engines } from "./components.ts";
import type { PartFacts } from "./facts.ts";
import { producersOf } from "./fingerprint.ts";
import type { EngineModel, ModelLayer } from "./model.ts";

export interface Changed {
	component: Component;
	base: PartFacts;
	head: PartFacts;
	around: Around;
	commonPrecision: string | null;
}

interface Around {
	baseNodes: ReadonlySet<string>;
	headNodes: ReadonlySet<string>;
	/** So a node that only one side names was added to or removed from the model. */
	areNamesKept: boolean;
	isSameModel: boolean;
	isUpgrade: boolean;
	readers: ReadonlyMap<string, readonly { layer: ModelLayer }[]>;
	writers: ReadonlyMap<string, ModelLayer>;
	/** Some engines do not say which tensors are outputs; outputs have a writer. */
	inputs: ReadonlySet<string>;
	outputs: ReadonlySet<string>;
}

export function aroundOf(
	{ base, head }: Engines,
	{ isSameModel = false, isUpgrade = false }: { isSameModel?: boolean; isUpgrade?: boolean },
): Around {
	const reads = head.layers.flatMap((layer) => layer.inputs.map(({ name }) => ({ name, layer })));
	const nodesOf = ({ layers }: EngineModel) => new Set(layers.flatMap(({ nodes }) => nodes));
	const [baseNodes, headNodes] = [nodesOf(base), nodesOf(head)];
	const boundary = (other: "input" | "output") =>
		new Set(head.io.filter(({ mode }) => mode !== other).map(({ name }) => name));
	return {
		baseNodes,
		headNodes,
		areNamesKept:
			!isSameModel && [...headNodes].filter((node) => baseNodes.has(node)).length >= headNodes.size * 0.8,
		isSameModel,
		isUpgrade,
		readers: groupBy(reads, ({ name }) => name),
		writers: producersOf(head.layers),
		inputs: boundary("output"),
		outputs: boundary("input"),
	};
}

export const code = (name: string): string => quoted(name, 60);

export function newCasts({ component, around }: Changed): string[] {
	return component.nodes.filter((node) => /cast/i.test(node.slice(-200)) && !around.baseNodes.has(node));
}

function nodesOutside({ component: { tier, nodes }, around }: Changed, known: ReadonlySet<string>) {
	return tier !== "names" || !around.areNamesKept ? [] : nodes.filter((node) => !known.has(node));
}

export const newNodes = (changed: Changed): string[] => nodesOutside(changed, changed.around.baseNodes);

export function editedNodes(changed: Changed): string {
	const part = (what: string, nodes: readonly string[]) =>
		nodes.length === 0 ? [] : [`${what} ${listNames(nodes.map(code), 2)}`];
	const lost = nodesOutside(changed, changed.around.headNodes);
	return [...part("new in the model:", newNodes(changed)), ...part("no longer in the model:", lost)].join(
		"; ",
	);
}
