// Lays the layers of both arms side by side: the same ones, new ones and gone ones.
import type { ArmLayers, TimedLayer } from "../schema/result.ts";
import { numberRepeats } from "./repeats.ts";

export interface LayerChange {
	/** Of the head where it has the layer. */
	name: string;
	/** null: this arm has no such layer. */
	base: TimedLayer | null;
	head: TimedLayer | null;
	/** A layer that is not there takes no time. */
	changeMs: number;
}

/** In the order of the head, what is gone after it. Layers are matched by name, then by name without Myelin's numbering. */
export function matchLayers(base: ArmLayers, head: ArmLayers): LayerChange[] {
	const left = new Map(numberRepeats(base.layers, ({ name }) => name));
	const matched = new Map<TimedLayer, TimedLayer>();
	take(head.layers, { left, matched, nameOf: ({ name }) => name });
	const again = new Map(numberRepeats([...left.values()], unnumbered));
	take(
		head.layers.filter((layer) => !matched.has(layer)),
		{ left: again, matched, nameOf: unnumbered },
	);
	const ofHead = head.layers.map((layer) => change(matched.get(layer) ?? null, layer));
	return [...ofHead, ...[...again.values()].map((layer) => change(layer, null))];
}

interface Matching {
	/** Layers of the base that are not matched yet. */
	left: Map<string, TimedLayer>;
	matched: Map<TimedLayer, TimedLayer>;
	nameOf(layer: TimedLayer): string;
}

function take(layers: readonly TimedLayer[], { left, matched, nameOf }: Matching): void {
	for (const [key, layer] of numberRepeats(layers, nameOf)) {
		const own = left.get(key);
		if (own === undefined) continue;
		matched.set(layer, own);
		left.delete(key);
	}
}

/** Myelin counts its regions and kernels: `__mye170_0_myl11_0`, `head_myl11_2`. A layer more, and all numbers move. */
function unnumbered({ name }: TimedLayer): string {
	return name.replace(/__mye\d+(_\d+)?/g, "__mye").replace(/_myl\d+(_\d+)?/g, "_myl");
}

function change(base: TimedLayer | null, head: TimedLayer | null): LayerChange {
	return { name: (head ?? base)?.name ?? "", base, head, changeMs: (head?.meanMs ?? 0) - (base?.meanMs ?? 0) };
}

/** Those that moved, largest first, either way. */
export function movedMost(changes: readonly LayerChange[], most: number): LayerChange[] {
	return changes
		.filter(({ changeMs }) => changeMs !== 0)
		.sort((a, b) => Math.abs(b.changeMs) - Math.abs(a.changeMs))
		.slice(0, most);
}
