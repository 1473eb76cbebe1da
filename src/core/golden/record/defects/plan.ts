// Which defects to try, and in which order: round after round over all weight tensors, so that a cut anywhere leaves a fair sample.
import type { OnnxModel, OnnxNode } from "../../../onnx/model.ts";
import { scopesOf } from "../../../onnx/walk.ts";
import { splitMix64 } from "../generators/split-mix.ts";
import {
	type WeightDefect,
	type WeightDefectKind,
	type WeightLocation,
	weightDefectKinds,
} from "./weights.ts";

/** In each round every tensor has one defect, and the kinds take turns. */
export function planDefects(
	places: readonly WeightLocation[],
	about: { model: OnnxModel; seed: number },
): WeightDefect[] {
	const axes = rowAxes(about.model);
	const order = shuffledOrder(places.length, about.seed);
	return weightDefectKinds.flatMap((_, round) =>
		order.flatMap((index, turn) => {
			const place = places[index];
			const kind = weightDefectKinds[(round + turn) % weightDefectKinds.length];
			return place === undefined || kind === undefined
				? []
				: defectOf({ kind, index, place, axes, seed: about.seed });
		}),
	);
}

interface Planning {
	kind: WeightDefectKind;
	index: number;
	place: WeightLocation;
	axes: ReadonlyMap<string, RowAxis>;
	seed: number;
}

function defectOf({ kind, index, place, axes, seed }: Planning): WeightDefect[] {
	const axis = axisOf(place, axes.get(place.name) ?? "first");
	const rows = place.dims[axis] ?? 1;
	if (kind.startsWith("row") && rows < 2) return [];
	return [{ index, kind, axis, row: splitMix64(seed, [index, 1]).below(Math.max(1, rows)), seed }];
}

type RowAxis = "first" | "second" | "last";

/** The axis of the output channels, or another one where that has only one. */
function axisOf({ dims }: WeightLocation, wanted: RowAxis): number {
	const axis = wanted === "last" ? dims.length - 1 : wanted === "second" ? 1 : 0;
	if ((dims[axis] ?? 1) > 1) return axis;
	return Math.max(
		0,
		dims.findIndex((size) => size > 1),
	);
}

const matrixProducts: ReadonlySet<string> = new Set([
	"MatMul",
	"MatMulInteger",
	"QLinearMatMul",
	"DynamicQuantizeMatMul",
]);
const secondAxisOps: ReadonlySet<string> = new Set([
	"ConvTranspose",
	"LSTM",
	"GRU",
	"RNN",
	"DynamicQuantizeLSTM",
]);

/** Where the output channels of a weight lie, by the node that reads it. */
function rowAxes(model: OnnxModel): Map<string, RowAxis> {
	const nodes = scopesOf(model).flatMap((scope) => scope.nodes);
	return new Map(
		nodes.flatMap((node) => node.inputs.slice(1).map((name): [string, RowAxis] => [name, rowAxisIn(node)])),
	);
}

function rowAxisIn(node: OnnxNode): RowAxis {
	if (matrixProducts.has(node.op)) return "last";
	if (node.op === "Gemm")
		return node.attributes.some(({ name, value }) => name === "transB" && value === 1) ? "first" : "last";
	return secondAxisOps.has(node.op) ? "second" : "first";
}

/** Fisher-Yates, drawn from the seed. */
function shuffledOrder(count: number, seed: number): number[] {
	const random = splitMix64(seed, [count]);
	const order = Array.from({ length: count }, (_, index) => index);
	for (let last = count - 1; last > 0; last -= 1) {
		const other = random.below(last + 1);
		const swapped = order[last] as number;
		order[last] = order[other] as number;
		order[other] = swapped;
	}
	return order;
}
