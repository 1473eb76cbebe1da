// Finds which layers of the head do the work of which layers of the base.
import { groupBy } from "../../core/group.ts";
import { shorten } from "../../core/text/escape.ts";
import { unnumbered } from "./fingerprint.ts";
import { type Arm, layerLabel, type Match, matchStructures } from "./match.ts";
import { type EngineModel, type ModelLayer, neighboursOf } from "./model.ts";

export type { Arm };

export interface Component {
	base: readonly ModelLayer[];
	head: readonly ModelLayer[];
	nodes: readonly string[];
	tier: "names" | "structure" | "similarity" | "none";
	/** 0 to 1; 1 if names agree or nothing had to be matched. */
	confidence: number;
}

export interface Engines {
	base: EngineModel;
	head: EngineModel;
}

const maxNodes = 3;

export function groupLabel({ nodes, base, head, confidence }: Component): string {
	if (nodes.length === 0) return shorten((head[0] ?? base[0])?.name ?? "", 120);
	// If layers were not matched by names, the base's nodes have other names.
	const own = confidence < 1 ? [...new Set(head.flatMap((layer) => layer.nodes))] : nodes;
	const working = own.filter((node) => !/[._](weight|bias)$/.test(node.slice(-20)));
	const named = [working, own, nodes].find((some) => some.length > 0) ?? [];
	const shown = named.slice(0, maxNodes).map((node) => shorten(node, 48));
	return `${shown.join(" + ")}${named.length > maxNodes ? ` + ${named.length - maxNodes} more` : ""}`;
}

class Sets {
	private readonly parents = new Map<string, string>();

	find(key: string) {
		let root = key;
		while ((this.parents.get(root) ?? root) !== root) root = this.parents.get(root) ?? root;
		for (let at = key; at !== root; ) {
			const next = this.parents.get(at) ?? root;
			this.parents.set(at, root);
			at = next;
		}
		return root;
	}

	join(one: string, other: string) {
		this.parents.set(this.find(one), this.find(other));
	}
}

interface Placed {
	arm: Arm;
	layer: ModelLayer;
	key: string;
}

const layerKey = (arm: Arm, index: number) => `${arm} ${index}`;

export function componentsOf(engines: Engines): Component[] {
	const sets = new Sets();
	const all = (["head", "base"] as const).flatMap((arm) =>
		engines[arm].layers.map((layer) => ({ arm, layer, key: layerKey(arm, layer.index) })),
	);
	const isCommon = trusted.find(({ names, share }) => namesAgree(engines, names, share))?.names ?? /$^/;
	const paired = pairEqualSets(all, sets, isCommon);
	for (const { arm, layer, key } of all.filter((one) => !paired.has(one.key))) {
		for (const node of layer.nodes) sets.join(key, `node ${isCommon.test(node) ? "" : arm} ${node}`);
	}
	const matches = matchOneSided(engines, all, sets);
	for (const { base, head } of matches) sets.join(layerKey("base", base), layerKey("head", head));
	for (const { arm, layer, key } of all) if (layer.owner !== null) sets.join(key, layerKey(arm, layer.owner));
	joinUnattributed(all, sets);
	return collect(all, sets, matches);
}

/** First all names, then only those without an exporter's number; `share` of the comparable layers must agree. */
const trusted = [
	{ names: /^/, share: 0.95 },
	{ names: /[^\d]$/, share: 0.5 },
];

/**
 * Exporters count nodes: one more, and `Conv_14` is another layer. Names hold if they lead to the same operation for
 * nearly all layers that have a like one in the other engine.
 */
function namesAgree({ base, head }: Engines, names: RegExp, share: number) {
	if (base.detail === "names" || head.detail === "names") return true;
	const named = ({ layers }: EngineModel) =>
		layers
			.map((layer) => ({ nodes: layer.nodes.filter((node) => names.test(node)), label: layerLabel(layer) }))
			.filter(({ nodes }) => nodes.length > 0);
	const byNode = new Map<string, Set<string>>();
	const left = new Map<string, number>();
	for (const { nodes, label } of named(base)) {
		left.set(label, (left.get(label) ?? 0) + 1);
		for (const node of nodes) byNode.set(node, (byNode.get(node) ?? new Set()).add(label));
	}
	const claim = (label: string) => {
		const count = left.get(label) ?? 0;
		left.set(label, count - 1);
		return count > 0;
	};
	const heads = named(head);
	const strays = heads.filter(
		({ nodes, label }) => !nodes.some((node) => byNode.get(node)?.has(label)) || !claim(label),
	);
	const agreeing = heads.length - strays.length;
	const possible = agreeing + strays.filter(({ label }) => claim(label)).length;
	return agreeing >= possible * share;
}

