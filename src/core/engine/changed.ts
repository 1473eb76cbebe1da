// A component that changed, what the engines around it hold, and what the model itself changed there.

import { groupBy } from "../group.ts";
import { quoted } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import type { Component } from "./components.ts";
import type { PartFacts } from "./facts.ts";
import { producersOf } from "./fingerprint.ts";
import type { EngineModel, ModelLayer } from "./model.ts";

/** A component with what both engines do in it, and the engines around it. */
export interface Changed {
	component: Component;
	base: PartFacts;
	head: PartFacts;
	around: Around;
	/** The precision change that most components share: a setting of the build, not of one layer. */
	commonPrecision: string | null;
}

/** What the rules ask of the whole engines, prepared once. */
export interface Around {
	baseNodes: ReadonlySet<string>;
	headNodes: ReadonlySet<string>;
	/** Not where an exporter counts nodes: then most names are new. */
	areNamesKept: boolean;
	/** Of the head, by tensor. */
	readers: ReadonlyMap<string, readonly ModelLayer[]>;
	writers: ReadonlyMap<string, ModelLayer>;
	outputs: ReadonlySet<string>;
}

export function aroundOf({ base, head }: { base: EngineModel; head: EngineModel }): Around {
	const reads = head.layers.flatMap((layer) => layer.inputs.map(({ name }) => ({ name, layer })));
	const readers = [...groupBy(reads, ({ name }) => name)].map(([name, own]) => [name, own.map(({ layer }) => layer)] as const);
	const [baseNodes, headNodes] = [base, head].map(({ layers }) => new Set(layers.flatMap(({ nodes }) => nodes))) as [
		Set<string>,
		Set<string>,
	];
	return {
		baseNodes,
		headNodes,
		areNamesKept: [...headNodes].filter((node) => baseNodes.has(node)).length >= headNodes.size * 0.8,
		readers: new Map(readers),
		writers: producersOf(head.layers),
		outputs: new Set(head.io.filter(({ mode }) => mode !== "input").map(({ name }) => name)),
	};
}

export const code = (name: string): string => quoted(name, 60);

/** Casts that the model itself has, before or in the component, and only in the head. */
export function newCasts({ component, around }: Changed): string[] {
	return component.nodes.filter((node) => /cast/i.test(node.slice(-200)) && !around.baseNodes.has(node));
}

export const isNew = "new in the model:";

/** Nodes that the model gained and lost in the midst of others. */
export function editedNodes({ component: { tier, nodes }, around }: Changed): string {
	if (tier !== "names" || !around.areNamesKept) return "";
	const part = (what: string, known: ReadonlySet<string>): string[] => {
		const own = nodes.filter((node) => !known.has(node));
		return own.length === 0 ? [] : [`${what} ${listNames(own.map(code), 2)}`];
	};
	return [...part(isNew, around.baseNodes), ...part("no longer in the model:", around.headNodes)].join("; ");
}
