// ONNX Runtime's signatures of the standard operators; and the element types that follow from them through a graph.
import file from "../../../../data/onnxruntime-operators.json" with { type: "json" };
import { elementTypeOfCode, type OnnxDType, type OnnxModel, type OnnxNode } from "../model.ts";
import {
	type Constants,
	foundIn,
	localOperators,
	nodesInRunOrder,
	operatorKey,
	type Scope,
} from "../walk.ts";
import { integerAttribute } from "./operator.ts";

interface Parameter {
	variable: string;
	form: "one" | "optional" | "many" | "any";
}

type TypeSets = ReadonlyMap<string, ReadonlySet<OnnxDType | "other">>;

export interface Signature {
	inputs: readonly Parameter[];
	outputs: readonly Parameter[];
	attributes: ReadonlySet<string>;
	required: readonly string[];
	types: TypeSets;
	kernels: readonly TypeSets[];
	functionBefore: number;
}

/** Written by scripts/onnxruntime-operators.py, which says how a line reads. */
const lines: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(
	Object.entries(file.operators as Record<string, Record<string, string>>),
);
const known = new Map<string, Signature>();

function signatureOf(operator: string, opset: number) {
	const key = `${operator} ${opset}`;
	const before = known.get(key);
	if (before !== undefined) return before;
	const versions = lines.get(operator) ?? {};
	const since = Math.max(
		0,
		...Object.keys(versions)
			.map(Number)
			.filter((version) => version <= opset),
	);
	const line = versions[String(since)];
	const signature = line === undefined ? null : parseLine(line);
	if (signature !== null) known.set(key, signature);
	return signature;
}

function parseLine(line: string) {
	const [parameters = "", attributes = "", types = "", kernels = ""] = line.split(";");
	const [inputs = [], outputs = []] = parameters.split(">").map((side) => splitNames(side).map(parameterOf));
	const names = splitNames(attributes);
	const ways = kernels.split("|").map((way) => way.trim());
	const fixed = [...inputs, ...outputs].filter(({ variable }) => variable.startsWith("="));
	const own = ways.filter((way) => way !== "none" && !way.startsWith("function"));
	const functionUntil = (way: string) =>
		way === "function" ? Infinity : Number(/^function<(\d+)$/.exec(way)?.[1] ?? 0);
	return {
		inputs,
		outputs,
		attributes: new Set(names.map((name) => name.replace("!", ""))),
		required: names.flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : [])),
		types: typesOf([...splitNames(types), ...fixed.map(({ variable }) => `${variable}${variable}`)]),
		kernels: own.map((way) => typesOf(way === "any" ? [] : splitNames(way))),
		functionBefore: Math.max(0, ...ways.map(functionUntil)),
	};
}

const forms: Readonly<Record<string, Parameter["form"]>> = { "?": "optional", "*": "many", "~": "any" };

function parameterOf(word: string): Parameter {
	const form = forms[word.at(-1) ?? ""];
	return form === undefined ? { variable: word, form: "one" } : { variable: word.slice(0, -1), form };
}

/** `T=1a`, and `=7=7` for a parameter whose types have no variable. */
function typesOf(entries: readonly string[]) {
	return new Map(
		entries.map((entry) => {
			const at = entry.lastIndexOf("=");
			const codes = [...entry.slice(at + 1)];
			return [
				entry.slice(0, at),
				new Set(codes.map((code) => (code === "." ? "other" : elementTypeOfCode(Number.parseInt(code, 36))))),
			];
		}),
	);
}

function splitNames(text: string) {
	return text.split(" ").filter((word) => word !== "");
}

export function parameterAt(parameters: readonly Parameter[], place: number): Parameter | undefined {
	const last = parameters.at(-1);
	return parameters[place] ?? (last?.form === "many" || last?.form === "any" ? last : undefined);
}

export type TypesByScope = ReadonlyMap<Scope, ReadonlyMap<string, OnnxDType>>;
type Types = readonly (OnnxDType | null)[];

type OtherTypes = (node: OnnxNode, given: Types, typesOf: (body: Scope) => Types) => Types;

/** Functions are left out, because their types depend on callers. */
export function inferTypes(
	model: OnnxModel,
	scopes: readonly Scope[],
	{ constants, others = () => [] }: { constants: Constants; others?: OtherTypes },
): TypesByScope {
	const local = localOperators(model);
	const found = new Map<Scope, Map<string, OnnxDType>>();
	const visit = (scope: Scope) => {
		if (found.has(scope)) return;
		const types = statedTypes(scope, constants);
		found.set(scope, types);
		if (scope.kind === "function") return;
		const typesOf = (body: Scope): Types => {
			visit(body);
			return body.outputs.map((name) => typeIn(found, body, name));
		};
		const keep = (node: OnnxNode, outputs: Types) => {
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

function statedTypes(scope: Scope, constants: Constants) {
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

function outputTypes(node: OnnxNode, signature: Signature, given: Types) {
	const bound = boundTypes(signature, given);
	const typeOf = (parameter: Parameter | undefined) => {
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

function statedType(node: OnnxNode, given: Types) {
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

function isTold(type: OnnxDType) {
	return type !== "undefined" && type !== "unknown";
}
