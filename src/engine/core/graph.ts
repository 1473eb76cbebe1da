// Draws both engines as one graph of node groups.

import type { EngineGraph } from "../../../generated/result.ts";
import type { Judged } from "./changed.ts";
import { type Arm, type Engines, groupLabel } from "./components.ts";
import { neighboursOf } from "./model.ts";

const mostGroups = 2000;
const mostEdges = 8000;

export function graphOf(groups: readonly Judged[], engines: Engines): EngineGraph | null {
	if (!groups.some(differs) || groups.length > mostGroups) return null;
	const shown = inOrder(groups);
	return { groups: shown.map(drawn), edges: edgesOf(shown, engines).slice(0, mostEdges) };
}

function differs({ isChanged, delta }: Judged) {
	return isChanged || delta.isSignificant;
}

function drawn(group: Judged) {
	const { component, delta } = group;
	const arm = (which: Arm) => {
		const facts = group[which];
		if (component[which].length === 0) return null;
		const ms = facts.isTimed ? facts.time.ms : null;
		return { ms, kernels: facts.kernels.length, precision: facts.precisions[0] };
	};
	const isChanged = differs(group);
	const changeMs = delta.isSignificant ? delta.ms : undefined;
	return { label: groupLabel(component), base: arm("base"), head: arm("head"), isChanged, changeMs };
}

function inOrder(groups: readonly Judged[]) {
	const firstOf = (group: Judged, arm: Arm) =>
		group.component[arm].reduce((least, { index }) => Math.min(least, index), Infinity);
	const places = new Map(groups.map((group) => [group, firstOf(group, "head")]));
	const inBase = groups.filter(({ component }) => component.base.length > 0);
	let last = -1;
	for (const group of inBase.sort((a, b) => firstOf(a, "base") - firstOf(b, "base"))) {
		if (group.component.head.length > 0) last = firstOf(group, "head");
		else places.set(group, last + 0.5);
	}
	return [...groups].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
}

function edgesOf(groups: readonly Judged[], engines: Engines) {
	const found = new Map<string, [from: number, to: number, where: number]>();
	for (const [at, arm] of (["base", "head"] as const).entries()) {
		const { sources } = neighboursOf(engines[arm].layers);
		const groupAt = new Map(
			groups.flatMap(({ component }, to) => component[arm].map(({ index }) => [index, to] as const)),
		);
		for (const [index, to] of groupAt) {
			for (const source of throughIdle(index, sources, groupAt)) {
				const from = groupAt.get(source);
				if (from === undefined || from === to) continue;
				const key = `${from} ${to}`;
				found.set(key, [from, to, (found.get(key)?.[2] ?? 0) | (at + 1)]);
			}
		}
	}
	return [...found.values()];
}

function throughIdle(
	index: number,
	sources: readonly (readonly number[])[],
	groupAt: ReadonlyMap<number, number>,
) {
	const seen = new Set(sources[index]);
	for (const source of seen) {
		if (groupAt.has(source) || seen.size >= 64) continue;
		for (const next of sources[source] ?? []) seen.add(next);
	}
	return seen;
}
