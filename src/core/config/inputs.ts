// Values that inputs of the action or flags of the command line set in place of the file's.
import { suggest } from "./did-you-mean.ts";
import { childPointer } from "./pointer.ts";
import type { Problem } from "./problem.ts";

interface Target {
	/** Pointer of the value that the input sets. */
	pointer: string;
	reads: "text" | "integer" | "integers" | "boolean";
}

/** Inputs by name. `inconclusive` wins over every level of the file. */
export const configInputs: Readonly<Record<string, Target>> = {
	backend: { pointer: "/backend", reads: "text" },
	onnxruntime: { pointer: "/onnxruntime", reads: "text" },
	device: { pointer: "/device", reads: "text" },
	"base-trtexec": { pointer: "/base/trtexec", reads: "text" },
	"base-python": { pointer: "/base/python", reads: "text" },
	inconclusive: { pointer: "/gates/inconclusive", reads: "text" },
	pairs: { pointer: "/measure/pairs", reads: "integers" },
	"warm-up": { pointer: "/measure/warm-up", reads: "text" },
	duration: { pointer: "/measure/duration", reads: "text" },
	timeout: { pointer: "/measure/timeout", reads: "text" },
	"build-timeout": { pointer: "/measure/build-timeout", reads: "text" },
	threads: { pointer: "/measure/threads", reads: "integer" },
	tensorrt: { pointer: "/preflight/tensorrt", reads: "text" },
	strict: { pointer: "/preflight/strict", reads: "boolean" },
	baseline: { pointer: "/baseline/from", reads: "text" },
	"baseline-ref": { pointer: "/baseline/ref", reads: "text" },
};

export interface Overridden {
	value: unknown;
	/** Names of inputs by the pointer of what they set. */
	inputs: Map<string, string>;
	problems: readonly Problem[];
}

/** The file's value with the inputs put in; an input of "" is not set. The file's value is not changed. */
export function applyInputs(file: unknown, inputs: Readonly<Record<string, string>>): Overridden {
	const problems: Problem[] = [];
	const set = new Map<string, string>();
	let value = file;
	for (const [name, text] of Object.entries(inputs)) {
		const target = Object.hasOwn(configInputs, name) ? configInputs[name] : undefined;
		if (target === undefined) {
			const problem = unknownInput(name);
			problems.push(problem);
			set.set(problem.pointer, name);
		} else if (text.trim() !== "") {
			set.set(target.pointer, name);
			value = withValue(value, target.pointer.split("/").slice(1), readText(text.trim(), target.reads));
		}
	}
	return { value, inputs: set, problems };
}

function unknownInput(name: string): Problem {
	const known = Object.keys(configInputs);
	return {
		code: "usage",
		pointer: childPointer("", name),
		says: "is not known",
		expected: `one of ${known.join(", ")}`,
		...suggest(name, known, "Remove the input."),
	};
}

/** What does not read as its kind stays text, for the schema to refuse. */
function readText(text: string, reads: Target["reads"]): unknown {
	switch (reads) {
		case "text":
			return text;
		case "integer":
			return readInteger(text);
		case "integers":
			return text.split(",").map((part) => readInteger(part.trim()));
		case "boolean":
			return text === "true" ? true : text === "false" ? false : text;
	}
}

function readInteger(text: string): number | string {
	return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

/** A copy with one value put in; where the file has something that cannot hold it, the file's fault is left to the schema. */
function withValue(holder: unknown, path: readonly string[], value: unknown): unknown {
	const [key, ...rest] = path;
	if (key === undefined) return value;
	if (holder !== undefined && (typeof holder !== "object" || holder === null || Array.isArray(holder))) return holder;
	const copy: Record<string, unknown> = Object.assign(Object.create(null), holder);
	copy[key] = withValue(copy[key], rest, value);
	return copy;
}
