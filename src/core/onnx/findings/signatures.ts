// Checks nodes against ONNX Runtime 1.30: signatures, kernels, and uses that it refuses although it has a kernel.

import { quoteName } from "../../text/escape.ts";
import type { OnnxDType, OnnxNode } from "../model.ts";
import { type Dims, differ, elementsOf, integerAttribute, numbers } from "../static-shapes/operator.ts";
import { boundTypes, parameterAt, type Signature, signatureIn, typeIn } from "../static-shapes/types.ts";
import { localOperators, operatorKey, type Scope } from "../walk.ts";
import { newestOpset } from "./graph.ts";
import { everyNode, nodeFinding, type Rule, type Subject } from "./subject.ts";

export const signatures: Rule = (subject) => {
	const local = localOperators(subject.model.onnx);
	// A deep graph has few kinds of nodes: if one is right, all others of its kind are.
	const right = new Set<string>();
	return subject.scopes.flatMap((scope) => {
		const opset = scope.opsets[""] ?? 0;
		if (opset > newestOpset) return [];
		return scope.nodes.flatMap((node) => {
			const signature = local.has(operatorKey(node)) ? null : signatureIn(scope, node);
			if (signature === null) return [];
			const typesOf = (names: readonly string[]) => names.map((name) => typeIn(subject.types, scope, name));
			const use: Use = {
				node,
				signature,
				opset,
				scope,
				isOrt: subject.tensorrt === null,
				isRead: node.outputs.some((name) => subject.read.get(scope)?.has(name)),
				given: typesOf(node.inputs),
				made: typesOf(node.outputs),
			};
			const attributes = node.attributes.map(({ name }) => name);
			const kind = JSON.stringify([node.op, opset, use.given, use.made, use.isRead, attributes]);
			const found = right.has(kind) ? [] : judge(use);
			if (found.length === 0) right.add(kind);
			return found;
		});
	});
};

interface Use {
	node: OnnxNode;
	signature: Signature;
	opset: number;
	scope: Scope;
	isOrt: boolean;
	isRead: boolean;
	given: readonly (OnnxDType | null)[];
	made: readonly (OnnxDType | null)[];
}

/** TensorRT casts if types differ and ignores what it does not know, so only types are worth a warning. */
function judge(use: Use) {
	const { opset, isOrt } = use;
	const types = typeFaults(use).slice(0, 1);
	if (!isOrt) return types;
	const signature = [...attributeFaults(use), ...countFaults(use)].map((fault) =>
		nodeFinding("operator-signature", use, {
			what: `${fault} in opset ${opset}: ONNX Runtime rejects the model`,
		}),
	);
	const found = [...signature, ...types];
	return found.length > 0 ? found : kernelFaults(use);
}

function attributeFaults({ signature: { attributes, required }, node, scope }: Use) {
	const names = node.attributes.map(({ name }) => name);
	// ONNX Runtime makes initialisers of these before it checks attributes.
	if (node.op === "Constant" && scope.kind !== "subgraph") return names.length > 0 ? [] : ["has no value"];
	const unknown = names.filter((name) => !attributes.has(name));
	const missing = required.filter((name) => !names.includes(name));
	return [
		...unknown.map((name) => `has an attribute ${quoteName(name)}, which the operator does not have`),
		...missing.map((name) => `lacks the attribute ${quoteName(name)}`),
	];
}

function countFaults({ signature: { inputs }, node }: Use) {
	const least = inputs.findLastIndex(({ form }) => form === "one") + 1;
	const count = node.inputs.length;
	if (count >= least && (count === 0 || parameterAt(inputs, count - 1) !== undefined)) return [];
	const most = inputs.length;
	return [`has ${count} inputs, where it takes ${least === most ? least : `${least} to ${most}`}`];
}

