// Suggests what a user most likely meant: the value at hand in the form that its key takes, and a place for keys of trtexec.
import { isObject } from "../found.ts";
import { cleanText } from "../text/escape.ts";
import { defaultGates } from "./defaults.ts";
import { parsePointer } from "./pointer.ts";
import { flagFault, flagName, ownedFlags } from "./tensorrt-settings.ts";

interface Found {
	key: string;
	value: unknown;
}

const sizesText = /^\d{1,9}(?:[x×,]\d{1,9})+$/;
const isPrecision = (value: unknown): value is string =>
	typeof value === "string" && Object.hasOwn(defaultGates.relativeL2, value);

const reshapesByTitle: Readonly<Record<string, (found: Found) => unknown>> = {
	ThresholdFile: ({ value }) => {
		if (typeof value === "number") return value > 0 ? { fail: value >= 1 ? `${value}%` : value } : undefined;
		return typeof value === "string" && /^(?:[\d.]+ ?%|off)$/.test(value) ? { fail: value } : undefined;
	},
	EngineFile: ({ key, value }) => {
		const precision = value === null ? key : value;
		return isPrecision(precision) ? { precision } : undefined;
	},
	ModelFile: ({ value }) => (typeof value === "string" ? { onnx: value } : undefined),
	InputFile: ({ value }) => {
		const shape = Array.isArray(value) ? value : toSizes(value);
		return shape === undefined ? undefined : { shape };
	},
	DimFile: ({ value }) => {
		if (!Array.isArray(value)) return toNumber(value);
		const [min, opt, max] = value.every((size) => typeof size === "number")
			? value.toSorted((a, b) => a - b)
			: [];
		return value.length === 3 && min !== undefined ? { min, opt, max } : undefined;
	},
	WorkloadFile: ({ value }) => {
		const [, name, size] = (typeof value === "string" ? /^([\w-]+)[=:] ?(\d{1,9})$/.exec(value) : null) ?? [];
		if (name !== undefined) return { [name]: Number(size) };
		return typeof value === "number" ? { batch: value } : undefined;
	},
	CommandFile: ({ value }) =>
		typeof value === "string" ? { command: value.trim().split(/\s+/) } : undefined,
	DlaFile: ({ value }) => (typeof value === "number" ? { core: value } : undefined),
	TensorrtVersion: ({ value }) =>
		typeof value === "string" ? /^[vV](\d+(?:\.\d+){0,3})$/.exec(value)?.[1] : undefined,
};

const reshapesByKey: Readonly<Record<string, (found: Found) => unknown>> = {
	models: ({ value }) => byName(value),
	engines: ({ value }) => {
		const names = typeof value === "string" ? value.split(/[\s,]+/) : value;
		return Array.isArray(names) && names.length > 0 && names.every(isPrecision)
			? enginesOf(names)
			: byName(value);
	},
	shape: ({ value }) => toSizes(value),
	workloads: ({ value }) => (isObject(value) ? [value] : undefined),
	profiles: ({ value }) => (isObject(value) ? [value] : undefined),
	plugins: ({ value }) => (typeof value === "string" || isObject(value) ? [value] : undefined),
	pairs: ({ value }) => (typeof value === "number" ? [value] : undefined),
	runners: ({ value }) =>
		isObject(value)
			? Object.entries(value).map(([name, of]) => ({ name, ...(isObject(of) ? of : { labels: of }) }))
			: undefined,
	command: ({ value }) => (typeof value === "string" ? value.trim().split(/\s+/) : undefined),
};

function byName(value: unknown): unknown {
	if (!Array.isArray(value) || value.length === 0) return undefined;
	const isNamed = (entry: unknown): entry is { name: string } =>
		isObject(entry) && typeof entry["name"] === "string";
	return value.every(isNamed)
		? Object.fromEntries(value.map(({ name, ...rest }) => [name, rest]))
		: undefined;
}

function toSizes(value: unknown): number[] | undefined {
	return typeof value === "string" && sizesText.test(value) ? value.split(/[x×,]/).map(Number) : undefined;
}

