// Both engines as one graph of groups of ONNX nodes, for a picture: what each arm does there, and what reads what.
import type { EngineGraph } from "../schema/result.ts";
import { type Component, type Engines, groupLabel } from "./components.ts";
import { type PartFacts, timeOf } from "./facts.ts";
import { type EngineModel, neighboursOf } from "./model.ts";
import type { Delta } from "./noise.ts";

interface GraphGroup {
	component: Component;
	base: PartFacts;
	head: PartFacts;
	isChanged: boolean;
	delta: Delta;
}

const mostGroups = 2000;
const mostEdges = 8000;

/** null where nothing changed: there is nothing to see. */
export function graphOf(groups: readonly GraphGroup[], engines: Engines): EngineGraph | null {
	if (!groups.some(differs)) return null;
	const ordered = inOrder(groups);
	const edges = edgesOf(ordered, engines);
	const kept = nearChanges(ordered, edges).sort((a, b) => a - b);
	const placeOf = new Map(kept.map((at, place) => [at, place]));
	const moved = edges.flatMap(([from, to, where]) => {
		const [one, other] = [placeOf.get(from), placeOf.get(to)];
		return one === undefined || other === undefined ? [] : [[one, other, where] as [number, number, number]];
	});
	return { groups: kept.flatMap((at) => (ordered[at] === undefined ? [] : [shown(ordered[at])])), edges: moved.slice(0, mostEdges) };
}

/** Its structure, or its time beyond the noise. */
const differs = ({ isChanged, delta }: GraphGroup): boolean => isChanged || delta.isSignificant;

function shown(group: GraphGroup): EngineGraph["groups"][number] {
	const { component, base, head, delta } = group;
	const arm = (layers: Component["base"], facts: PartFacts) => {
		const [precision] = facts.precisions;
		const ms = facts.timesMs.length === 0 ? null : timeOf(facts);
		return layers.length === 0 ? null : { ms, kernels: facts.kernels.length, ...(precision === undefined ? {} : { precision }) };
	};
	return {
		label: groupLabel(component),
		base: arm(component.base, base),
		head: arm(component.head, head),
		isChanged: differs(group),
		...(delta.isSignificant ? { changeMs: delta.ms } : {}),
	};
}

/** As the head runs them; what is gone follows what ran before it in the base. */
function inOrder(groups: readonly GraphGroup[]): GraphGroup[] {
	const first = (layers: Component["base"]): number =>
		layers.reduce((least, { index }) => Math.min(least, index), Number.POSITIVE_INFINITY);
	const byBase = groups
		.filter(({ component }) => component.base.length > 0)
		.sort((a, b) => first(a.component.base) - first(b.component.base));
	const places = new Map<GraphGroup, number>();
	let last = -1;
	for (const group of byBase) {
		if (group.component.head.length > 0) last = first(group.component.head);
		else places.set(group, last + 0.5);
	}
	const place = (group: GraphGroup): number => places.get(group) ?? first(group.component.head);
	return [...groups].sort((a, b) => place(a) - place(b));
}

type Edge = readonly [from: number, to: number, where: number];

function edgesOf(groups: readonly GraphGroup[], engines: Engines): Edge[] {
	const found = new Map<number, Edge>();
	for (const [arm, where] of [
		["base", 1],
		["head", 2],
	] as const) {
		const groupAt = new Map(groups.flatMap(({ component }, at) => component[arm].map(({ index }) => [index, at] as const)));
		for (const [from, to] of armEdges(engines[arm], groupAt)) {
			const key = from * groups.length + to;
			found.set(key, [from, to, (found.get(key)?.[2] ?? 0) | where]);
		}
	}
	return [...found.values()];
}

const maxThrough = 64;

function* armEdges({ layers }: EngineModel, groupAt: ReadonlyMap<number, number>): Generator<[from: number, to: number]> {
	const { sources } = neighboursOf(layers);
	for (const [index, to] of groupAt) {
		for (const source of throughIdle(index, sources, groupAt)) {
			const from = groupAt.get(source);
			if (from !== undefined && from !== to) yield [from, to];
		}
	}
}

/** Layers that take no time have no group, and are looked through. */
function throughIdle(index: number, sources: readonly (readonly number[])[], groupAt: ReadonlyMap<number, number>): Set<number> {
	const seen = new Set(sources[index]);
	for (const source of seen) {
		if (groupAt.has(source) || seen.size >= maxThrough) continue;
		for (const next of sources[source] ?? []) seen.add(next);
	}
	return seen;
}

/** All of them, or those with the fewest steps to a change. */
function nearChanges(groups: readonly GraphGroup[], edges: readonly Edge[]): number[] {
	if (groups.length <= mostGroups) return groups.map((_, at) => at);
	const near = groups.map((): number[] => []);
	for (const [from, to] of edges) {
		near[from]?.push(to);
		near[to]?.push(from);
	}
	const found = new Set(groups.flatMap((group, at) => (differs(group) ? [at] : [])));
	for (const at of found) {
		if (found.size >= mostGroups) break;
		for (const next of near[at] ?? []) found.add(next);
	}
	return [...found].slice(0, mostGroups);
}
