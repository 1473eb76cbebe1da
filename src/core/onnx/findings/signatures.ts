// Checks nodes against what ONNX Runtime takes: attributes, number of inputs, element types, and kernels for them.
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxDType, OnnxNode } from "../model.ts";
import { type Parameter, parameterAt, type Signature } from "../onnxruntime/signatures.ts";
import { quoteName } from "../quote.ts";
import { boundTypes, signatureIn, typeIn } from "../static-shapes/types.ts";
import type { Scope } from "../walk.ts";
import { finding, nodeIn, type Rule, type Subject } from "./subject.ts";
import { newestOpset } from "./versions.ts";

const removed: ReadonlySet<string> = new Set(["Constant", "Dropout", "Identity"]);

export const signatures: Rule = (subject) => {
	const local = new Set(subject.model.onnx.functions.map(({ domain, name }) => `${domain}\n${name}`));
	// A deep graph has few kinds of nodes: one that is right makes all others of its kind right.
	const right = new Set<string>();
	return subject.scopes.flatMap((scope) => {
		// Another finding says that this opset is too new for all of it.
		if ((scope.opsets[""] ?? 0) > newestOpset) return [];
		return scope.nodes.flatMap((node) => {
			const signature = local.has(`${node.domain}\n${node.op}`) ? null : signatureIn(scope, node);
			if (signature === null) return [];
			const [given, made] = [node.inputs, node.outputs].map((names) =>
				names.map((name) => typeIn(subject.types, scope, name)),
			);
			const use = { node, scope, signature, subject, given: given ?? [], made: made ?? [] };
			const kind = kindOf(use);
			const found = right.has(kind) ? [] : judge(use);
			if (found.length === 0) right.add(kind);
			return found;
		});
	});
};

interface Use {
	node: OnnxNode;
	scope: Scope;
	signature: Signature;
	subject: Subject;
	given: readonly (OnnxDType | null)[];
	made: readonly (OnnxDType | null)[];
}

function kindOf(use: Use): string {
	const { op, attributes } = use.node;
	return JSON.stringify([
		op,
		use.scope.opsets[""],
		use.given,
		use.made,
		isUnread(use),
		attributes.map(({ name }) => name),
	]);
}

/** TensorRT's parser casts where types differ and passes over what it does not know: there only types are worth a warning. */
function judge(use: Use): Finding[] {
	const types = typeFaults(use).slice(0, 1);
	if (use.subject.tensorrt !== null) return types;
	const found = [...attributeFaults(use), ...countFaults(use), ...types];
	return found.length > 0 ? found : kernelFaults(use);
}

function attributeFaults(use: Use): Finding[] {
	const { attributes, required } = use.signature;
	const names = use.node.attributes.map(({ name }) => name);
	const unknown = names
		.filter((name) => !attributes.has(name))
		.map((name) => `has an attribute ${quoteName(name)}, which the operator does not have`);
	const missing = required.filter(
		(name) => !names.includes(name) && !use.node.attributes.some((each) => each.name === name),
	);
	return [...unknown, ...missing.map((name) => `lacks the attribute ${quoteName(name)}`)].map((what) =>
		signatureFault(use, what),
	);
}

function countFaults(use: Use): Finding[] {
	const { inputs } = use.signature;
	const least = inputs.findLastIndex(({ form }) => form === "one") + 1;
	const count = use.node.inputs.length;
	if (count >= least && parameterAt(inputs, count - 1) !== undefined) return [];
	if (count === 0 && least === 0) return [];
	return [
		signatureFault(
			use,
			`has ${count} inputs, where it takes ${least === inputs.length ? least : `${least} to ${inputs.length}`}`,
		),
	];
}

function signatureFault({ node, scope }: Use, what: string): Finding {
	return finding(
		"operator-signature",
		`${nodeIn(node, scope)} ${what} in opset ${scope.opsets[""]}: ONNX Runtime rejects the model.`,
		{
			node,
		},
	);
}

function typeFaults({ node, scope, signature, subject, given }: Use): Finding[] {
	const bound = boundTypes(signature, given);
	return given.flatMap((type, place) => {
		const parameter = parameterAt(signature.inputs, place);
		const what =
			type === null || parameter === undefined ? null : mismatchOf(type, parameter, { bound, signature });
		if (what === null) return [];
		const isOrt = subject.tensorrt === null;
		return [
			finding(
				"type-mismatch",
				`${nodeIn(node, scope)} reads ${quoteName(node.inputs[place] ?? "")}, which is ${type}, ${what}: ONNX Runtime rejects the model${isOrt ? "" : ", and TensorRT may convert it silently"}.`,
				{ severity: isOrt ? "error" : "warning", node },
			),
		];
	});
}

function mismatchOf(
	type: OnnxDType,
	{ variable, form }: Parameter,
	{ bound, signature }: { bound: ReadonlyMap<string, OnnxDType>; signature: Signature },
): string | null {
	const allowed = signature.types.get(variable);
	if (allowed?.has(type) === false) return "a type that this operator does not take there";
	const other = form === "any" ? undefined : bound.get(variable);
	return other === undefined || other === type
		? null
		: `beside an input of type ${other}, where both must be the same`;
}

function kernelFaults(use: Use): Finding[] {
	const { node, scope, signature, given, made } = use;
	if ((scope.opsets[""] ?? 0) < signature.functionBefore || removed.has(node.op) || isUnread(use)) return [];
	const types = boundTypes(signature, given);
	for (const [place, type] of made.entries()) {
		const parameter = parameterAt(signature.outputs, place);
		if (
			parameter !== undefined &&
			parameter.form !== "any" &&
			type !== null &&
			!types.has(parameter.variable)
		)
			types.set(parameter.variable, type);
	}
	// Halves are computed as floats where there is no kernel for them.
	const isServed = signature.kernels.some((kernel) =>
		[...types].every(([variable, type]) => {
			const served = kernel.get(variable);
			return served === undefined || served.has(type) || (type === "float16" && served.has("float"));
		}),
	);
	if (isServed) return [];
	const of = signature.kernels.length === 0 ? "" : ` of ${[...new Set(types.values())].join(" and ")}`;
	return [
		finding(
			"operator-kernel",
			`${nodeIn(node, scope)} has no kernel${of} in opset ${scope.opsets[""]} on the CPU: ONNX Runtime rejects the model.`,
			{ node },
		),
	];
}

function isUnread({ node, scope, subject }: Use): boolean {
	return node.outputs.every((name) => !subject.read.get(scope)?.has(name));
}