function toNumber(value: unknown): number | undefined {
	return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

export function adviseValue(pointer: string, value: unknown, schema: Wanted): string | undefined {
	const [key, holder = ""] = parsePointer(pointer).reverse();
	if (key === undefined) return undefined;
	const elsewhere = adviseElsewhere({ key, value, holder }, schema);
	if (elsewhere !== undefined) return elsewhere;
	const byKey = Object.hasOwn(reshapesByKey, key) ? reshapesByKey[key] : undefined;
	const given =
		(reshapesByTitle[schema.title ?? ""] ?? byKey)?.({ key, value }) ?? ofType(value, schema.type);
	const text = given === undefined ? "" : flow(given);
	if (text === "" || text.length > maxChars) return undefined;
	return `Write ${isIndex(key) ? text : `${key}: ${text}`}.`;
}

const isIndex = (key: string): boolean => /^\d+$/.test(key);

function adviseElsewhere(
	{ key, value, holder }: Found & { holder: string },
	schema: Wanted,
): string | undefined {
	const isNamed = holder === "models" || holder === "engines";
	if (isNamed && Object.hasOwn(schema.properties ?? {}, key))
		return `Indent ${key} below the ${holder.slice(0, -1)} that it belongs to.`;
	if (key === "flags" && typeof value === "string") return adviseFlags(value);
	if (schema.title === "Duration" && typeof value === "number")
		return `Write the unit: ${value}ms, ${value}s or ${value}m.`;
	const shape = schema.title === "DimFile" ? toSizes(value) : undefined;
	if (shape !== undefined) return `Write whole shapes under inputs: ${flow({ [key]: { shape } })}.`;
	return Array.isArray(value) && value.length <= maxListed
		? adviseList({ key, holder }, value, schema)
		: undefined;
}

function adviseList(
	{ key, holder }: { key: string; holder: string },
	list: readonly unknown[],
	schema: Wanted,
): string | undefined {
	if (schema.title === "Precision" && list.every(isPrecision))
		return `Write one engine for each: engines: ${flow(enginesOf(list))}.`;
	const isSize = isIndex(holder) && schema.type === "integer";
	return isSize
		? `Write one workload for each size: ${flow(list.map((size) => ({ [key]: size })))}.`
		: undefined;
}

const maxListed = 8;

function enginesOf(precisions: readonly string[]): Record<string, { precision: string }> {
	return Object.fromEntries(precisions.map((precision) => [precision, { precision }]));
}

const maxChars = 200;

interface Wanted {
	title?: string;
	type?: string;
	properties?: Readonly<Record<string, unknown>>;
}

function ofType(value: unknown, type: string | undefined): unknown {
	if (type === "integer" || type === "number") return toNumber(value);
	if (type !== "boolean" || typeof value === "object") return undefined;
	const text = String(value).toLowerCase();
	return ["yes", "on", "true", "1"].includes(text)
		? true
		: ["no", "off", "false", "0"].includes(text)
			? false
			: undefined;
}

function adviseFlags(text: string): string | undefined {
	const words = text.trim().split(/\s+/);
	if (text.length > maxChars) return undefined;
	const kept = words.filter((_, index) => flagFault(words, index) === null);
	const others = words.flatMap((word) => {
		const fix = ownedFlags.get(flagName(word));
		return fix === undefined ? [] : [`For ${flagName(word)}: ${fix}`];
	});
	return [kept.length === 0 ? "Remove flags." : `Write flags: ${flow(kept)}.`, ...others].join(" ");
}

const ownedKeys = new Map([...ownedFlags].map(([flag, fix]) => [flag.replace(/^-+/, "").toLowerCase(), fix]));
const shapesFix =
	"Give the sizes under dims: { batch: { min: 1, opt: 8, max: 32 } }. Axes without a name in the ONNX file get one under inputs; several ranges go under profiles.";

export function adviseUnknownKey(
	{ key, value }: Found,
	title: string | undefined,
): { fix: string; meant?: string } | undefined {
	if (title !== "ModelFile" && title !== "EngineFile") return undefined;
	if (/^(?:(?:min|opt|max)[_-]?)?shapes?$/i.test(key)) return { fix: shapesFix };
	if (/^(?:engine|plan|trt)$/i.test(key) && typeof value === "string")
		return { fix: prebuiltFix, meant: "onnx" };
	const precisions =
		isPrecision(key) && value === true
			? [key]
			: /^precisions?$/i.test(key)
				? [value].flat().filter(isPrecision)
				: [];
	if (precisions.length > 0) return { fix: `Write engines: ${flow(enginesOf(precisions))}.` };
	const owned = ownedKeys.get(key.toLowerCase());
	if (owned !== undefined) return { fix: owned };
	return typeof value === "number"
		? { fix: `If it is a dimension of the model, write dims: ${flow({ [key]: value })}.` }
		: undefined;
}

export const prebuiltFix =
	"Name the ONNX file, from which trtgate builds the engines: onnx: models/net.onnx. A prebuilt engine cannot be gated; `trtgate diff A.engine B.engine` compares two.";

function flow(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
	if (isObject(value)) {
		const entries = Object.entries(value).map(([key, item]) => `${flow(key)}: ${flow(item)}`);
		return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
	}
	if (typeof value !== "string") return String(value);
	return /^[\w./%][\w./%+-]*$/.test(value) ? value : JSON.stringify(cleanText(value));
}
