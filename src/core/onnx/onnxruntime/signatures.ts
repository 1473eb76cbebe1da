// ONNX Runtime's support for each standard operator, by opset, and the types for which it has a kernel on the CPU.

import file from "../../../../data/onnxruntime-operators.json" with { type: "json" };
import { elementTypeOfCode } from "../element-type.ts";
import type { OnnxDType } from "../model.ts";

export interface Parameter {
	variable: string;
	form: "one" | "optional" | "many" | "any";
}

type Types = ReadonlyMap<string, ReadonlySet<OnnxDType | "other">>;

export interface Signature {
	inputs: readonly Parameter[];
	outputs: readonly Parameter[];
	attributes: ReadonlySet<string>;
	required: readonly string[];
	types: Types;
	kernels: readonly Types[];
	functionBefore: number;
}

/** Written by scripts/onnxruntime-operators.py, which says how a line reads. */
const lines: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(
	Object.entries(file.operators as Record<string, Record<string, string>>),
);
const known = new Map<string, Signature>();

export function signatureOf(operator: string, opset: number): Signature | null {
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
	// A file may name any number of operators, so only known ones are cached.
	if (signature !== null) known.set(key, signature);
	return signature;
}

function parseLine(line: string): Signature {
	const [parameters = "", attributes = "", types = "", kernels = ""] = line
		.split(";")
		.map((part) => part.trim());
	const [inputs, outputs] = parameters.split(">").map((side) => splitNames(side).map(parameterOf));
	const names = splitNames(attributes);
	const ways = kernels.split("|").map((way) => way.trim());
	const fixed = [...(inputs ?? []), ...(outputs ?? [])].flatMap(({ variable }) =>
		variable.startsWith("=") ? [`${variable}${variable}`] : [],
	);
	return {
		inputs: inputs ?? [],
		outputs: outputs ?? [],
		attributes: new Set(names.map((name) => name.replace("!", ""))),
		required: names.flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : [])),
		types: typesOf([...splitNames(types), ...fixed]),
		kernels: ways
			.filter((way) => way !== "none" && !way.startsWith("function"))
			.map((way) => typesOf(way === "any" ? [] : splitNames(way))),
		functionBefore: Math.max(
			0,
			...ways.map((way) =>
				way === "function" ? Number.POSITIVE_INFINITY : Number(/^function<(\d+)$/.exec(way)?.[1] ?? 0),
			),
		),
	};
}

const forms: Readonly<Record<string, Parameter["form"]>> = { "?": "optional", "*": "many", "~": "any" };

function parameterOf(word: string): Parameter {
	const form = forms[word.at(-1) ?? ""];
	return form === undefined ? { variable: word, form: "one" } : { variable: word.slice(0, -1), form };
}

/** `T=1a`, and `=7=7` for a parameter whose types have no variable. */
function typesOf(entries: readonly string[]): Types {
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

function splitNames(text: string): string[] {
	return text.split(" ").filter((word) => word !== "");
}

export function parameterAt(parameters: readonly Parameter[], place: number): Parameter | undefined {
	const last = parameters.at(-1);
	return parameters[place] ?? (last?.form === "many" || last?.form === "any" ? last : undefined);
}
