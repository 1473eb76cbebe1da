// Both engines as one graph, for a picture: what each side does where, and what reads what.
import type { EngineGraph, EngineGroup } from "../../../generated/result.ts";
import { type Component, type Engines, groupLabel } from "./components.ts";
import { timeOf } from "./facts.ts";
import { type EngineModel, neighboursOf } from "./model.ts";
import { type ArmEdges, type GraphGroup, nameOf, nodeEdges, nodeParts, type Part } from "./onnx-graph.ts";

const mostGroups = 2000;
const mostEdges = 8000;

/** Of single nodes where both models are known, else of groups. null where nothing changed: there is nothing to see. */
export function graphOf(
	groups: readonly GraphGroup[],
	engines: Engines,
	overheadMs: number,
): EngineGraph | null {
	if (!groups.some(differs)) return null;
	const isOfNodes = isOf(engines.base) && isOf(engines.head);
	const parts = inOrder(isOfNodes ? nodeParts(groups, engines, overheadMs) : groups.map(partOf));
	const edges = edgesOf(parts, (arm) =>
		isOfNodes ? nodeEdges(engines[arm]) : layerEdges(engines[arm], groups, arm),
	);
	const kept = nearChanges(parts, edges).sort((a, b) => a - b);
	const placeOf = new Map(kept.map((at, place) => [at, place]));
	const moved = edges.flatMap(([from, to, where]) => {
		const [one, other] = [placeOf.get(from), placeOf.get(to)];
		return one === undefined || other === undefined ? [] : [[one, other, where] as [number, number, number]];
	});
	return {
		groups: kept.flatMap((at) => parts[at]?.shown ?? []),
		edges: moved.slice(0, mostEdges),
		...(isOfNodes ? { nodes: true } : {}),
	};
}

/** Half of the nodes that its layers name are in the model: it is the model that it was built from. */
function isOf({ graph, layers }: EngineModel): boolean {
	const known = new Set(graph?.nodes.map(nameOf));
	const named = new Set(layers.flatMap(({ nodes }) => nodes));
	return graph !== null && [...named].filter((name) => known.has(name)).length * 2 >= named.size;
}

/** Its structure, or its time beyond the noise. */
const differs = ({ isChanged, delta }: GraphGroup): boolean => isChanged || delta.isSignificant;

const firstOf = (layers: Component["base"]): number =>
	layers.reduce((least, { index }) => Math.min(least, index), Number.POSITIVE_INFINITY);

function partOf(group: GraphGroup): Part {
	const { component, delta } = group;
	const arm = (which: "base" | "head"): EngineGroup["head"] => {
		const [layers, facts] = [component[which], group[which]];
		const [precision] = facts.precisions;
		const ms = !facts.isTimed ? null : timeOf(facts);
		return layers.length === 0 ? null : { ms, kernels: facts.kernels.length, precision };
	};
	const place = (layers: Component["base"]) => (layers.length === 0 ? null : firstOf(layers));
	return {
		base: place(component.base),
		head: place(component.head),
		shown: {
			...{ label: groupLabel(component), base: arm("base"), head: arm("head"), isChanged: differs(group) },
			...(delta.isSignificant ? { changeMs: delta.ms } : {}),
		},
	};
}

/** As the head runs them; what is gone follows what ran before it in the base. */
function inOrder(parts: readonly Part[]): Part[] {
	const byBase = parts.filter(({ base }) => base !== null).sort((a, b) => (a.base ?? 0) - (b.base ?? 0));
	const places = new Map<Part, number>();
	let last = -1;
	for (const part of byBase) {
		if (part.head !== null) last = part.head;
		else places.set(part, last + 0.5);
	}
	const place = (part: Part): number => places.get(part) ?? part.head ?? 0;
	return [...parts].sort((a, b) => place(a) - place(b));
}

/** `where`: 1 base, 2 head, 4 inside one kernel of the base, 8 of the head. */
type Edge = readonly [from: number, to: number, where: number];

function edgesOf(parts: readonly Part[], of: (arm: "base" | "head") => ArmEdges): Edge[] {
	const found = new Map<number, Edge>();
	for (const [arm, where] of [
		["base", 1],
		["head", 2],
	] as const) {
		const partAt = new Map(parts.map((part, at) => [part[arm], at]));
		for (const [one, other, isFused] of of(arm)) {
			const [from, to] = [partAt.get(one), partAt.get(other)];
			if (from === undefined || to === undefined || from === to) continue;
			const key = from * parts.length + to;
			found.set(key, [from, to, (found.get(key)?.[2] ?? 0) | where | (isFused ? where << 2 : 0)]);
		}
	}
	return [...found.values()];
}

const maxThrough = 64;

function* layerEdges(
	{ layers }: EngineModel,
	groups: readonly GraphGroup[],
	arm: "base" | "head",
): Generator<[number, number, boolean]> {
	const { sources } = neighboursOf(layers);
	const places = groups.flatMap(({ component }) => {
		const place = firstOf(component[arm]);
		return component[arm].map(({ index }) => [index, place] as const);
	});
	const placeOf = new Map(places);
	for (const [index, to] of placeOf) {
		for (const source of throughIdle(index, sources, placeOf)) {
			const from = placeOf.get(source);
			if (from !== undefined) yield [from, to, false];
		}
	}
}

function throughIdle(
	index: number,
	sources: readonly (readonly number[])[],
	groupAt: ReadonlyMap<number, number>,
): Set<number> {
	const seen = new Set(sources[index]);
	for (const source of seen) {
		if (groupAt.has(source) || seen.size >= maxThrough) continue;
		for (const next of sources[source] ?? []) seen.add(next);
	}
	return seen;
}

function nearChanges(groups: readonly Part[], edges: readonly Edge[]): number[] {
	if (groups.length <= mostGroups) return groups.map((_, at) => at);
	const near = groups.map((): number[] => []);
	for (const [from, to] of edges) {
		near[from]?.push(to);
		near[to]?.push(from);
	}
	const found = new Set(groups.flatMap(({ shown }, at) => (shown.isChanged ? [at] : [])));
	for (const at of found) {
		if (found.size >= mostGroups) break;
		for (const next of near[at] ?? []) found.add(next);
	}
	return [...found].slice(0, mostGroups);
}
