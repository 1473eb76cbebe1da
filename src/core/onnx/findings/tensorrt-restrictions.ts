// Checks nodes of operators that TensorRT imports only under conditions.
// Source: the restrictions in operators.md of onnx/onnx-tensorrt (10.1 to 11.1), and the checks in its onnxOpCheckers.cpp.

import { formatDims, quoteName } from "../../text/escape.ts";
import { feeds, type OnnxDim, type OnnxInitializer, type OnnxNode, type OnnxSubgraph } from "../model.ts";
import { attributeOf, integerAttribute, integersAttribute } from "../static-shapes/operator.ts";
import type { Scope } from "../walk.ts";
import {
	constantOf,
	everyNode,
	type FindingCode,
	foldFaults,
	type NodeFault,
	nodeFinding,
	type Rule,
	type Subject,
} from "./subject.ts";

interface NodeView {
	node: OnnxNode;
	constant(input: number): OnnxInitializer | null;
	isComputed(input: number): boolean;
	dims(input: number): readonly OnnxDim[] | null;
	isFed(input: number): boolean;
	hasDynamicInputs: boolean;
}

/** The end of a sentence, alone or with a fix; null if nothing is wrong. */
type Restriction = (view: NodeView) => string | { fault: string; fix: string } | null;

function has(view: NodeView, input: number) {
	return (view.node.inputs[input] ?? "") !== "";
}

function among(name: string, values: readonly string[]): Restriction {
	return (view) => {
		const value = attributeOf(view.node, name);
		if (typeof value !== "string" || values.includes(value)) return null;
		return `has ${name} ${quoteName(value)}; TensorRT supports ${values.join(", ")}`;
	};
}

function integerIs(name: string, expected: number): Restriction {
	return (view) => {
		const value = integerAttribute(view.node, name, expected);
		return value === expected ? null : `has ${name} ${value}; TensorRT supports ${expected}`;
	};
}

function constantInput(input: number, name: string): Restriction {
	return (view) => (view.isComputed(input) ? `computes its ${name}; TensorRT requires a constant` : null);
}

function notFed(input: number, name: string): Restriction {
	return (view) =>
		view.isFed(input)
			? `takes its ${name} from an input of the graph; TensorRT must know it when it builds`
			: null;
}

function rankIs(input: number, expected: number): Restriction {
	return (view) => {
		const rank = view.dims(input)?.length ?? expected;
		return rank === expected ? null : `has an input of ${rank} dimensions; TensorRT supports ${expected}`;
	};
}

function onlyFirstOutput(view: NodeView) {
	const more = view.node.outputs.slice(1).some((name) => name !== "");
	return more ? `has ${view.node.outputs.length} outputs; TensorRT computes only the first` : null;
}

function undilated(view: NodeView) {
	const dilations = integersAttribute(view.node, "dilations") ?? [];
	return dilations.some((each) => each !== 1)
		? `has dilations ${formatDims(dilations.slice(0, 8))}; TensorRT does not support dilated pooling`
		: null;
}

function sameActivations(view: NodeView) {
	const activations = attributeOf(view.node, "activations");
	if (attributeOf(view.node, "direction") !== "bidirectional" || !Array.isArray(activations)) return null;
	const half = activations.length / 2;
	const isSame = activations.slice(0, half).every((name, index) => name === activations[half + index]);
	return isSame ? null : "has other activations backward than forward; TensorRT requires the same";
}

function normOneOrTwo(view: NodeView) {
	const norm = integerAttribute(view.node, "p", 2);
	return norm === 1 || norm === 2 ? null : `has p ${norm}; TensorRT supports 1 and 2`;
}

