// What a reader of a build must know: fusions that the change broke, islands of fp32, quantisation that came to nothing.

import { groupBy } from "../group.ts";
import type { EngineRow } from "../schema/result.ts";
import { quoted } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { type EngineModel, type ModelLayer, neighboursOf } from "./model.ts";

const wide = new Set(["fp32", "tf32"]);
const half = new Set(["fp16", "bf16"]);
const narrow = new Set(["int8", "fp8", "int4", "fp4"]);
const mostNamed = 3;

function named(labels: readonly string[]): string {
	const shown = labels.slice(0, mostNamed).map((label) => quoted(label, 60));
	return `${shown.join(", ")}${labels.length > mostNamed ? ` and ${labels.length - mostNamed} more` : ""}`;
}

export function criticalWarnings(engines: { base: EngineModel | null; head: EngineModel }, rows: readonly EngineRow[]): string[] {
	const { base, head } = engines;
	const broken = rows.filter(({ causes }) => causes.some(({ kind, try: advice }) => kind === "fusion" && advice !== undefined));
	const members = broken.flatMap((row) => row.members);
	const before = base === null ? null : new Set([...islands(base), ...unfusedQuantisation(base)]);
	const fresh = (labels: readonly string[]) => (before === null ? [...labels] : labels.filter((label) => !before.has(label)));
	const [found, unfused] = [fresh(islands(head)), fresh(unfusedQuantisation(head))];
	const than = base === null ? "" : " in the head alone";
	return [
		...(members.length === 0 ? [] : [`${counted(members.length, "fusion")} skipped in the head alone: ${named(members)}.`]),
		...(found.length === 0 ? [] : [`${counted(found.length, "fp32 island")} in a half-precision engine${than}: ${named(found)}.`]),
		...(unfused.length === 0 ? [] : [`Q/DQ did not fuse${than}, so that these run unquantised: ${named(unfused)}.`]),
	];
}

const label = ({ nodes, name }: ModelLayer): string => (nodes.length === 0 ? name : nodes.slice(0, 2).join(" + "));

function isHeavy({ weights, parameters, type }: ModelLayer): boolean {
	return (
		weights !== null || parameters["ParameterType"] === "Convolution" || type === "gemm" || type === "MatrixMultiply" || type === "fusion"
	);
}

/** Products in fp32 between layers in half precision, where most of the engine is in half precision. */
function islands(engine: EngineModel): string[] {
	const kernels = engine.layers.filter(({ kind }) => kind === "compute");
	const halves = kernels.filter(({ precision }) => half.has(precision ?? "") || narrow.has(precision ?? ""));
	if (halves.length * 2 < kernels.length || halves.length < 2) return [];
	const { sources, readers } = neighboursOf(engine.layers);
	const converts = (at: number): boolean => {
		const layer = engine.layers[at];
		const types = [...(layer?.inputs ?? []), ...(layer?.outputs ?? [])].map(({ dtype }) => dtype ?? "");
		return types.some((type) => half.has(type) || narrow.has(type));
	};
	const surrounded = ({ index }: ModelLayer) => (sources[index] ?? []).some(converts) || (readers[index] ?? []).some(converts);
	return kernels.filter((layer) => wide.has(layer.precision ?? "") && isHeavy(layer) && surrounded(layer)).map(label);
}

/** A DequantizeLinear of its own whose reader computes in floats. */
function unfusedQuantisation(engine: EngineModel): string[] {
	const { readers } = neighboursOf(engine.layers);
	const found = engine.layers.flatMap((layer) => {
		if (layer.kind !== "quantize" || !narrow.has(layer.inputs[0]?.dtype ?? "") || narrow.has(layer.outputs[0]?.dtype ?? "")) return [];
		return (readers[layer.index] ?? [])
			.flatMap((at) => engine.layers[at] ?? [])
			.filter((reader) => isHeavy(reader) && !narrow.has(reader.precision ?? ""));
	});
	return [...groupBy(found, label).keys()];
}
