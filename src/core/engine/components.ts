// Which layers of the head do the work of which layers of the base: connected parts of the graph between layers and ONNX nodes.
import { groupBy } from "../group.ts";
import { shorten } from "../text/escape.ts";
import { unnumbered } from "./fingerprint.ts";
import { layerLabel, type Match, matchStructures } from "./match.ts";
import { type EngineModel, type ModelLayer, neighboursOf } from "./model.ts";

export type MatchTier = "names" | "structure" | "similarity" | "none";

export interface Component {
	base: readonly ModelLayer[];
	head: readonly ModelLayer[];
	nodes: readonly string[];
	tier: MatchTier;
	/** 0 to 1; 1 where names agree or nothing had to be matched. */
	confidence: number;
}

export interface Engines {
	base: EngineModel;
	head: EngineModel;
}

const maxNodes = 3;

export function groupLabel({ nodes, base, head, confidence }: Component): string {
	const first = (head[0] ?? base[0])?.name ?? "";
	if (nodes.length === 0) return shorten(first, 120);
	// Where names were not what matched them, the base has others for the same nodes. Names of layers hold those of constants, too.
	const own = confidence < 1 ? [...new Set(head.flatMap((layer) => layer.nodes))] : nodes;
	const working = own.filter((node) => !/[._](weight|bias)$/.test(node.slice(-20)));
	const named = [working, own, nodes].find((some) => some.length > 0) ?? [];
	const shown = named.slice(0, maxNodes).map((node) => shorten(node, 48));
	return `${shown.join(" + ")}${named.length > maxNodes ? ` + ${named.length - maxNodes} more` : ""}`;
}

class Sets {
	private readonly parents = new Map<string, string>();

	find(key: string): string {
		let root = key;
		for (
			let parent = this.parents.get(root);
			parent !== undefined && parent !== root;
			parent = this.parents.get(root)
		)
			root = parent;
		for (let at = key; at !== root; ) {
			const next = this.parents.get(at) ?? root;
			this.parents.set(at, root);
			at = next;
		}
		return root;
	}

	join(one: string, other: string): void {
		this.parents.set(this.find(one), this.find(other));
	}
}

type Arm = "base" | "head";

interface Placed {
	arm: Arm;
	layer: ModelLayer;
	key: string;
}

const layerKey = (arm: Arm, index: number): string => `${arm} ${index}`;

function placed(engines: Engines): Placed[] {
	const of = (arm: Arm) =>
		engines[arm].layers.map((layer) => ({ arm, layer, key: layerKey(arm, layer.index) }));
	return [...of("head"), ...of("base")];
}

export function componentsOf(engines: Engines): Component[] {
	const sets = new Sets();
	const all = placed(engines);
	const isCommon = trusted.find(({ names, share }) => namesAgree(engines, names, share))?.names ?? /$^/;
	const paired = pairEqualSets(all, sets, isCommon);
	for (const { arm, layer, key } of all.filter((one) => !paired.has(one.key))) {
		// Names that do not agree say nothing across the engines.
		for (const node of layer.nodes) sets.join(key, `node ${isCommon.test(node) ? "" : arm} ${node}`);
	}
	const matches = matchOneSided(engines, all, sets);
	for (const { base, head } of matches) sets.join(layerKey("base", base), layerKey("head", head));
	for (const { arm, layer, key } of all) if (layer.owner !== null) sets.join(key, layerKey(arm, layer.owner));
	joinUnattributed(all, sets);
	return collect(all, sets, matches);
}

/** All names, or those that no exporter counted, such as those of weights: where the share of layers agrees that have a like one. */
const trusted = [
	{ names: /^/, share: 0.95 },
	{ names: /[^\d]$/, share: 0.5 },
];

/**
 * Exporters count nodes: one more, and `Conv_14` is another layer. Names hold where they lead to the same operation for
 * nearly all layers that have a like one in the other engine.
 */
function namesAgree({ base, head }: Engines, names: RegExp, share: number): boolean {
	const byNode = new Map<string, Set<string>>();
	const left = new Map<string, number>();
	const named = ({ nodes }: ModelLayer): boolean => nodes.some((node) => names.test(node));
	for (const layer of base.layers.filter(named)) {
		const own = layerLabel(layer);
		left.set(own, (left.get(own) ?? 0) + 1);
		for (const node of layer.nodes) byNode.set(node, (byNode.get(node) ?? new Set()).add(own));
	}
	const claim = (own: string): boolean => {
		const count = left.get(own) ?? 0;
		left.set(own, count - 1);
		return count > 0;
	};
	const labelled = head.layers.filter(named).map((layer) => ({ nodes: layer.nodes, own: layerLabel(layer) }));
	const strays = labelled.filter(
		({ nodes, own }) => !nodes.some((node) => names.test(node) && byNode.get(node)?.has(own)) || !claim(own),
	);
	const agreeing = labelled.length - strays.length;
	const possible = agreeing + strays.filter(({ own }) => claim(own)).length;
	return agreeing >= possible * share || base.detail === "names" || head.detail === "names";
}

