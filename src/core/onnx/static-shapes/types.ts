// Follows element types from the inputs through the graph and its subgraphs, by each operator's signature.
import { elementTypeOfCode } from "../element-type.ts";
import type { OnnxDType, OnnxModel, OnnxNode } from "../model.ts";
import { type Parameter, parameterAt, type Signature, signatureOf } from "../onnxruntime/signatures.ts";
import { nodesInRunOrder } from "../run-order.ts";
import { type Constants, foundIn, localOperators, operatorKey, type Scope } from "../walk.ts";
import { integerAttribute } from "./operator.ts";

export type TypesByScope = ReadonlyMap<Scope, ReadonlyMap<string, OnnxDType>>;
type Types = readonly (OnnxDType | null)[];

/** Types of the outputs of a node that has no signature here, or that runs bodies; `typesOf` gives those of a body's outputs. */
export type OtherTypes = (node: OnnxNode, given: Types, typesOf: (body: Scope) => Types) => Types;

/** Finds the types that are certain, by the body that defines them. Functions are left out, because their types depend on callers. */
export function inferTypes(
	model: OnnxModel,
	scopes: readonly Scope[],
	{ constants, others = () => [] }: { constants: Constants; others?: OtherTypes },
): TypesByScope {
	const local = localOperators(model);
	const found = new Map<Scope, Map<string, OnnxDType>>();
	const visit = (scope: Scope): void => {
		if (found.has(scope)) return;
		const types = statedTypes(scope, constants);
		found.set(scope, types);
		if (scope.kind === "function") return;
		const typesOf = (body: Scope): Types => {
			visit(body);
			return body.outputs.map((name) => typeIn(found, body, name));
		};
		const keep = (node: OnnxNode, outputs: Types): void => {
			for (const [place, type] of outputs.entries()) {
				const name = node.outputs[place] ?? "";
				if (name !== "" && type !== null && !types.has(name)) types.set(name, type);
			}
		};
		for (const node of nodesInRunOrder(scope)) {
			if (local.has(operatorKey(node))) continue;
			const given = node.inputs.map((name) => typeIn(found, scope, name));
			const signature = signatureIn(scope, node);
			if (signature !== null) keep(node, outputTypes(node, signature, given));
			keep(node, others(node, given, typesOf));
		}
	};
	for (const scope of scopes) visit(scope);
	return found;
}

function statedTypes(scope: Scope, constants: Constants): Map<string, OnnxDType> {
	const inputs = scope.declared.filter(({ kind, dtype }) => kind === "tensor" && isTold(dtype));
	const stated = [...inputs, ...(constants.get(scope)?.values() ?? [])];
	return new Map(stated.map(({ name, dtype }) => [name, dtype]));
}

export function signatureIn(scope: Scope, node: OnnxNode): Signature | null {
	const opset = scope.opsets[""];
	return node.domain !== "" || opset === undefined ? null : signatureOf(node.op, opset);
}

export function typeIn(types: TypesByScope, scope: Scope, name: string): OnnxDType | null {
	return foundIn(types, scope, name);
}

/** The types that the inputs give to the variables of a signature. */
export function boundTypes({ inputs }: Signature, given: Types): Map<string, OnnxDType> {
	const bound = new Map<string, OnnxDType>();
	for (const [place, type] of given.entries()) {
		const parameter = parameterAt(inputs, place);
		if (type === null || parameter === undefined || parameter.form === "any" || bound.has(parameter.variable))
			continue;
		bound.set(parameter.variable, type);
	}
	return bound;
}

function outputTypes(node: OnnxNode, signature: Signature, given: Types): Types {
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

/** Reads the type from a node's attributes, else from `fallbacks`: a type, or the input that has it. */
function statedType(node: OnnxNode, given: Types): OnnxDType | null {
	for (const name of ["to", "dtype", "output_dtype", "output_datatype"]) {
		const type = elementTypeOfCode(integerAttribute(node, name, 0));
		if (isTold(type)) return type;
	}
	const value = node.attributes.find(({ name }) => name === "value")?.tensor?.dtype;
	const fallback = value ?? fallbacks[node.op];
	return typeof fallback === "number" ? (given[fallback] ?? null) : (fallback ?? null);
}

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

function isTold(type: OnnxDType): boolean {
	return type !== "undefined" && type !== "unknown";
}
