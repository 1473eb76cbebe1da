// Checks uses of operators that ONNX Runtime 1.30 refuses although it has a kernel. Each was tried.
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxDType, OnnxNode } from "../model.ts";
import { type Dims, differ, elementsOf, integerAttribute, numbers } from "../static-shapes/operator.ts";
import { typeIn } from "../static-shapes/types.ts";
import { everyNode, finding, nodeIn, type Rule, type Subject } from "./subject.ts";

/** Says what is refused of this node, as the end of a sentence; null if nothing is. */
type Limit = (node: OnnxNode, shapes: readonly (Dims | null)[], type: OnnxDType | null) => string | null;

const batchFirst: Limit = (node) =>
	integerAttribute(node, "layout", 0) === 0 ? null : "puts the batch first (layout = 1)";

const emptyBooleans: Limit = (_, [dims], type) =>
	type === "bool" && dims && elementsOf(dims) === 0 ? "takes the largest or smallest of no booleans" : null;

/** Inputs: query, key, value, mask, past key. Three axes: [batch, sequence, size]; four: [batch, heads, sequence, size]. */
const wholeMask: Limit = (node, [, key, , mask, past]) => {
	const fresh = key?.at(-2);
	const before = node.inputs[4] ? past?.at(-2) : 0;
	if (!mask || typeof fresh !== "number" || typeof before !== "number") return null;
	if (!differ(mask.at(-1), fresh + before)) return null;
	return `has a mask of ${mask.at(-1)} for a sequence of ${fresh + before}`;
};

const limits: ReadonlyMap<string, Limit> = new Map<string, Limit>([
	["Attention", wholeMask],
	[
		"ConvInteger",
		(_, [, , , zeroPoints]) =>
			(elementsOf(zeroPoints ?? []) ?? 0) > 1 ? "has a zero point for each channel of its weights" : null,
	],
	["GRU", batchFirst],
	["LSTM", batchFirst],
	[
		"Mod",
		(node, _, type) =>
			integerAttribute(node, "fmod", 0) === 0 && /^(float|double|float16)$/.test(type ?? "")
				? "takes the remainder of floats without fmod = 1"
				: null,
	],
	["ReduceMax", emptyBooleans],
	["ReduceMin", emptyBooleans],
	["RNN", batchFirst],
]);

export const onnxRuntimeLimits: Rule = (subject) =>
	subject.tensorrt === null ? [...refusedUses(subject), ...sizesOfShapes(subject)] : [];

function refusedUses(subject: Subject): Finding[] {
	return everyNode(subject, (node, scope) => {
		const limit = node.domain === "" ? limits.get(node.op) : undefined;
		if (limit === undefined) return [];
		const shapes = node.inputs.map((name) =>
			scope.kind === "graph" ? (subject.static.shapes.get(name) ?? null) : null,
		);
		const what = limit(node, shapes, typeIn(subject.types, scope, node.inputs[0] ?? ""));
		if (what === null) return [];
		const message = `${nodeIn(node, scope)} ${what}, which ONNX Runtime rejects.`;
		const fix = "Export the operator in another form, or gate this model on TensorRT.";
		return [finding("operator-refused", message, { fix, node })];
	});
}

const carryingOn = new Set(["Cast", "Concat", "Identity", "Squeeze", "Unsqueeze"]);
const shaping = new Set(["ConstantOfShape", "Expand", "Range", "Reshape", "Tile"]);

/** The WebAssembly build takes the product of the sizes for their number if all are fixed, and stumbles over the difference. */
function sizesOfShapes({ graph, static: { values } }: Subject): Finding[] {
	const wrong = new Set<string>();
	for (const node of graph.nodes) {
		const [first = ""] = node.outputs;
		const sizes = numbers(values.get(node.inputs[0] ?? "")) ?? [];
		const isMiscounted = sizes.length > 0 && elementsOf(sizes) !== sizes.length;
		if (node.op === "Size" && node.domain === "" && isMiscounted) wrong.add(first);
		if (!node.inputs.some((name) => wrong.has(name))) continue;
		if (carryingOn.has(node.op)) wrong.add(first);
		if (!shaping.has(node.op)) continue;
		const message = `${nodeIn(node, graph)} reads the Size of a Shape with fixed sizes, which ONNX Runtime's WebAssembly build miscounts: it rejects the model, the native build does not.`;
		const fix =
			"Set `onnxruntime: native`, or fold constants before export (onnxsim), which leaves no such Size.";
		return [finding("operator-refused", message, { severity: "warning", fix, node })];
	}
	return [];
}
