// Propagates the shapes that are certain from the inputs through the graph; the others stay open.
import type { OnnxInitializer, OnnxModel, OnnxNode } from "../model.ts";
import { nodesInRunOrder } from "../run-order.ts";
import type { Scope } from "../walk.ts";
import * as axes from "./axes.ts";
import {
	broadcastAll,
	concat,
	expand,
	flatten,
	globalPool,
	pool,
	reshape,
	sameAsInput,
	sameValues,
} from "./layouts.ts";
import {
	type Dims,
	maxValues,
	type OperatorResult,
	type OperatorRule,
	type OperatorView,
	untold,
} from "./operator.ts";
import { conv, convTranspose, gemm, matMul, recurrent, withSecond } from "./products.ts";
import { slice } from "./slice.ts";
import type { TensorTypes } from "./types.ts";
import {
	arithmetic,
	constantOfShape,
	nonZero,
	not,
	oneHot,
	range,
	shapeOf,
	sizeOf,
	transposed,
	where,
} from "./values.ts";

const keeping =
	"Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot CastLike Ceil Celu Clip Cos Cosh CumSum DequantizeLinear Dropout " +
	"Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LayerNormalization " +
	"LeakyRelu Log LogSoftmax LpNormalization LRN MeanVarianceNormalization Mish Neg PRelu QuantizeLinear RMSNormalization " +
	"RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh " +
	"Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu";
const broadcasting = "BitShift BitwiseAnd BitwiseOr BitwiseXor Mean Mod Pow Sum Xor";

function each(operators: string, rule: OperatorRule): [string, OperatorRule][] {
	return operators.split(" ").map((operator) => [operator, rule]);
}

const rules: ReadonlyMap<string, OperatorRule> = new Map([
	...each(keeping, sameAsInput),
	...each("Cast Identity", sameValues),
	...each(broadcasting, broadcastAll),
	...each("Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or Sub", arithmetic),
	...each("AveragePool LpPool MaxPool", pool),
	...each("GlobalAveragePool GlobalLpPool GlobalMaxPool", globalPool),
	...each(
		"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
		axes.reduce,
	),
	...each("ArgMax ArgMin", axes.argument),
	...each("GRU LSTM RNN", recurrent),
	...each("Resize Upsample", axes.resize),
	...each("MatMul MatMulInteger", matMul),
	["QLinearMatMul", withSecond(matMul, 3)],
	["Gemm", gemm],
	...each("Conv ConvInteger", conv),
	["QLinearConv", withSecond(conv, 3)],
	["ConvTranspose", convTranspose],
	["Transpose", transposed],
	["Flatten", flatten],
	["Expand", expand],
	["ConstantOfShape", constantOfShape],
	["DynamicQuantizeLinear", ({ shapes }) => ({ dims: shapes[0] ?? null, more: [[], []] })],
	["Reshape", reshape],
	["Concat", concat],
	["DepthToSpace", axes.depthToSpace],
	["Gather", axes.gather],
	["GatherElements", ({ shapes }) => ({ dims: shapes[1] ?? null })],
	["GatherND", axes.gatherNd],
	["NonZero", nonZero],
	["Not", not],
	["OneHot", oneHot],
	["Pad", axes.pad],
	["Range", range],
	["Shape", shapeOf],
	["Size", sizeOf],
	["Slice", slice],
	["SpaceToDepth", axes.spaceToDepth],
	["Split", axes.split],
	["Squeeze", axes.squeeze],
	["Tile", axes.tile],
	["TopK", axes.topK],
	["Unsqueeze", axes.unsqueeze],
	["Where", where],
]);

/** Broadcasting and other meanings are as in NumPy since this opset. */
const oldestOpset = 7;

export interface StaticShapes {
	shapes: ReadonlyMap<string, Dims>;
	values: ReadonlyMap<string, Dims>;
	faults: readonly { node: OnnxNode; what: string }[];
	/** Nodes whose inputs' shapes are known and whose output's is not: after them little is checked. */
	stopped: readonly OnnxNode[];
}

export interface Known {
	shapes: Map<string, Dims>;
	values: Map<string, Dims>;
}

interface Given {
	constants: ReadonlyMap<string, OnnxInitializer>;
	types: Pick<TensorTypes, "get">;
	/** What is known before the first node, constants aside; left out: the shapes that the graph's inputs declare. */
	start?: Known;
	others?(view: OperatorView, known: Known): OperatorResult;
}

/** Value infos are not used: both runtimes ignore them, and tools leave stale ones behind. */
export function inferShapes(model: OnnxModel, graph: Scope, given: Given): StaticShapes {
	const known = knownFirst(model, given);
	const faults: { node: OnnxNode; what: string }[] = [];
	const stopped: OnnxNode[] = [];
	const opset = model.opsets[""] ?? 0;
	if (opset < oldestOpset) return { ...known, faults, stopped: graph.nodes };
	const local = new Set(model.functions.map(({ domain, name }) => `${domain}\n${name}`));
	for (const node of nodesInRunOrder(graph)) {
		const rule = node.domain === "" && !local.has(`\n${node.op}`) ? rules.get(node.op) : undefined;
		const view = viewOf(node, known, { types: given.types, opset });
		const result = (rule === undefined ? given.others?.(view, known) : rule(view)) ?? untold;
		if ("fault" in result) faults.push({ node, what: result.fault });
		else keep(node, result, known);
		const isFed = node.inputs.every((name) => name === "" || known.shapes.has(name));
		if (isFed && !known.shapes.has(node.outputs[0] ?? "")) stopped.push(node);
	}
	return { ...known, faults, stopped };
}

function knownFirst(model: OnnxModel, { constants, start }: Given): Known {
	const known: Known = { shapes: new Map(start?.shapes), values: new Map(start?.values) };
	if (start === undefined)
		for (const { name, dims } of model.graph.inputs) if (dims !== null) known.shapes.set(name, dims);
	for (const [name, { dims, values }] of constants) {
		known.shapes.set(name, dims);
		if (values !== undefined && dims.length <= 1) known.values.set(name, values);
	}
	return known;
}

function viewOf(
	node: OnnxNode,
	{ shapes, values }: Known,
	{ types, opset }: { types: Given["types"]; opset: number },
): OperatorView {
	return {
		node,
		shapes: node.inputs.map((name) => shapes.get(name) ?? null),
		values: node.inputs.map((name) => values.get(name) ?? null),
		type: types.get(node.inputs[0] ?? "") ?? null,
		opset,
	};
}

function keep(
	node: OnnxNode,
	result: Extract<OperatorResult, { dims: Dims | null }>,
	to: { shapes: Map<string, Dims>; values: Map<string, Dims> },
): void {
	const [first = ""] = node.outputs;
	for (const [place, dims] of [result.dims, ...(result.more ?? [])].entries()) {
		const name = node.outputs[place] ?? "";
		if (name !== "" && dims !== null) to.shapes.set(name, dims);
	}
	if (result.value !== undefined && result.value.length <= maxValues) to.values.set(first, result.value);
}
