// Facts about one engine's part of a component.
import limits from "../../../data/gpu-limits.json" with { type: "json" };
import type { EnginePart, EngineSummary } from "../../../generated/result.ts";
import { groupBy } from "../../core/group.ts";
import { shorten } from "../../core/text/escape.ts";
import { kernelName, layerFacts, layoutsOf } from "./fingerprint.ts";
import { bytesMoved, operationsOf, takesTime } from "./layer.ts";
import { type EngineModel, type ModelLayer, mappedShare, undelayed } from "./model.ts";

export interface PartFacts {
	kernels: readonly ModelLayer[];
	reformats: readonly ModelLayer[];
	precisions: readonly string[];
	bytes: number | null;
	operations: number | null;
	weights: number;
	shapes: string;
	structure: string;
	tactics: string;
	layouts: string;
	isTimed: boolean;
	time: PartTime;
}

export interface PartTime {
	ms: number;
	eachMs: readonly number[];
	withoutMs: readonly number[];
	launches: number;
}

function sumOfKnown(values: readonly (number | null)[]) {
	return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}

const joined = (layers: readonly ModelLayer[], factOf: (layer: ModelLayer) => string) =>
	layers.map(factOf).sort().join("\n");

export function factsOf(layers: readonly ModelLayer[], profiles: number, overheadMs: number): PartFacts {
	const working = layers.filter(takesTime);
	const kernels = working.filter(({ kind }) => kind !== "reformat");
	const bySize = kernels
		.filter(({ kind }) => kind !== "quantize")
		.sort(
			(a, b) =>
				(operationsOf(b) ?? 0) - (operationsOf(a) ?? 0) || (bytesMoved(b) ?? 0) - (bytesMoved(a) ?? 0),
		);
	const shapesOf = ({ outputs }: ModelLayer) =>
		outputs
			.map(({ dims }) => dims.join("×"))
			.sort()
			.join(", ");
	return {
		kernels,
		reformats: working.filter(({ kind }) => kind === "reformat"),
		precisions: [...new Set(bySize.flatMap(({ precision }) => precision ?? []))],
		bytes: sumOfKnown(working.map(bytesMoved)),
		operations: sumOfKnown(kernels.map(operationsOf)),
		weights: kernels.reduce((sum, { weights }) => sum + (weights?.elements ?? 0), 0),
		shapes: joined(kernels, shapesOf),
		structure: joined(working, (layer) => (layer.type === null ? layer.kind : layerFacts(layer))),
		tactics: joined(kernels, kernelName),
		layouts: joined(kernels, layoutsOf),
		isTimed: profiles > 0,
		time: timeOf(layers, profiles, overheadMs),
	};
}

function timeOf(layers: readonly ModelLayer[], profiles: number, overheadMs: number) {
	const timed = layers.flatMap(({ timesMs }) => (undelayed(timesMs) > 0 ? [timesMs] : []));
	const sum = (of: (timesMs: readonly number[]) => number) =>
		timed.reduce((total, timesMs) => total + Math.max(0, of(timesMs) - overheadMs), 0);
	const all = Array.from({ length: profiles }, (_, at) => at);
	return {
		ms: sum(undelayed),
		eachMs: all.map((at) => sum((timesMs) => timesMs[at] ?? 0)),
		withoutMs: all.map((left) => sum((timesMs) => undelayed(timesMs.filter((_, at) => at !== left)))),
		launches: timed.length,
	};
}

/** An open size (-1) equals any size. */
export function isSameStructure({ structure: base }: PartFacts, { structure: head }: PartFacts): boolean {
	if (base === head || !/-1/.test(base + head)) return base === head;
	const [from, to] = [base.split(/([x:,|\n])/), head.split(/([x:,|\n])/)];
	return (
		from.length === to.length && from.every((size, at) => size === to[at] || size === "-1" || to[at] === "-1")
	);
}

export function partOf(
	facts: readonly PartFacts[],
	layers: readonly ModelLayer[],
	gpu: string | null,
): EnginePart {
	const bytes = sumOfKnown(facts.map((part) => part.bytes));
	const operations = sumOfKnown(facts.map((part) => part.operations));
	const isTimed = facts.some((part) => part.isTimed);
	const meanMs = isTimed ? facts.reduce((sum, { time }) => sum + time.ms, 0) : null;
	const precision = facts.find(({ precisions }) => precisions.length > 0)?.precisions[0];
	const roofline = rooflineOf({ bytes, operations, precision: precision ?? null, timeMs: meanMs ?? 0 }, gpu);
	return {
		kernels: facts.reduce((sum, { kernels }) => sum + kernels.length, 0),
		reformats: facts.reduce((sum, { reformats }) => sum + reformats.length, 0),
		meanMs,
		precision,
		bytes,
		operations,
		...(roofline === null ? {} : { roofline }),
		layers: layers
			.filter(takesTime)
			.slice(0, 12)
			.map(({ name }) => shorten(name, 300)),
	};
}

export function summaryOf(engine: EngineModel): EngineSummary {
	const { layers, profiles } = engine;
	const kernels = layers.filter(({ kind }) => kind === "compute" || kind === "quantize");
	const byPrecision = groupBy(kernels, ({ precision }) => precision ?? "unknown");
	return {
		layers: layers.length,
		kernels: kernels.length,
		reformats: layers.filter(({ kind }) => kind === "reformat").length,
		meanMs: profiles === 0 ? null : layers.reduce((total, { timesMs }) => total + undelayed(timesMs), 0),
		mapped: mappedShare(engine),
		precisions: Object.fromEntries([...byPrecision].map(([precision, own]) => [precision, own.length])),
	};
}

/** `memory` in TB/s, `compute` in tera-operations a second by precision; the first that fits the GPU's name. */
const gpus = limits.map(({ name, memory, compute }) => ({
	name: new RegExp(name),
	memory,
	compute: new Map<string, number>(Object.entries(compute)),
}));

interface Roofline {
	bound: "memory" | "compute" | "latency";
	share: number;
	limit: string;
}

interface RanWork {
	bytes: number | null;
	operations: number | null;
	precision: string | null;
	timeMs: number;
}

const far = 0.25;

export function rooflineOf(
	{ bytes, operations, precision, timeMs }: RanWork,
	gpuName: string | null,
): Roofline | null {
	const gpu = gpus.find(({ name }) => gpuName !== null && name.test(gpuName));
	if (gpu === undefined || bytes === null || !(timeMs > 0)) return null;
	const moved = bytes / (timeMs * 1e9) / gpu.memory;
	const peak = gpu.compute.get(precision ?? "");
	const computed = peak === undefined || operations === null ? 0 : operations / (timeMs * 1e9) / peak;
	const share = Math.min(1, Math.max(moved, computed));
	const isCompute = computed > moved;
	const limit = isCompute
		? `${peak} ${precision?.startsWith("int") ? "TOP/s" : "TFLOP/s"}`
		: `${gpu.memory} TB/s`;
	return { bound: share < far ? "latency" : isCompute ? "compute" : "memory", share, limit };
}
