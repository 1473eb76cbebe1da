// Broken fusions, islands of fp32, and quantisation without effect.
import type { EngineRow } from "../../../generated/result.ts";
import { groupBy } from "../../core/group.ts";
import { quoted } from "../../core/text/escape.ts";
import { counted, listNames } from "../../core/text/labels.ts";
import { quantiseAdvice } from "./causes.ts";
import { isProduct } from "./layer.ts";
import { type EngineModel, type ModelLayer, neighboursOf } from "./model.ts";

const wide = new Set(["fp32", "tf32"]);
const half = new Set(["fp16", "bf16"]);
const narrow = new Set(["int8", "fp8", "int4", "fp4"]);
const mostNamed = 3;

const named = (labels: readonly string[]) => {
	const texts = labels.map((label) => quoted(label, 60));
	return listNames(texts, mostNamed);
};

interface CriticalWarning {
	class: "fusion-skipped" | "fp32-island" | "unfused-qdq";
	count: number;
	text: string;
}

export function criticalWarnings(
	{ base, head }: { base: EngineModel | null; head: EngineModel },
	rows: readonly EngineRow[],
): CriticalWarning[] {
	const broken = (wanted: string) =>
		rows.flatMap(({ causes, members }) =>
			causes.flatMap(({ kind, try: advice }) =>
				kind === wanted && advice !== undefined ? members.map((name) => ({ name, advice })) : [],
			),
		);
	const fresh = (find: (engine: EngineModel) => string[]) => {
		const [before, after] = [new Set(base === null ? [] : find(base)), find(head)];
		const own = after.filter((one) => !before.has(one));
		// If an export renamed its nodes, it renamed all: then only their number shows new ones.
		return own.length === after.length ? own.slice(before.size) : own;
	};
	const [skipped, found, unfused] = [broken("fusion"), fresh(islands), fresh(unfusedQuantisation)];
	const alone = base === null ? ownKernels(head) : broken("added").map(({ name }) => name);
	const than = base === null ? "" : " only in the head";
	const advice = [...new Set(skipped.map((one) => one.advice))].join(" ");
	const all: CriticalWarning[] = [
		{
			class: "fusion-skipped",
			count: skipped.length,
			text: `${counted(skipped.length, "fusion")} skipped only in the head: ${named(skipped.map(({ name }) => name))}. ${advice}`,
		},
		{
			class: "fp32-island",
			count: found.length,
			text: `${counted(found.length, "product")} ${found.length === 1 ? "runs" : "run"} in fp32 inside a half-precision engine${than}: ${named(found)}. Remove the cast or the layer's precision setting around it, or keep it if it guards accuracy.`,
		},
		{
			class: "unfused-qdq",
			count: unfused.length,
			text: `Q/DQ did not fuse${than}, so that these run unquantised: ${named(unfused)}. Put Q and DQ on every input of the product, directly before it, with constant scales.`,
		},
		{
			class: "unfused-qdq",
			count: alone.length,
			text: `${counted(alone.length, "Q/DQ node")}${than} did not fuse, and ${alone.length === 1 ? "is a kernel of its" : "are kernels of their"} own: ${named(alone)}. ${quantiseAdvice}`,
		},
	];
	return all.filter(({ count }) => count > 0);
}

export const layerName = ({ nodes, name }: ModelLayer): string =>
	nodes.length === 0 ? name : nodes.slice(0, 2).join(" + ");

export function isHeavy({ weights, parameters, type }: ModelLayer): boolean {
	return weights !== null || parameters["ParameterType"] === "Convolution" || isProduct(type);
}

function islands(engine: EngineModel) {
	const kernels = engine.layers.filter(({ kind }) => kind === "compute");
	const halves = kernels.filter(({ precision }) => half.has(precision ?? "") || narrow.has(precision ?? ""));
	if (halves.length * 2 < kernels.length || halves.length < 2) return [];
	return kernels.filter((layer) => wide.has(layer.precision ?? "") && isHeavy(layer)).map(layerName);
}

function ownKernels({ layers }: EngineModel) {
	const { sources, readers } = neighboursOf(layers);
	const isBetween = (at: number) =>
		[sources, readers].every((near) => near[at]?.some((other) => layers[other]?.kind === "compute"));
	return layers.filter(({ kind, index }) => kind === "quantize" && isBetween(index)).map(layerName);
}

const quantising = /(?:de)?quantize_?linear/i;

/** A DequantizeLinear of its own whose reader computes in floats; or one for weights only. */
function unfusedQuantisation(engine: EngineModel) {
	const { readers } = neighboursOf(engine.layers);
	const isFloat = (layer: ModelLayer) => isHeavy(layer) && !narrow.has(layer.precision ?? "");
	const found = engine.layers.flatMap((layer) => {
		if (isFloat(layer) && layer.nodes.some((node) => /dequantize_?linear/i.test(node.slice(-200))))
			return [layer];
		if (
			layer.kind !== "quantize" ||
			!narrow.has(layer.inputs[0]?.dtype ?? "") ||
			narrow.has(layer.outputs[0]?.dtype ?? "")
		)
			return [];
		return (readers[layer.index] ?? []).flatMap((at) => engine.layers[at] ?? []).filter(isFloat);
	});
	const product = (layer: ModelLayer) =>
		layerName({ ...layer, nodes: layer.nodes.filter((node) => !quantising.test(node.slice(-200))) });
	return [...groupBy(found, product).keys()];
}
