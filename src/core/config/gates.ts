// Merges limits, leaf by leaf: default < release or nightly run < file < model < engine < workload < input.
import type { GatesFile } from "../../../generated/config.ts";
import { childPointer, valueAt } from "../found.ts";
import { formatTimes } from "../text/units.ts";
import type { Gates, Occasion, Threshold } from "./config.ts";
import { type GateRecord, gateEntries } from "./gate-records.ts";
import type { Resolution } from "./source.ts";
import { parseDuration, parseRate, parseShare, parseSize } from "./values.ts";

interface Leaf {
	value: unknown;
	pointer?: string;
}

export type Layer = ReadonlyMap<string, Leaf>;

export function occasionLayer(occasion: Occasion | undefined): Layer {
	const stricter = gateEntries.map(
		([, { name, occasions }]) => [name, { value: occasion && occasions?.[occasion] }] as const,
	);
	return new Map(stricter.filter(([, { value }]) => value !== undefined));
}

export function* readLayer(file: GatesFile | undefined, pointer: string): Resolution<Layer> {
	const layer = new Map<string, Leaf>();
	for (const [, { name, kind, byDefault }] of gateEntries) {
		const path = `/${name.replace(".", "/")}`;
		const [value, at] = [valueAt(file, path), pointer + path];
		if (value === undefined) continue;
		layer.set(name, { value: yield* readLimit(kind, value, at), pointer: at });
		if (typeof value === "object") {
			for (const [part, limit] of Object.entries(value ?? {})) {
				const own = childPointer(at, part);
				layer.set(`${name}.${part}`, { value: yield* readLimit(kind, limit, own), pointer: own });
			}
		} else if (kind === "precisions")
			for (const part of Object.keys(byDefault ?? {})) layer.set(`${name}.${part}`, { value, pointer: at });
	}
	return layer;
}

function* readLimit(kind: GateRecord["kind"], value: unknown, pointer: string): Resolution<unknown> {
	if (typeof value === "string" && kind === "slo" && pointer.endsWith("/rate"))
		return yield* parseRate(pointer, value);
	if (typeof value === "string" && (kind === "duration" || kind === "slo"))
		return yield* parseDuration(pointer, { text: value });
	if (typeof value === "string" && kind === "size") return yield* parseSize(pointer, value);
	const isShare = kind === "shares" && (typeof value === "string" || typeof value === "number");
	return isShare ? yield* parseShare(pointer, value) : value;
}

export function inputLayer(layer: Layer, inputs: ReadonlyMap<string, string>): Layer {
	return new Map([...layer].filter(([, { pointer }]) => pointer !== undefined && inputs.has(pointer)));
}

export function* resolveGates(layers: readonly Layer[]): Resolution<Gates> {
	const leaves = new Map(layers.flatMap((layer) => [...layer]));
	const pointers: Record<string, string> = {};
	for (const [name, { pointer }] of leaves) if (pointer !== undefined) pointers[name] = pointer;
	const gates: Record<string, unknown> = { pointers };
	for (const [key, gate] of gateEntries) {
		const { name } = gate;
		const limit = pointers[`${name}.fail`] ?? pointers[`${name}.warn`];
		if (limit !== undefined) pointers[name] = limit;
		gates[key] = yield* resolveGate(gate, leaves);
	}
	return gates as unknown as Gates;
}

function* resolveGate(gate: GateRecord, leaves: Layer): Resolution<unknown> {
	const { name, kind, byDefault } = gate;
	if (kind === "slo") {
		const [p99Ms, ratePerSecond] = ["p99", "rate"].map((part) => leaves.get(`${name}.${part}`)?.value);
		return p99Ms === undefined ? undefined : { p99Ms, ratePerSecond };
	}
	if (typeof byDefault !== "object") return leaves.get(name)?.value ?? byDefault;
	if (kind !== "precisions") return yield* resolveThreshold(gate, leaves);
	const limits = Object.entries(byDefault).map(([precision, limit]) => [
		precision,
		leaves.get(`${name}.${precision}`)?.value ?? limit,
	]);
	return Object.fromEntries(limits);
}

function* resolveThreshold(gate: GateRecord, leaves: Layer): Resolution<Threshold> {
	const { name, byDefault, isLeast } = gate;
	const [warnLeaf, failLeaf] = [leaves.get(`${name}.warn`), leaves.get(`${name}.fail`)];
	const initial = byDefault as Threshold;
	const [warn, fail] = [warnLeaf?.value ?? initial.warn, failLeaf?.value ?? initial.fail];
	const threshold: Threshold = {};
	if (typeof warn === "number") threshold.warn = warn;
	if (typeof fail === "number") threshold.fail = fail;
	const both = threshold as Required<Threshold>;
	const isOrdered = isLeast ? !(both.warn < both.fail) : !(both.warn > both.fail);
	if (isOrdered) return threshold;
	// A fail limit stricter than the default warning replaces it.
	if (warnLeaf === undefined) return { warn: both.fail, fail: both.fail };
	yield { pointer: warnLeaf.pointer ?? "/gates", ...disorder(gate, both, failLeaf === undefined) };
	return threshold;
}

function disorder({ kind, isLeast }: GateRecord, { warn, fail }: Required<Threshold>, isDefault: boolean) {
	const format = (limit: number) =>
		kind === "factors" ? formatTimes(limit) : `${Number((limit * 100).toPrecision(6))}%`;
	const [beyond, most, turn] = isLeast
		? ["below", "least", "Raise warn or lower fail."]
		: ["above", "most", "Lower warn or raise fail."];
	return {
		says: `is ${format(warn)}, ${beyond} the limit that fails, ${format(fail)}${isDefault ? " by default" : ""}`,
		expected: `at ${most} ${format(fail)}`,
		fix: isDefault ? "Set fail beside it, to a number or to off." : turn,
	};
}