function typeFaults(use: Use) {
	const { node, signature, isOrt, given } = use;
	const bound = boundTypes(signature, given);
	const severity = isOrt ? "error" : "warning";
	const result = `ONNX Runtime rejects the model${isOrt ? "" : ", and TensorRT may convert it silently"}`;
	return given.flatMap((type, place) => {
		const parameter = parameterAt(signature.inputs, place);
		if (type === null || parameter === undefined) return [];
		const { variable, form } = parameter;
		const other = form === "any" ? type : (bound.get(variable) ?? type);
		const isRefused = signature.types.get(variable)?.has(type) === false;
		if (!isRefused && other === type) return [];
		const what = isRefused
			? "a type that this operator does not take there"
			: `beside an input of type ${other}, where both must be the same`;
		const name = quoteName(node.inputs[place] ?? "");
		return [
			nodeFinding("type-mismatch", use, {
				what: `reads ${name}, which is ${type}, ${what}: ${result}`,
				severity,
			}),
		];
	});
}

/** Operators that ONNX Runtime removes before it looks for kernels. */
const removed: ReadonlySet<string> = new Set(["Constant", "Dropout", "Identity"]);

function kernelFaults(use: Use) {
	const { node, signature, opset, isRead, given, made } = use;
	if (opset < signature.functionBefore || removed.has(node.op) || !isRead) return [];
	const types = boundTypes(signature, given);
	for (const [place, type] of made.entries()) {
		const parameter = parameterAt(signature.outputs, place);
		if (parameter === undefined || parameter.form === "any" || type === null) continue;
		if (!types.has(parameter.variable)) types.set(parameter.variable, type);
	}
	// Halves are computed as floats if there is no kernel for them.
	const isServed = signature.kernels.some((kernel) =>
		[...types].every(([variable, type]) => {
			const served = kernel.get(variable);
			return served === undefined || served.has(type) || (type === "float16" && served.has("float"));
		}),
	);
	if (isServed) return [];
	const of = signature.kernels.length === 0 ? "" : ` of ${[...new Set(types.values())].join(" and ")}`;
	const what = `has no kernel${of} in opset ${opset} on the CPU: ONNX Runtime rejects the model`;
	return [nodeFinding("operator-kernel", use, { what })];
}

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

function refusedUses(subject: Subject) {
	return everyNode(subject, (node, scope) => {
		const limit = node.domain === "" ? limits.get(node.op) : undefined;
		if (limit === undefined) return [];
		const shapes = node.inputs.map((name) =>
			scope.kind === "graph" ? (subject.static.shapes.get(name) ?? null) : null,
		);
		const what = limit(node, shapes, typeIn(subject.types, scope, node.inputs[0] ?? ""));
		if (what === null) return [];
		const fix = "Export the operator in another form, or gate this model on TensorRT.";
		return [
			nodeFinding("operator-refused", { node, scope }, { what: `${what}, which ONNX Runtime rejects`, fix }),
		];
	});
}

const carryingOn = new Set(["Cast", "Concat", "Identity", "Squeeze", "Unsqueeze"]);
const shaping = new Set(["ConstantOfShape", "Expand", "Range", "Reshape", "Tile"]);

/** The WebAssembly build takes the product of fixed sizes for their number, and rejects the difference. */
function sizesOfShapes({ graph, static: { values } }: Subject) {
	const wrong = new Set<string>();
	for (const node of graph.nodes) {
		const [first = ""] = node.outputs;
		const sizes = numbers(values.get(node.inputs[0] ?? "")) ?? [];
		const isMiscounted = sizes.length > 0 && elementsOf(sizes) !== sizes.length;
		if (node.op === "Size" && node.domain === "" && isMiscounted) wrong.add(first);
		if (!node.inputs.some((name) => wrong.has(name))) continue;
		if (carryingOn.has(node.op)) wrong.add(first);
		if (!shaping.has(node.op)) continue;
		const what =
			"reads the Size of a Shape with fixed sizes, which ONNX Runtime's WebAssembly build miscounts: it rejects the model, the native build does not";
		const fix =
			"Set `onnxruntime: native`, or fold constants before export (onnxsim), which leaves no such Size.";
		return [nodeFinding("operator-refused", { node, scope: graph }, { what, severity: "warning", fix })];
	}
	return [];
}
