// Layers whose output is linear in their weights, and how a scale and a shift of the output go into weights and bias.
import type { KeptNode, NewNode } from "../graph-edit.ts";
import type { OnnxNode } from "../model.ts";
import { integerAttribute } from "../static-shapes/operator.ts";
import { type ConstantWriter, type FixedTensors, type GraphFacts, isFloatConstant } from "./constants.ts";

/** y · scale + shift, each a vector along the channels or of one element; null: none. */
export interface Affine {
	scale: string | null;
	shift: string | null;
}

export interface LinearLayer {
	index: number;
	node: OnnxNode;
	kind: "Conv" | "ConvTranspose" | "Gemm" | "MatMul";
	weightDims: readonly number[];
	rank: number;
	channelAxis: number;
	channels: number;
	normalisable: boolean;
}

interface Around {
	facts: GraphFacts;
	fixed: FixedTensors;
	nodes: readonly OnnxNode[];
}

/** null: another operator, or weights that are not constant floats of known size. */
export function linearLayer(index: number, around: Around): LinearLayer | null {
	const node = around.nodes[index];
	if (node === undefined || node.domain !== "" || node.outputs.length !== 1) return null;
	const [input = "", weights = "", bias = ""] = node.inputs;
	const weightDims = knownDims(around, weights);
	const biasDims = bias === "" ? [] : knownDims(around, bias);
	if (weightDims === null || biasDims === null || around.fixed.fixed.has(input)) return null;
	if (![weights, bias].every((name) => name === "" || isFloatConstant(around, name))) return null;
	const layer = channelsOf(node, {
		weightDims,
		biasDims,
		inputRank: around.facts.subject.static.shapes.get(input)?.length ?? 0,
	});
	return layer === null ? null : { index, node, weightDims, ...layer };
}

interface LayerDims {
	weightDims: readonly number[];
	biasDims: readonly number[];
	inputRank: number;
}

function channelsOf(
	node: OnnxNode,
	{ weightDims, biasDims, inputRank }: LayerDims,
): Omit<LinearLayer, "index" | "node" | "weightDims"> | null {
	const [first = 0, second = 0] = weightDims;
	const rank = weightDims.length;
	if (node.op === "Conv" && rank >= 3)
		return { kind: "Conv", rank, channelAxis: 1, channels: first, normalisable: true };
	if (node.op === "ConvTranspose" && rank >= 3) {
		const channels = second * integerAttribute(node, "group", 1);
		return { kind: "ConvTranspose", rank, channelAxis: 1, channels, normalisable: true };
	}
	if (node.op === "Gemm" && rank === 2) {
		const channels = integerAttribute(node, "transB", 0) === 0 ? second : first;
		const isPlain = biasDims.every(
			(size, axis) => size === 1 || (axis === biasDims.length - 1 && size === channels),
		);
		const isScaled = node.attributes.some(({ name, value }) => name === "beta" && value !== 1);
		return isPlain && !isScaled ? { kind: "Gemm", rank, channelAxis: 1, channels, normalisable: true } : null;
	}
	if (node.op !== "MatMul" || rank < 2) return null;
	const outputRank = Math.max(rank, inputRank);
	return {
		kind: "MatMul",
		rank: outputRank,
		channelAxis: outputRank - 1,
		channels: weightDims.at(-1) ?? 0,
		normalisable: false,
	};
}

function knownDims({ facts }: Around, name: string): readonly number[] | null {
	const dims = facts.subject.static.shapes.get(name);
	return dims?.every((size) => typeof size === "number") ? (dims as readonly number[]) : null;
}

export function foldedLayer(
	layer: LinearLayer,
	{ affine, output, writer }: { affine: Affine; output: string; writer: ConstantWriter },
): (KeptNode | NewNode)[] {
	const { node, index } = layer;
	const [input = "", weights = "", bias = ""] = node.inputs;
	const scaled =
		affine.scale === null ? weights : scaledWeights(layer, { weights, scale: affine.scale, writer });
	if (layer.kind === "MatMul") {
		if (affine.shift === null) return [{ kept: index, inputs: [input, scaled], outputs: [output] }];
		const product = node.outputs[0] ?? "";
		return [
			{ kept: index, inputs: [input, scaled], outputs: [product] },
			{ op: "Add", inputs: [product, affine.shift], outputs: [output] },
		];
	}
	const shift = shiftedBias(layer, { bias, affine, writer });
	return [{ kept: index, inputs: [input, scaled, ...(shift === null ? [] : [shift])], outputs: [output] }];
}

interface Scaling {
	weights: string;
	scale: string;
	writer: ConstantWriter;
}

function scaledWeights({ kind, node, weightDims }: LinearLayer, { weights, scale, writer }: Scaling): string {
	const shaped = (name: string, dims: readonly number[]): string =>
		writer.compute("Reshape", [name, writer.vector(dims, "int64")]);
	const ones = weightDims.slice(2).map(() => 1);
	if (kind === "MatMul") return writer.compute("Mul", [weights, scale]);
	if (kind === "Conv") return writer.compute("Mul", [weights, shaped(scale, [-1, 1, ...ones])]);
	if (kind === "Gemm") {
		const axes = integerAttribute(node, "transB", 0) === 0 ? [1, -1] : [-1, 1];
		return writer.compute("Mul", [weights, shaped(scale, axes)]);
	}
	// Input channels first, in groups; output channels count on from group to group.
	const group = integerAttribute(node, "group", 1);
	const [inputs = 0, outputs = 0, ...window] = weightDims;
	if (group === 1) return writer.compute("Mul", [weights, shaped(scale, [1, -1, ...ones])]);
	const whole = writer.compute("Expand", [scale, writer.vector([group * outputs], "int64")]);
	const grouped = shaped(weights, [group, inputs / group, outputs, ...window]);
	return shaped(writer.compute("Mul", [grouped, shaped(whole, [group, 1, outputs, ...ones])]), weightDims);
}

function shiftedBias(
	{ channels }: LinearLayer,
	of: { bias: string; affine: Affine; writer: ConstantWriter },
): string | null {
	const { bias, affine, writer } = of;
	const { scale, shift } = affine;
	const scaled =
		bias === "" ? null : scale === null ? bias : writer.compute("Mul", [writer.flat(bias), scale]);
	if (scaled === null && shift === null) return null;
	const sum =
		scaled === null || shift === null
			? (scaled ?? shift ?? "")
			: writer.compute("Add", [writer.flat(scaled), shift]);
	return writer.compute("Expand", [writer.flat(sum), writer.vector([channels], "int64")]);
}
