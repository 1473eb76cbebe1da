// Plans which defects to try: round after round over all weight tensors, so that a cut anywhere leaves a fair sample.
import type { OnnxModel, OnnxNode } from "../../../onnx/model.ts";
import { scopesOf } from "../../../onnx/walk.ts";
import { splitMix64 } from "../generators/split-mix.ts";
import { type WeightDefect, type WeightLocation, weightDefectKinds } from "./weights.ts";

export function planDefects(
	places: readonly WeightLocation[],
	{ model, seed }: { model: OnnxModel; seed: number },
): WeightDefect[] {
	const axes = rowAxes(model);
	const order = shuffledOrder(places.length, seed);
	return weightDefectKinds.flatMap((_, round) =>
		order.flatMap((index, turn): WeightDefect[] => {
			const place = places[index];
			const kind = weightDefectKinds[(round + turn) % weightDefectKinds.length];
			if (place === undefined || kind === undefined) return [];
			const axis = axisOf(place, axes.get(place.name) ?? "first");
			const rows = place.dims[axis] ?? 1;
			if (kind.startsWith("row") && rows < 2) return [];
			return [{ index, kind, axis, row: splitMix64(seed, [index, 1]).below(Math.max(1, rows)), seed }];
		}),
	);
}

type RowAxis = "first" | "second" | "last";

function axisOf({ dims }: WeightLocation, wanted: RowAxis): number {
	const axis = wanted === "last" ? dims.length - 1 : wanted === "second" ? 1 : 0;
	const other = dims.findIndex((size) => size > 1);
	return (dims[axis] ?? 1) > 1 ? axis : Math.max(0, other);
}

const matrixProducts = ["MatMul", "MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul"];
const secondAxisOps = ["ConvTranspose", "LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"];

function rowAxes(model: OnnxModel): Map<string, RowAxis> {
	const nodes = scopesOf(model).flatMap((scope) => scope.nodes);
	return new Map(
		nodes.flatMap((node) => node.inputs.slice(1).map((name): [string, RowAxis] => [name, rowAxisIn(node)])),
	);
}

function rowAxisIn({ op, attributes }: OnnxNode): RowAxis {
	if (matrixProducts.includes(op)) return "last";
	if (op === "Gemm")
		return attributes.some(({ name, value }) => name === "transB" && value === 1) ? "first" : "last";
	return secondAxisOps.includes(op) ? "second" : "first";
}

function shuffledOrder(count: number, seed: number): number[] {
	const random = splitMix64(seed, [count]);
	const order = Array.from({ length: count }, (_, index) => index);
	for (let last = count - 1; last > 0; last -= 1) {
		const other = random.below(last + 1);
		[order[last], order[other]] = [order[other] as number, order[last] as number];
	}
	return order;
}
