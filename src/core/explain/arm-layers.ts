// Joins what is known of an engine's layers with the time that each took, bounded for the result.

import type { ArmLayers, TimedLayer } from "../schema/result.ts";
import { shorten } from "../text/escape.ts";
import type { EngineLayer, EngineLayers, LayerProfile, LayerTime } from "./engine-layers.ts";
import { numberRepeats } from "./repeats.ts";

const mostLayers = 2000;
/** TensorRT names a fused layer after all that went into it: hundreds of characters are usual. */
const [mostNameChars, mostWordChars] = [300, 160];

/** `info` is null where only the times are known. */
export function joinLayers(profile: LayerProfile, info: EngineLayers | null): ArmLayers {
	const known = new Map(numberRepeats(info?.layers ?? [], ({ name }) => name));
	const layers = numberRepeats(profile.layers, ({ name }) => name).map(([key, time]) => describeLayer(time, known.get(key)));
	return {
		iterations: profile.iterations,
		count: layers.length,
		totalMs: layers.reduce((sum, layer) => sum + layer.meanMs, 0),
		layers: slowest(layers),
	};
}

function describeLayer({ name, averageMs, share }: LayerTime, layer: EngineLayer | undefined): TimedLayer {
	return {
		name: shorten(name, mostNameChars),
		...(layer?.type == null ? {} : { type: shorten(layer.type, mostWordChars) }),
		...(layer?.precision == null ? {} : { precision: layer.precision }),
		...(layer?.tactic == null ? {} : { tactic: shorten(layer.tactic, mostWordChars) }),
		...(layer?.isReformat === true ? { reformat: true } : {}),
		meanMs: Math.max(0, averageMs),
		share: Math.min(1, Math.max(0, share)),
	};
}

/** The order stays. */
function slowest(layers: readonly TimedLayer[]): TimedLayer[] {
	if (layers.length <= mostLayers) return [...layers];
	const kept = new Set([...layers].sort((a, b) => b.meanMs - a.meanMs).slice(0, mostLayers));
	return layers.filter((layer) => kept.has(layer));
}