/** "Cannot infer squeeze dimensions from a dynamic shape": the importer has to know which axes have size 1. */
function statesAxes(view: NodeView) {
	if (has(view, 1) || attributeOf(view.node, "axes") !== undefined) return null;
	// Without dynamic inputs, an unknown size is not a dynamic one.
	const isDynamic =
		view.dims(0)?.some((dim) => typeof dim === "string" || (dim === null && view.hasDynamicInputs)) === true;
	const fault = "has no axes and an input with dynamic dimensions; TensorRT requires the axes";
	return isDynamic ? { fault, fix: "Export again with the axes stated." } : null;
}

/** "A DequantizeLayer can only run in DataType::kINT8, DataType::kFP8 or DataType::kINT4 precision". */
function dequantisesSmall(view: NodeView) {
	const dtype = view.constant(0)?.dtype;
	if (dtype !== "int32" && dtype !== "int16" && dtype !== "uint16") return null;
	const floatBias =
		"Keep biases in float when you quantise (onnxruntime.quantization: extra_options={'QuantizeBias': False}).";
	return {
		fault: `dequantises ${dtype}; TensorRT supports int8, int4 and float8`,
		fix: dtype === "int32" ? floatBias : "Quantise to INT8.",
	};
}

function withoutAttributes(names: readonly string[]): Restriction {
	return ({ node }) => {
		const found = node.attributes.find((attribute) => names.includes(attribute.name));
		return found === undefined ? null : `has the attribute ${found.name}, which TensorRT does not support`;
	};
}

function withoutInputs(inputs: Readonly<Record<number, string>>): Restriction {
	return (view) => {
		const found = Object.entries(inputs).find(([input]) => has(view, Number(input)));
		return found === undefined ? null : `has the input ${found[1]}, which TensorRT does not support`;
	};
}

function forInference(view: NodeView) {
	const training = view.constant(2)?.values?.[0];
	if (training !== undefined && training !== 0)
		return "is in training mode; TensorRT supports inference only";
	return notFed(2, "training_mode")(view);
}

/** Another layout is ignored, which would give wrong results. */
const recurrent: readonly Restriction[] = [sameActivations, integerIs("layout", 0)];
const resizeModes = "half_pixel pytorch_half_pixel tf_half_pixel_for_nn asymmetric align_corners".split(" ");
const reductions = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
	.split(" ")
	.map((each): [string, Restriction[]] => [`Reduce${each}`, [constantInput(1, "axes")]]);

export const restrictions: ReadonlyMap<string, readonly Restriction[]> = new Map<
	string,
	readonly Restriction[]
>([
	["AveragePool", [undilated]],
	["LpPool", [undilated, normOneOrTwo]],
	["MaxPool", [undilated, onlyFirstOutput]],
	["LpNormalization", [normOneOrTwo]],
	["LayerNormalization", [onlyFirstOutput]],
	["BatchNormalization", [integerIs("training_mode", 0)]],
	["Dropout", [forInference]],
	["LSTM", [...recurrent, integerIs("input_forget", 0)]],
	["GRU", recurrent],
	["RNN", recurrent],
	[
		"Resize",
		[
			among("coordinate_transformation_mode", resizeModes),
			among("keep_aspect_ratio_policy", ["stretch"]),
			integerIs("antialias", 0),
		],
	],
	["GridSample", [rankIs(0, 4)]],
	["ScatterND", [among("reduction", ["none"])]],
	["TopK", [integerIs("sorted", 1)]],
	["CumSum", [notFed(1, "axis")]],
	["OneHot", [notFed(1, "depth")]],
	["DequantizeLinear", [dequantisesSmall]],
	["Squeeze", [notFed(1, "axes"), statesAxes]],
	["Unsqueeze", [notFed(1, "axes")]],
	["TensorScatter", [rankIs(0, 4), integerIs("axis", -2)]],
	["STFT", [constantInput(1, "frame_step"), constantInput(2, "window")]],
	["Constant", [withoutAttributes(["sparse_value", "value_string", "value_strings"])]],
	[
		"Attention",
		[
			rankIs(0, 4),
			onlyFirstOutput,
			withoutInputs({ 4: "past_key", 5: "past_value", 6: "nonpad_kv_seqlen" }),
			withoutAttributes(["qk_matmul_output_mode", "softcap"]),
		],
	],
	...reductions,
]);

