// Checks uses of operators that ONNX Runtime 1.30 has a kernel for but refuses. Each was tried.
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxDType, OnnxNode } from "../model.ts";
import { type Dims, differ, elementsOf, integerAttribute, numbers } from "../static-shapes/operator.ts";
import { typeIn } from "../static-shapes/types.ts";
import { finding, nodeIn, type Rule, type Subject } from "./subject.ts";

interface View {
	node: OnnxNode;
	shapes: readonly (Dims | null)[];
	type: OnnxDType | null;
}

type Limit = (view: View) => string | null;

const batchFirst: Limit = ({ node }) =>
	integerAttribute(node, "layout", 0) === 0 ? null : "puts the batch first (layout = 1)";

const perChannelZero: Limit = ({ shapes }) =>
	(shapes[3] ? (elementsOf(shapes[3]) ?? 0) : 0) > 1
		? "has a zero point for each channel of its weights"
		: null;

const emptyBooleans: Limit = ({ shapes, type }) =>
	type === "bool" && shapes[0] && elementsOf(shapes[0]) === 0
		? "takes the largest or smallest of no booleans"
		: null;

/** Inputs: query, key, value, mask, past key. Three axes: [batch, sequence, size]; four: [batch, heads, sequence, size]. */
const shortMask: Limit = ({ node, shapes }) => {
	const [key, mask, past] = [shapes[1], shapes[3], shapes[4]];
	const fresh = key?.at(-2);
	const before = (node.inputs[4] ?? "") === "" ? 0 : past?.at(-2);
	if (
		!mask ||
		typeof fresh !== "number" ||
		typeof before !== "number" ||
		!differ(mask.at(-1), fresh + before)
	)
		return null;
	return `has a mask of ${mask.at(-1)} for a sequence of ${fresh + before}`;
};

const roundedMod: Limit = ({ node, type }) =>
	integerAttribute(node, "fmod", 0) === 0 && (type === "float" || type === "double" || type === "float16")
		? "takes the remainder of floats without fmod = 1"
		: null;

const limits: ReadonlyMap<string, Limit> = new Map([
	["Attention", shortMask],
	["ConvInteger", perChannelZero],
	["GRU", batchFirst],
	["LSTM", batchFirst],
	["Mod", roundedMod],
	["ReduceMax", emptyBooleans],
	["ReduceMin", emptyBooleans],
	["RNN", batchFirst],
]);

export const onnxRuntimeLimits: Rule = (subject) => {
	if (subject.context.backend !== "onnxruntime") return [];
	return [...refusedUses(subject), ...sizesOfShapes(subject)];
};

function refusedUses(subject: Subject): Finding[] {
	return subject.scopes.flatMap((scope) =>
		scope.nodes.flatMap((node) => {
			const limit = node.domain === "" ? limits.get(node.op) : undefined;
			if (limit === undefined) return [];
			const shapes = node.inputs.map((name) =>
				scope.kind === "graph" ? (subject.static.shapes.get(name) ?? null) : null,
			);
			const what = limit({ node, shapes, type: typeIn(subject.types, scope, node.inputs[0] ?? "") });
			if (what === null) return [];
			const message = `${nodeIn(node, scope)} ${what}, which ONNX Runtime rejects.`;
			return [
				finding("operator-refused", message, {
					fix: "Export the operator in another form, or gate this model on TensorRT.",
					node,
				}),
			];
		}),
	);
}

const carryingOn: ReadonlySet<string> = new Set(["Cast", "Concat", "Identity", "Squeeze", "Unsqueeze"]);
const shaping: ReadonlySet<string> = new Set(["ConstantOfShape", "Expand", "Range", "Reshape", "Tile"]);

/** The WebAssembly build takes the product of the sizes for their number where all are fixed, and stumbles over the difference. */
function sizesOfShapes(subject: Subject): Finding[] {
	const [graph] = subject.scopes;
	const wrong = new Set<string>();
	for (const node of graph?.nodes ?? []) {
		const [first = ""] = node.outputs;
		if (
			node.op === "Size" &&
			node.domain === "" &&
			isMiscounted(numbers(subject.static.values.get(node.inputs[0] ?? "")))
		)
			wrong.add(first);
		if (!node.inputs.some((name) => wrong.has(name))) continue;
		if (carryingOn.has(node.op)) wrong.add(first);
		if (!shaping.has(node.op)) continue;
		const message = `${nodeIn(node, graph as Parameters<typeof nodeIn>[1])} reads the Size of a Shape with fixed sizes, which ONNX Runtime's WebAssembly build miscounts: it rejects the model, the native build does not.`;
		const fix =
			"Set `onnxruntime: native`, or fold constants before export (onnxsim), which leaves no such Size.";
		return [finding("operator-refused", message, { severity: "warning", fix, node })];
	}
	return [];
}

function isMiscounted(sizes: readonly number[] | null): boolean {
	return (
		sizes !== null && sizes.length > 0 && sizes.reduce((product, size) => product * size, 1) !== sizes.length
	);
}
