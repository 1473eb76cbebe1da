// What an engine is made of, as a short text that rebuilds of one model share: names, numbering and order do not count.
import type { EngineFingerprint } from "../../../generated/result.ts";
import { hashText } from "./hash.ts";
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
			[before.get(layer), ...sourcesOf(layer, producers).map((source) => before.get(source))].join(" ");
		marks = new Map(layers.map((layer) => [layer, hashText(next(layer))]));
	}
	return {
		structure: digest(counted.map((layer) => marks.get(layer) ?? "")),
		tactics: digest(counted.map((layer) => `${marks.get(layer)} ${kernelName(layer)} ${layoutsOf(layer)}`)),
	};
}

function digest(parts: readonly string[]): string {
	return hashText([...parts].sort().join("\n"));
}

export function producersOf<Layer extends EngineLayer>(layers: readonly Layer[]): Map<string, Layer> {
	return new Map(layers.flatMap((layer) => layer.outputs.map(({ name }) => [name, layer] as const)));
}

function sourcesOf(layer: EngineLayer, producers: ReadonlyMap<string, EngineLayer>): EngineLayer[] {
	return layer.inputs.flatMap(({ name }) => {
		let source = producers.get(name);
		for (let step = 0; source?.kind === "noop" && step < 8; step += 1)
			source = producers.get(source.inputs[0]?.name ?? "");
		return source === undefined || source === layer ? [] : [source];
	});
}

function shapes(tensors: readonly LayerTensor[]): string {
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

/** Myelin's generated kernels end in a hash of their code, which names of tensors enter. */
export function kernelName({ tactic }: Pick<EngineLayer, "tactic">): string {
	return (tactic ?? "").replace(/_0x[0-9a-f]{16,}$/, "");
}

/** Myelin counts its regions and kernels: `__mye170_0_myl11_0`, `head_myl11_2`. A layer more, and all numbers move. */
export function unnumbered(name: string): string {
	return name.replace(/__mye\d+(_\d+)?/g, "__mye").replace(/_myl\d+(_\d+)?/g, "_myl");
}
