// Tensors with known values or dims by name: initialisers and outputs of Constant nodes.
import type { OnnxInitializer, OnnxNode } from "./model.ts";
import type { Scope } from "./walk.ts";

export type Constants = ReadonlyMap<Scope, ReadonlyMap<string, OnnxInitializer>>;

export function constantsIn(scopes: readonly Scope[]): Constants {
	return new Map(scopes.map((scope) => [scope, constantsOf(scope)]));
}

/** The constant that a name means in a scope, or in the ones around it. */
export function constantNamed(constants: Constants, scope: Scope, name: string | undefined): OnnxInitializer | null {
	if (name === undefined || name === "") return null;
	for (let at: Scope | null = scope; at !== null; at = at.outer) {
		const found = constants.get(at)?.get(name);
		if (found !== undefined) return found;
	}
	return null;
}

function constantsOf(scope: Scope): Map<string, OnnxInitializer> {
	const constants = new Map(scope.initializers.map((weight) => [weight.name, weight]));
	for (const node of scope.nodes) {
		const name = node.outputs[0];
		if (node.op !== "Constant" || node.domain !== "" || name === undefined) continue;
		const tensor = constantTensor(node, name);
		if (tensor !== null) constants.set(name, tensor);
	}
	return constants;
}

/** Constant holds its value as a tensor, or since opset 12 as numbers. */
function constantTensor(node: OnnxNode, name: string): OnnxInitializer | null {
	const attribute = node.attributes[0];
	if (attribute?.tensor !== undefined) return { ...attribute.tensor, name };
	const value = attribute?.value;
	const dtype = attribute?.name.startsWith("value_int") ? "int64" : "float";
	if (typeof value === "number") return { name, dtype, dims: [], bytes: 0, storage: "typed", values: [value] };
	const numbers = Array.isArray(value) ? value.filter((entry) => typeof entry === "number") : [];
	return numbers.length === 0 ? null : { name, dtype, dims: [numbers.length], bytes: 0, storage: "typed", values: numbers };
}
