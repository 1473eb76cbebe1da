// Compares the layers of both arms: joins each layer with its time, and matches the base's layers with the head's.

import { engineFingerprint, unnumbered } from "../engine/fingerprint.ts";
import { type EngineLayer, type EngineLayers, isReformat, type LayerProfile, type LayerTime } from "../engine/layer.ts";
import { numberRepeats } from "../group.ts";
import type { Arm, ArmKernels, ArmLayers, EngineDiff, TimedLayer, WorkloadResult } from "../schema/result.ts";
import { shorten } from "../text/escape.ts";

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
	const again = new Map(numberRepeats([...left.values()], ({ name }) => unnumbered(name)));
	take(
		head.layers.filter((layer) => !matched.has(layer)),
		{ left: again, matched, nameOf: ({ name }) => unnumbered(name) },
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

const maxLayers = 2000;
/** TensorRT names a fused layer after all that went into it: hundreds of characters are usual. */
const [maxNameChars, maxWordChars] = [300, 160];

/** `info` is null where only the times are known. */
export function joinLayers(profile: LayerProfile, info: EngineLayers | null): ArmLayers {
	const known = new Map(numberRepeats(info?.layers ?? [], ({ name }) => name));
	const layers = numberRepeats(profile.layers, ({ name }) => name).map(([key, time]) => describeLayer(time, known.get(key)));
	return {
		...(info === null ? {} : { fingerprint: engineFingerprint(info) }),
		iterations: profile.iterations,
		count: layers.length,
		totalMs: layers.reduce((sum, layer) => sum + layer.meanMs, 0),
		layers: slowest(layers),
	};
}

function describeLayer({ name, averageMs, share }: LayerTime, layer: EngineLayer | undefined): TimedLayer {
	return {
		name: shorten(name, maxNameChars),
		...(layer?.type == null ? {} : { type: shorten(layer.type, maxWordChars) }),
		...(layer?.precision == null ? {} : { precision: layer.precision }),
		...(layer?.tactic == null ? {} : { tactic: shorten(layer.tactic, maxWordChars) }),
		...(layer !== undefined && isReformat(layer) ? { reformat: true } : {}),
		meanMs: Math.max(0, averageMs),
		share: Math.min(1, Math.max(0, share)),
	};
}

/** The order stays. */
function slowest(layers: readonly TimedLayer[]): TimedLayer[] {
	if (layers.length <= maxLayers) return [...layers];
	const kept = new Set([...layers].sort((a, b) => b.meanMs - a.meanMs).slice(0, maxLayers));
	return layers.filter((layer) => kept.has(layer));
}

export interface ProfiledArm {
	id: string;
	arm: Arm;
	layers?: ArmLayers;
	kernels?: ArmKernels;
	/** Of both arms. */
	explanation?: EngineDiff;
}

/** Changes the row: it is explained after it was judged. */
export function attachProfile(rows: readonly WorkloadResult[], { id, arm, layers, kernels, explanation }: ProfiledArm): void {
	const row = rows.find((candidate) => candidate.id === id);
	if (row === undefined) return;
	if (layers !== undefined) row.layers = { ...(row.layers ?? { base: null, head: null }), [arm]: layers };
	if (explanation !== undefined) row.explanation = explanation;
	if (kernels !== undefined) row.kernels = { ...(row.kernels ?? { base: null, head: null }), [arm]: kernels };
}
