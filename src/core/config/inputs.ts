// Overrides values of the config file by inputs of the action or flags.
import { type SchemaNode, schemaFor } from "./expected.ts";
import { parsePointer } from "./pointer.ts";

/** Pointers of the values that inputs set; `inconclusive` overrides every level. */
export const configInputs: Readonly<Record<string, string>> = {
	backend: "/backend",
	onnxruntime: "/onnxruntime",
	device: "/device",
	"base-trtexec": "/base/trtexec",
	"base-python": "/base/python",
	inconclusive: "/gates/inconclusive",
	pairs: "/measure/pairs",
	"warm-up": "/measure/warm-up",
	duration: "/measure/duration",
	timeout: "/measure/timeout",
	"build-timeout": "/measure/build-timeout",
	threads: "/measure/threads",
	tensorrt: "/preflight/tensorrt",
	strict: "/preflight/strict",
	baseline: "/baseline/from",
	"baseline-ref": "/baseline/ref",
};

/** @param inputs by their names in `configInputs`; "" is ignored. */
export function applyInputs(
	file: unknown,
	inputs: Readonly<Record<string, string>>,
): { value: unknown; inputs: Map<string, string> } {
	const set = new Map<string, string>();
	let value = file;
	for (const [name, pointer] of Object.entries(configInputs)) {
		const text = inputs[name]?.trim() ?? "";
		if (text === "") continue;
		set.set(pointer, name);
		value = withValue(value, parsePointer(pointer), readText(text, schemaFor(pointer)));
	}
	return { value, inputs: set };
}

function readText(text: string, { type, items }: SchemaNode): unknown {
	if (type === "array") return text.split(",").map((part) => readText(part.trim(), items ?? {}));
	if (type === "integer") return /^\d{1,9}$/.test(text) ? Number(text) : text;
	return type === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
}

function withValue(holder: unknown, path: readonly string[], value: unknown): unknown {
	const [key, ...rest] = path;
	if (key === undefined) return value;
	if (holder !== undefined && (typeof holder !== "object" || holder === null || Array.isArray(holder)))
		return holder;
	const copy: Record<string, unknown> = Object.assign(Object.create(null), holder);
	copy[key] = withValue(copy[key], rest, value);
	return copy;
}
