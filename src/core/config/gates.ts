// Merges the limits of all levels, leaf by leaf: default < release or nightly run < file < model < engine < workload < input.
import type { GatesFile, GrowthFile, Precision, ThresholdFile } from "../schema/config.ts";
import { formatTimes } from "../text/units.ts";
import type { Gates, Occasion, Threshold } from "./config.ts";
import { defaultGates } from "./defaults.ts";
import { childPointer } from "./pointer.ts";
import type { Resolution } from "./problem.ts";
import { parseDuration, parseShare } from "./values.ts";

interface Leaf {
	value: number | string;
	/** Absent: not from the file. */
	pointer?: string;
}

/** The limits of one level, by leaf: `latency.warn`, `golden.fp16`, `inconclusive`, … */
export type Layer = ReadonlyMap<string, Leaf>;

/** Below the file's own: a release must be known to be good, and a nightly run reports faults of any cause. */
export const occasionLayers: Readonly<Record<Occasion, Layer>> = {
	release: new Map([
		["inconclusive", { value: "fail" }],
		["golden.existing", { value: "fail" }],
	]),
	nightly: new Map([["golden.existing", { value: "fail" }]]),
};

const thresholds = [
	["latency", "latency"],
	["p99", "p99"],
	["memory", "memory"],
	["engine-size", "engineSize"],
	["build-time", "buildTime"],
	["soak-drift", "soakDrift"],
	["work", "work"],
] as const;
const limits = ["warn", "fail"] as const;
const settings = [
	["inconclusive", "inconclusive"],
	["not-comparable", "notComparable"],
	["probes", "probes"],
	["interface", "interface"],
	["golden-change", "goldenChange"],
	["limit-change", "limitChange"],
	["coverage", "coverage"],
	["vanished", "vanished"],
] as const;
const precisions = Object.keys(defaultGates.relativeL2) as Precision[];

/** Reads one level's `gates`; `pointer` is the pointer of that mapping. */
export function* readLayer(file: GatesFile | undefined, pointer: string): Resolution<Layer> {
	const layer = new Map<string, Leaf>();
	if (file === undefined) return layer;
	for (const [name] of thresholds) yield* readThreshold(file[name], { layer, name, pointer: childPointer(pointer, name) });
	readGolden(file.golden ?? {}, `${pointer}/golden`, layer);
	for (const [name] of settings) {
		const value = file[name];
		if (value !== undefined) layer.set(name, { value, pointer: childPointer(pointer, name) });
	}
	const text = file["max-latency"];
	const at = childPointer(pointer, "max-latency");
	if (text !== undefined) layer.set("max-latency", { value: yield* parseDuration(at, { text }), pointer: at });
	return layer;
}

function* readThreshold(
	file: ThresholdFile | undefined,
	into: { layer: Map<string, Leaf>; name: string; pointer: string },
): Resolution<void> {
	for (const limit of limits) {
		const value = file?.[limit];
		if (value === undefined) continue;
		const pointer = childPointer(into.pointer, limit);
		into.layer.set(`${into.name}.${limit}`, { value: yield* parseShare(pointer, value), pointer });
	}
}

function readGolden(file: NonNullable<GatesFile["golden"]>, pointer: string, layer: Map<string, Leaf>): void {
	readRelativeL2(file["relative-l2"], `${pointer}/relative-l2`, layer);
	readGrowth(file["error-growth"] ?? {}, `${pointer}/error-growth`, layer);
	if (file.existing !== undefined) layer.set("golden.existing", { value: file.existing, pointer: `${pointer}/existing` });
}

function readGrowth(file: GrowthFile, pointer: string, layer: Map<string, Leaf>): void {
	for (const limit of limits) {
		const value = file[limit];
		if (value !== undefined) layer.set(`golden.error-growth.${limit}`, { value, pointer: `${pointer}/${limit}` });
	}
}