/** Layers of the same nodes are one change at most, so that chains of layers that share a node do not become one. */
function pairEqualSets(all: readonly Placed[], sets: Sets, names: RegExp): Set<string> {
	const groups = new Map<string, Record<Arm, string[]>>();
	for (const { arm, layer, key } of all) {
		const nodes = layer.nodes
			.filter((node) => names.test(node))
			.sort()
			.join("\n");
		if (nodes === "") continue;
		const own = groups.get(nodes) ?? { base: [], head: [] };
		own[arm].push(key);
		groups.set(nodes, own);
	}
	const pairs = [...groups.values()].flatMap(({ base, head }) =>
		base.length === head.length ? base.map((one, at) => [one, head[at] ?? one] as const) : [],
	);
	for (const pair of pairs) sets.join(...pair);
	return new Set(pairs.flat());
}

function matchOneSided(engines: Engines, all: readonly Placed[], sets: Sets): Match[] {
	const roots = new Map<string, Record<Arm, number[]>>();
	for (const { arm, layer, key } of all.filter((one) => one.layer.nodes.length > 0)) {
		const root = sets.find(key);
		const own = roots.get(root) ?? { base: [], head: [] };
		own[arm].push(layer.index);
		roots.set(root, own);
	}
	const groups = [...roots.values()];
	const open = (arm: Arm, other: Arm) =>
		new Set(groups.flatMap((own) => (own[other].length === 0 ? own[arm] : [])));
	const alone = { base: open("base", "head"), head: open("head", "base") };
	const known = groups.flatMap(({ base: [base], head: [head] }): Match[] =>
		base === undefined || head === undefined ? [] : [{ base, head, confidence: 1 }],
	);
	const matches =
		alone.base.size === 0 || alone.head.size === 0 ? [] : matchStructures(engines, alone, known);
	return [...matches, ...absorbed(engines, alone, [...known, ...matches])];
}

const operationOf = (node: string): string => (node.split("/").at(-1) ?? node).replace(/_*\d+$/, "");

/** A layer without a counterpart beside one whose counterpart has its operation as well: one engine fuses them. */
function absorbed(
	engines: Engines,
	alone: Record<Arm, ReadonlySet<number>>,
	matches: readonly Match[],
): Match[] {
	return (["base", "head"] as const).flatMap((arm): Match[] => {
		const other = arm === "base" ? "head" : "base";
		const pairs = new Map(matches.map((match) => [match[arm], match]));
		const { sources, readers } = neighboursOf(engines[arm].layers);
		const operations = (which: Arm, at: number) =>
			(engines[which].layers[at]?.nodes ?? []).map(operationOf).filter((name) => name !== "");
		return [...alone[arm]].flatMap((at): Match[] => {
			if (pairs.has(at)) return [];
			const own = operations(arm, at);
			const match = [...(sources[at] ?? []), ...(readers[at] ?? [])]
				.flatMap((near) => pairs.get(near) ?? [])
				.find((pair) => {
					const [here, there] = [operations(arm, pair[arm]), operations(other, pair[other])];
					return own.some((name) => count(there, name) > count(here, name));
				});
			return match === undefined
				? []
				: [{ ...match, [arm]: at, confidence: Math.min(match.confidence, 0.8) }];
		});
	});
}

const count = (names: readonly string[], wanted: string): number =>
	names.filter((name) => name === wanted).length;

function joinUnattributed(all: readonly Placed[], sets: Sets): void {
	const alone = all.filter(({ layer }) => layer.nodes.length === 0 && layer.owner === null);
	const bases = groupBy(
		alone.filter(({ arm }) => arm === "base"),
		({ layer }) => unnumbered(layer.name),
	);
	for (const { arm, layer, key } of alone) {
		const own = arm === "head" ? bases.get(unnumbered(layer.name))?.shift() : undefined;
		if (own !== undefined) sets.join(own.key, key);
	}
}

function collect(all: readonly Placed[], sets: Sets, matches: readonly Match[]): Component[] {
	const groups = new Map<string, Record<Arm, ModelLayer[]>>();
	for (const { arm, layer, key } of all) {
		const root = sets.find(key);
		const own = groups.get(root) ?? { base: [], head: [] };
		own[arm].push(layer);
		groups.set(root, own);
	}
	const confidences = new Map(
		matches.map(({ head, confidence }) => [sets.find(layerKey("head", head)), confidence]),
	);
	return [...groups].map(([root, own]) => {
		const nodes = [...new Set([...own.head, ...own.base].flatMap((layer) => layer.nodes))];
		const confidence = confidences.get(root) ?? 1;
		const isOneSided = own.base.length === 0 || own.head.length === 0;
		return { ...own, nodes, confidence, tier: isOneSided ? "none" : tierOf(confidence) };
	});
}

function tierOf(confidence: number): MatchTier {
	if (confidence === 1) return "names";
	return confidence >= 0.85 ? "structure" : "similarity";
}
