// Checks nodes against ONNX Runtime's signatures: attributes, number of inputs, element types, and kernels for them.
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxDType, OnnxNode } from "../model.ts";
import { parameterAt, type Signature } from "../onnxruntime/signatures.ts";
import { quoteName } from "../quote.ts";
import { boundTypes, signatureIn, typeIn } from "../static-shapes/types.ts";
import { localOperators, operatorKey, type Scope } from "../walk.ts";
import { finding, nodeIn, type Rule } from "./subject.ts";
import { newestOpset } from "./versions.ts";

export const signatures: Rule = (subject) => {
	const local = localOperators(subject.model.onnx);
	// A deep graph has few kinds of nodes: if one is right, all others of its kind are.
	const right = new Set<string>();
	return subject.scopes.flatMap((scope) => {
		const opset = scope.opsets[""] ?? 0;
		// Another finding reports that this opset is too new as a whole.
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

/** TensorRT's parser casts if types differ and passes over what it does not know: there only types are worth a warning. */
function judge(use: Use): Finding[] {
	const { node, scope, opset, isOrt } = use;
	const types = typeFaults(use).slice(0, 1);
	if (!isOrt) return types;
	const signature = [...attributeFaults(use), ...countFaults(use)].map((what) =>
		finding(
			"operator-signature",
			`${nodeIn(node, scope)} ${what} in opset ${opset}: ONNX Runtime rejects the model.`,
			{ node },
		),
	);
	const found = [...signature, ...types];
	return found.length > 0 ? found : kernelFaults(use);
}

function attributeFaults({ signature: { attributes, required }, node }: Use): string[] {
	const names = node.attributes.map(({ name }) => name);
	const unknown = names.filter((name) => !attributes.has(name));
	const missing = required.filter((name) => !names.includes(name));
	return [
		...unknown.map((name) => `has an attribute ${quoteName(name)}, which the operator does not have`),
		...missing.map((name) => `lacks the attribute ${quoteName(name)}`),
	];
}

function countFaults({ signature: { inputs }, node }: Use): string[] {
	const least = inputs.findLastIndex(({ form }) => form === "one") + 1;
	const count = node.inputs.length;
	if (count >= least && (count === 0 || parameterAt(inputs, count - 1) !== undefined)) return [];
	const most = inputs.length;
	return [`has ${count} inputs, where it takes ${least === most ? least : `${least} to ${most}`}`];
}

function typeFaults({ node, scope, signature, isOrt, given }: Use): Finding[] {
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
		const message = `${nodeIn(node, scope)} reads ${quoteName(node.inputs[place] ?? "")}, which is ${type}, ${what}: ${result}.`;
		return [finding("type-mismatch", message, { severity, node })];
	});
}

/** Operators that ONNX Runtime removes before it looks for kernels. */
const removed: ReadonlySet<string> = new Set(["Constant", "Dropout", "Identity"]);

function kernelFaults({ node, scope, signature, opset, isRead, given, made }: Use): Finding[] {
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
	const message = `${nodeIn(node, scope)} has no kernel${of} in opset ${opset} on the CPU: ONNX Runtime rejects the model.`;
	return [finding("operator-kernel", message, { node })];
}