function readRelativeL2(file: number | { [precision: string]: number } | undefined, pointer: string, layer: Map<string, Leaf>): void {
	if (file === undefined) return;
	for (const precision of precisions) {
		const value = typeof file === "number" ? file : file[precision];
		if (value !== undefined)
			layer.set(`golden.${precision}`, { value, pointer: typeof file === "number" ? pointer : childPointer(pointer, precision) });
	}
	layer.set("golden", { value: "", pointer });
}

/** The leaves that inputs set, which win over every level. */
export function inputLayer(layer: Layer, inputs: ReadonlyMap<string, string>): Layer {
	return new Map([...layer].filter(([, { pointer }]) => pointer !== undefined && inputs.has(pointer)));
}

/** @param layers from the widest to the narrowest. */
export function* resolveGates(layers: readonly Layer[]): Resolution<Gates> {
	const leaves = new Map(layers.flatMap((layer) => [...layer]));
	const gates: Gates = { ...defaultGates, relativeL2: resolveGolden(leaves), pointers: pointersOf(leaves) };
	const format = (share: number): string => `${Number((share * 100).toPrecision(6))}%`;
	for (const [name, key] of thresholds) gates[key] = yield* resolveThreshold(name, { leaves, byDefault: defaultGates[key], format });
	gates.errorGrowth = yield* resolveThreshold("golden.error-growth", { leaves, byDefault: defaultGates.errorGrowth, format: formatTimes });
	// The schema has checked what each of them may be.
	for (const [name, key] of [...settings, ["golden.existing", "existing"] as const]) {
		const value = leaves.get(name)?.value;
		if (value !== undefined) Object.assign(gates, { [key]: value });
	}
	const maxLatency = leaves.get("max-latency")?.value;
	if (typeof maxLatency === "number") gates.maxLatencyMs = maxLatency;
	return gates;
}

function resolveGolden(leaves: Layer): Gates["relativeL2"] {
	const resolved = { ...defaultGates.relativeL2 };
	for (const precision of precisions) {
		const value = leaves.get(`golden.${precision}`)?.value;
		if (typeof value === "number") resolved[precision] = value;
	}
	return resolved;
}

interface GivenThreshold {
	leaves: Layer;
	byDefault: Threshold;
	format(limit: number): string;
}

function* resolveThreshold(name: string, given: GivenThreshold): Resolution<Threshold> {
	const { format } = given;
	const [warnLeaf, failLeaf] = limits.map((limit) => given.leaves.get(`${name}.${limit}`));
	const warn = warnLeaf?.value ?? given.byDefault.warn;
	const fail = failLeaf?.value ?? given.byDefault.fail;
	const threshold: Threshold = {};
	if (typeof warn === "number") threshold.warn = warn;
	if (typeof fail === "number") threshold.fail = fail;
	if (threshold.warn === undefined || threshold.fail === undefined || threshold.warn <= threshold.fail) return threshold;
	// A fail limit below the default warning replaces that default.
	if (warnLeaf === undefined) return { warn: threshold.fail, fail: threshold.fail };
	yield {
		pointer: warnLeaf.pointer ?? "/gates",
		says: `is ${format(threshold.warn)}, above the limit that fails, ${format(threshold.fail)}${failLeaf === undefined ? " by default" : ""}`,
		expected: `at most ${format(threshold.fail)}`,
		fix: failLeaf === undefined ? "Set fail beside it, to a number or to off." : "Lower warn or raise fail.",
	};
	return threshold;
}

function pointersOf(leaves: Layer): Record<string, string> {
	const pointers: Record<string, string> = {};
	for (const [name, { pointer }] of leaves) if (pointer !== undefined) pointers[name] = pointer;
	for (const name of [...thresholds.map(([threshold]) => threshold), "golden.error-growth"]) {
		const pointer = pointers[`${name}.fail`] ?? pointers[`${name}.warn`];
		if (pointer !== undefined) pointers[name] = pointer;
	}
	return pointers;
}