const code: FindingCode = "operator-restricted";
const otherFix = "Export it without that; trtexec makes the final decision.";

export const tensorRtRestrictions: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	const inputs = feeds(subject.model.onnx.graph);
	const fed = new Set(inputs.map((input) => input.name));
	const hasDynamicInputs = inputs.some(
		({ dims }) => dims === null || dims.some((dim) => typeof dim !== "number"),
	);
	const faults = subject.scopes.flatMap((scope) => [
		...scope.nodes.flatMap((node) => {
			const rules = (node.domain === "" && restrictions.get(node.op)) || [];
			const view = rules.length === 0 ? null : viewOf(subject, scope, { node, fed, hasDynamicInputs });
			const found = view === null ? [] : rules.flatMap((rule) => rule(view) ?? []);
			return found.map((fault): NodeFault => {
				const own = typeof fault === "string" ? { fault } : fault;
				return { node, scope, code, fix: otherFix, ...own };
			});
		}),
		...branches(scope),
	]);
	return foldFaults(faults);
};

function viewOf(
	subject: Subject,
	scope: Scope,
	of: Pick<NodeView, "node" | "hasDynamicInputs"> & { fed: ReadonlySet<string> },
): NodeView {
	const { node, fed, hasDynamicInputs } = of;
	const isKnown = !isInFunction(scope);
	const constant = (input: number) => constantOf(subject, scope, node.inputs[input]);
	return {
		node,
		constant,
		isComputed: (input) => isKnown && (node.inputs[input] ?? "") !== "" && constant(input) === null,
		dims: (input) =>
			scope.kind === "graph" ? (subject.static.shapes.get(node.inputs[input] ?? "") ?? null) : null,
		isFed: (input) => isKnown && fed.has(node.inputs[input] ?? ""),
		hasDynamicInputs,
	};
}

function isInFunction(scope: Scope): boolean {
	return scope.kind === "function" || (scope.outer !== null && isInFunction(scope.outer));
}

/** "IIfConditionalOutputLayer inputs must have the same shape": only ranks that both branches state are compared. */
function branches(scope: Scope) {
	const firsts = new Map<number, OnnxSubgraph>();
	return scope.subgraphs.flatMap((branch) => {
		const node = scope.nodes[branch.nodeIndex];
		const first = firsts.get(branch.nodeIndex);
		firsts.set(branch.nodeIndex, branch);
		if (first === undefined || node?.op !== "If") return [];
		return first.graph.outputs.flatMap(({ dims: left }, at): NodeFault[] => {
			const right = branch.graph.outputs[at]?.dims;
			if (!left || !right || left.length === right.length) return [];
			const ranks = `rank ${left.length} in ${quoteName(first.attribute, "")} and ${right.length} in ${quoteName(branch.attribute, "")}`;
			const fault = `gives output ${at} ${ranks}; TensorRT needs the same rank in both`;
			const fix = "Reshape in one branch, so that both agree, or export without the If.";
			return [{ node, scope, code, fault, fix }];
		});
	});
}

/** NvInfer.h of every version: "Currently only values of K up to 3840 are supported"; the parser of some lets more through. */
const maxK = 3840;

export const topkLimit: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	return everyNode(subject, (node, scope) => {
		if (node.domain !== "" || node.op !== "TopK") return [];
		const k = constantOf(subject, scope, node.inputs[1])?.values?.[0];
		const kept = integerAttribute(node, "k", k ?? 0);
		if (kept <= maxK) return [];
		const what = `keeps ${kept} elements; TensorRT's TopK keeps at most ${maxK}`;
		const fix = `Keep at most ${maxK}, or sort outside of the engine.`;
		return [nodeFinding("topk-limit", { node, scope }, { what, fix })];
	});
};