function bySides(all: readonly Placed[], keyOf: (placed: Placed) => string | null) {
	const groups = [...groupBy(all, keyOf)].filter(([key]) => key !== null);
	return groups.map(([, own]) => ({
		base: own.filter(({ arm }) => arm === "base"),
		head: own.filter(({ arm }) => arm === "head"),
	}));
}

/** Layers of the same nodes are one change at most, so that chains of layers that share a node do not become one. */
function pairEqualSets(all: readonly Placed[], sets: Sets, names: RegExp) {
	const nodesOf = ({ layer }: Placed) => {
		const nodes = layer.nodes.filter((node) => names.test(node));
		return nodes.length === 0 ? null : nodes.sort().join("\n");
	};
	const paired = new Set<string>();
	for (const { base, head } of bySides(all, nodesOf)) {
		if (base.length !== head.length) continue;
		for (const [at, { key }] of base.entries()) {
			const partner = head[at]?.key ?? key;
			sets.join(key, partner);
			paired.add(key).add(partner);
		}
	}
	return paired;
}

function matchOneSided(engines: Engines, all: readonly Placed[], sets: Sets) {
	const groups = bySides(all, ({ layer, key }) => (layer.nodes.length > 0 ? sets.find(key) : null));
	const open = (arm: Arm, other: Arm) =>
		new Set(
			groups.flatMap((own) => (own[other].length === 0 ? own[arm].map(({ layer }) => layer.index) : [])),
		);
	const alone = { base: open("base", "head"), head: open("head", "base") };
	const known = groups.flatMap(({ base: [base], head: [head] }) =>
		base === undefined || head === undefined
			? []
			: [{ base: base.layer.index, head: head.layer.index, confidence: 1 }],
	);
	const matches =
		alone.base.size === 0 || alone.head.size === 0 ? [] : matchStructures(engines, alone, known);
	return [...matches, ...absorbed(engines, alone, [...known, ...matches])];
}

const operationOf = (node: string) => (node.split("/").at(-1) ?? node).replace(/_*\d+$/, "");
const count = (names: readonly string[], wanted: string) => names.filter((name) => name === wanted).length;

/** A layer without a counterpart beside one whose counterpart has its operation as well: one engine fuses them. */
function absorbed(engines: Engines, alone: Record<Arm, ReadonlySet<number>>, matches: readonly Match[]) {
	return (["base", "head"] as const).flatMap((arm) => {
		const other = arm === "base" ? "head" : "base";
		const pairs = new Map(matches.map((match) => [match[arm], match]));
		const { sources, readers } = neighboursOf(engines[arm].layers);
		const operations = (which: Arm, at: number) =>
			(engines[which].layers[at]?.nodes ?? []).map(operationOf).filter((name) => name !== "");
		return [...alone[arm]].flatMap((at) => {
			if (pairs.has(at)) return [];
			const own = operations(arm, at);
			const match = [...(sources[at] ?? []), ...(readers[at] ?? [])]
				.flatMap((near) => pairs.get(near) ?? [])
				.find((pair) => {
					const [here, there] = [operations(arm, pair[arm]), operations(other, pair[other])];
					return own.some((name) => count(there, name) > count(here, name));
				});
			if (match === undefined) return [];
			return [{ ...match, [arm]: at, confidence: Math.min(match.confidence, 0.8) }];
		});
	});
}

function joinUnattributed(all: readonly Placed[], sets: Sets) {
	const isAlone = ({ layer }: Placed) => layer.nodes.length === 0 && layer.owner === null;
	for (const { base, head } of bySides(all, (one) => (isAlone(one) ? unnumbered(one.layer.name) : null)))
		for (const [at, { key }] of head.entries()) {
			const own = base[at];
			if (own !== undefined) sets.join(own.key, key);
		}
}

function collect(all: readonly Placed[], sets: Sets, matches: readonly Match[]): Component[] {
	const confidences = new Map(
		matches.map(({ head, confidence }) => [sets.find(layerKey("head", head)), confidence]),
	);
	return [...groupBy(all, ({ key }) => sets.find(key))].map(([root, own]) => {
		const layersOf = (arm: Arm) => own.filter((one) => one.arm === arm).map(({ layer }) => layer);
		const [base, head] = [layersOf("base"), layersOf("head")];
		const nodes = [...new Set(own.flatMap(({ layer }) => layer.nodes))];
		const confidence = confidences.get(root) ?? 1;
		const isOneSided = base.length === 0 || head.length === 0;
		return { base, head, nodes, confidence, tier: isOneSided ? "none" : tierOf(confidence) };
	});
}

function tierOf(confidence: number) {
	if (confidence === 1) return "names";
	return confidence >= 0.85 ? "structure" : "similarity";
}
