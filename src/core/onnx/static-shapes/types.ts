// Follows element types from the inputs through the graph and its subgraphs, by each operator's signature.
import { elementTypeOfCode } from "../element-type.ts";
import type { OnnxDType, OnnxInitializer, OnnxModel, OnnxNode } from "../model.ts";
import { type Parameter, parameterAt, type Signature, signatureOf } from "../onnxruntime/signatures.ts";
import { nodesInRunOrder } from "../run-order.ts";
import type { Scope } from "../walk.ts";
import { integerAttribute } from "./operator.ts";

export type TensorTypes = ReadonlyMap<string, OnnxDType>;
type Constants = ReadonlyMap<Scope, ReadonlyMap<string, OnnxInitializer>>;

const typeAttributes = ["to", "dtype", "output_dtype", "output_datatype"];
const fallbacks: Readonly<Record<string, OnnxDType | number>> = {
	Bernoulli: 0,
	BlackmanWindow: "float",
	ConstantOfShape: "float",
	DequantizeLinear: 1,
	EyeLike: 0,
	HammingWindow: "float",
	HannWindow: "float",
	MelWeightMatrix: "float",
	Multinomial: "int32",
	QuantizeLinear: "uint8",
	RandomNormal: "float",
	RandomNormalLike: 0,
	RandomUniform: "float",
	RandomUniformLike: 0,
};

/** Types of the outputs of a node that has no signature here, or that runs bodies; `typesOf` gives those of a body's outputs. */
export type OtherTypes = (
	node: OnnxNode,
	given: readonly (OnnxDType | null)[],
	typesOf: (body: Scope) => readonly (OnnxDType | null)[],
) => readonly (OnnxDType | null)[];

/** Of every tensor whose type is certain, by the body that gives it. Functions have the types of their callers, and are left out. */
export function inferTypes(
	model: OnnxModel,
	scopes: readonly Scope[],
	{ constants, others = () => [] }: { constants: Constants; others?: OtherTypes },
): ReadonlyMap<Scope, TensorTypes> {
	const local = new Set(model.functions.map(({ domain, name }) => `${domain}\n${name}`));
	const found = new Map<Scope, Map<string, OnnxDType>>();
	const visit = (scope: Scope): void => {
		if (found.has(scope)) return;
		const types = statedTypes(scope, constants);
		found.set(scope, types);
		if (scope.kind === "function") return;
		const typesOf = (body: Scope): (OnnxDType | null)[] => {
			visit(body);
			return body.outputs.map((name) => typeIn(found, body, name));
		};
		for (const node of nodesInRunOrder(scope)) {
			if (local.has(`${node.domain}\n${node.op}`)) continue;
			follow(node, scope, found);
			const given = node.inputs.map((name) => typeIn(found, scope, name));
			for (const [place, type] of others(node, given, typesOf).entries())
				keepType(types, node.outputs[place], type);
		}
	};
	for (const scope of scopes) visit(scope);
	return found;
}

function keepType(types: Map<string, OnnxDType>, name: string | undefined, type: OnnxDType | null): void {
	if (name !== undefined && name !== "" && type !== null && !types.has(name)) types.set(name, type);
}

function statedTypes(scope: Scope, constants: Constants): Map<string, OnnxDType> {
	const inputs = scope.declared.filter(({ kind, dtype }) => kind === "tensor" && isTold(dtype));
	return new Map([
		...inputs.map(({ name, dtype }) => [name, dtype] as const),
		...[...(constants.get(scope) ?? [])].map(([name, { dtype }]) => [name, dtype] as const),
	]);
}

function follow(node: OnnxNode, scope: Scope, found: ReadonlyMap<Scope, Map<string, OnnxDType>>): void {
	const types = found.get(scope);
	const signature = signatureIn(scope, node);
	if (signature === null || types === undefined) return;
	const given = node.inputs.map((name) => typeIn(found, scope, name));
	for (const [place, type] of outputTypes(node, signature, given).entries())
		keepType(types, node.outputs[place], type);
}

export function signatureIn(scope: Scope, node: OnnxNode): Signature | null {
	const opset = scope.opsets[""];
	return node.domain !== "" || opset === undefined ? null : signatureOf(node.op, opset);
}

export function typeIn(types: ReadonlyMap<Scope, TensorTypes>, scope: Scope, name: string): OnnxDType | null {
	if (name === "") return null;
	for (let at: Scope | null = scope; at !== null; at = at.outer) {
		const found = types.get(at)?.get(name);
		if (found !== undefined) return found;
	}
	return null;
}

export function boundTypes(
	signature: Signature,
	given: readonly (OnnxDType | null)[],
): Map<string, OnnxDType> {
	const bound = new Map<string, OnnxDType>();
	for (const [place, type] of given.entries()) {
		const parameter = parameterAt(signature.inputs, place);
		if (type === null || parameter === undefined || parameter.form === "any" || bound.has(parameter.variable))
			continue;
		bound.set(parameter.variable, type);
	}
	return bound;
}

function outputTypes(
	node: OnnxNode,
	signature: Signature,
	given: readonly (OnnxDType | null)[],
): (OnnxDType | null)[] {
	const bound = boundTypes(signature, given);
	const typeOf = (parameter: Parameter | undefined): OnnxDType | null => {
		if (parameter === undefined || parameter.form === "any") return null;
		const { variable } = parameter;
		const types = signature.types.get(variable) ?? new Set();
		const [only] = types;
		if (types.size === 1) return only === undefined || only === "other" ? null : only;
		if (types.size === 0) return null;
		const isFed = signature.inputs.some(
			(input, place) => input.variable === variable && (node.inputs[place] ?? "") !== "",
		);
		return bound.get(variable) ?? (isFed ? null : statedType(node, given));
	};
	return node.outputs.map((_, place) => typeOf(parameterAt(signature.outputs, place)));
}

function statedType(node: OnnxNode, given: readonly (OnnxDType | null)[]): OnnxDType | null {
	for (const name of typeAttributes) {
		const type = elementTypeOfCode(integerAttribute(node, name, 0));
		if (isTold(type)) return type;
	}
	const value = node.attributes.find((attribute) => attribute.name === "value")?.tensor?.dtype;
	if (value !== undefined) return value;
	const fallback = fallbacks[node.op];
	return typeof fallback === "number" ? (given[fallback] ?? null) : (fallback ?? null);
}

function isTold(type: OnnxDType): boolean {
	return type !== "undefined" && type !== "unknown";
}
