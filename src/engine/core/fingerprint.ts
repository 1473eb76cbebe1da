// A short text that rebuilds of one model share: names, numbering and order do not count.
import type { EngineFingerprint } from "../../../generated/result.ts";
import { type EngineLayer, type EngineLayers, type LayerTensor, takesTime } from "./layer.ts";

export function engineFingerprint({ layers, detail }: EngineLayers): EngineFingerprint {
	const counted = layers.filter(takesTime);
	if (detail === "names")
		return { structure: digest(counted.map(({ name }) => unnumbered(name))), tactics: digest([]) };
	const producers = producersOf(layers);
	let marks = new Map(layers.map((layer) => [layer, hashText(layerFacts(layer))]));
	for (let round = 0; round < 2; round += 1) {
		const before = marks;
		const next = (layer: EngineLayer) =>
			[layer, ...sourcesOf(layer, producers)].map((one) => before.get(one)).join(" ");
		marks = new Map(layers.map((layer) => [layer, hashText(next(layer))]));
	}
	return {
		structure: digest(counted.map((layer) => marks.get(layer) ?? "")),
		tactics: digest(counted.map((layer) => `${marks.get(layer)} ${kernelName(layer)} ${layoutsOf(layer)}`)),
	};
}

function digest(parts: readonly string[]) {
	return hashText([...parts].sort().join("\n"));
}

function hashText(text: string) {
	let [first, second] = [0x811c9dc5, 0x9747b28c];
	for (let at = 0; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		first = Math.imul(first ^ unit, 0x01000193);
		second = Math.imul(second ^ unit, 0x0019660d);
	}
	return [first, second].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}

export function producersOf<Layer extends EngineLayer>(layers: readonly Layer[]): Map<string, Layer> {
	return new Map(layers.flatMap((layer) => layer.outputs.map(({ name }) => [name, layer] as const)));
}

function sourcesOf(layer: EngineLayer, producers: ReadonlyMap<string, EngineLayer>) {
	return layer.inputs.flatMap(({ name }) => {
		let source = producers.get(name);
		for (let step = 0; source?.kind === "noop" && step < 8; step += 1)
			source = producers.get(source.inputs[0]?.name ?? "");
		return source === undefined || source === layer ? [] : [source];
	});
}

function shapes(tensors: readonly LayerTensor[]) {
	return tensors
		.filter(({ dims }) => dims.length > 1)
		.map(({ dims, dtype }) => `${dtype}:${dims.join("x")}`)
		.join(",");
}

export function layerFacts(layer: EngineLayer): string {
	const { type, precision, weights, parameters, inputs, outputs, onnxNodes } = layer;
	const work = JSON.stringify(Object.entries(parameters));
	return [
		type,
		precision,
		weights?.elements ?? "",
		work,
		shapes(inputs),
		shapes(outputs),
		onnxNodes.length,
	].join("|");
}

export function layoutsOf({ inputs, outputs }: EngineLayer): string {
	return [...inputs, ...outputs].map(({ format }) => format).join(",");
}

/** Myelin's kernels end in a hash that depends on names of tensors. */
export function kernelName({ tactic }: EngineLayer): string {
	return (tactic ?? "").replace(/_0x[0-9a-f]{16,}$/, "");
}

/** Myelin counts regions and kernels: `__mye170_0_myl11_0`, `head_myl11_2`. */
export function unnumbered(name: string): string {
	return name.replace(/__mye\d+(_\d+)?/g, "__mye").replace(/_myl\d+(_\d+)?/g, "_myl");
}
