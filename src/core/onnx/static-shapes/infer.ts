// Follows the shapes that are certain from the inputs through the graph; what it cannot tell it leaves open.
import type { OnnxInitializer, OnnxModel, OnnxNode } from "../model.ts";
import type { Scope } from "../walk.ts";
import { broadcastAll, concat, constantOfShape, expand, flatten, globalPool, pool, reshape, sameAsInput, transpose } from "./layouts.ts";
import { type Dims, type OperatorResult, type OperatorRule, untold } from "./operator.ts";
import { conv, convTranspose, gemm, matMul } from "./products.ts";

const keeping =
	"Abs BatchNormalization Cast Ceil Clip Cos DequantizeLinear Dropout Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity " +
	"InstanceNormalization IsNaN LayerNormalization LeakyRelu Log LogSoftmax LRN Mish Neg Not QuantizeLinear Reciprocal Relu Round Selu " +
	"Sigmoid Sign Sin Softmax Softplus Softsign Sqrt Tanh";
const broadcasting = "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or Pow Sub Sum Where Xor";

function each(operators: string, rule: OperatorRule): [string, OperatorRule][] {
	return operators.split(" ").map((operator) => [operator, rule]);
}

const rules: ReadonlyMap<string, OperatorRule> = new Map([
	...each(keeping, sameAsInput),
	...each(broadcasting, broadcastAll),
	...each("MaxPool AveragePool LpPool", pool),
	...each("GlobalMaxPool GlobalAveragePool", globalPool),
	["MatMul", matMul],
	["Gemm", gemm],
	["Conv", conv],
	["ConvTranspose", convTranspose],
	["Transpose", transpose],
	["Flatten", flatten],
	["Expand", expand],
	["ConstantOfShape", constantOfShape],
	["Reshape", reshape],
	["Concat", concat],
]);

/** Broadcasting and other meanings are as in NumPy since this opset. */
const oldestOpset = 7;

export interface StaticShapes {
	/** By tensor, of the graph (not its subgraphs). */
	shapes: ReadonlyMap<string, Dims>;
	faults: readonly { node: OnnxNode; what: string }[];
}

/** Value infos are not believed: both runtimes ignore them, and tools leave stale ones behind. */
export function inferShapes(model: OnnxModel, graph: Scope, constants: ReadonlyMap<string, OnnxInitializer>): StaticShapes {
	const shapes = new Map<string, Dims>();
	for (const { name, dims } of model.graph.inputs) if (dims !== null) shapes.set(name, dims);
	for (const [name, { dims }] of constants) shapes.set(name, dims);
	const faults: { node: OnnxNode; what: string }[] = [];
	if ((model.opsets[""] ?? 0) < oldestOpset) return { shapes, faults };
	for (const node of graph.nodes) {
		const result = applyRule(node, shapes, constants);
		const [output] = node.outputs;
		if ("fault" in result) faults.push({ node, what: result.fault });
		else if (output !== undefined && result.dims !== null) shapes.set(output, result.dims);
	}
	return { shapes, faults };
}

function applyRule(node: OnnxNode, shapes: ReadonlyMap<string, Dims>, constants: ReadonlyMap<string, OnnxInitializer>): OperatorResult {
	const rule = node.domain === "" ? rules.get(node.op) : undefined;
	if (rule === undefined) return untold;
	return rule({
		node,
		shapes: node.inputs.map((name) => shapes.get(name) ?? null),
		values: node.inputs.map((name) => constants.get(name)?.values ?? null),
	});
}
