// What one engine does for some nodes, as reports show it.

import type { EnginePart, EngineSummary } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { shorten } from "../text/escape.ts";
import { type PartFacts, timeOf } from "./facts.ts";
import { rooflineOf } from "./gpus.ts";
import { takesTime } from "./layer.ts";
import { type EngineModel, type ModelLayer, mappedShare, undelayed } from "./model.ts";

export function partOf(
	facts: readonly PartFacts[],
	layers: readonly ModelLayer[],
	gpu: string | null,
): EnginePart {
	const total = (of: (part: PartFacts) => number | null): number | null =>
		facts.reduce<number | null>(
			(added, part) => (added === null || of(part) === null ? null : added + (of(part) ?? 0)),
			0,
		);
	const [bytes, operations] = [total((part) => part.bytes), total((part) => part.operations)];
	const meanMs = facts.every(({ isTimed }) => !isTimed) ? null : total(timeOf);
	const precision = facts.find(({ precisions }) => precisions.length > 0)?.precisions[0];
	const roofline =
		meanMs === null
			? null
			: rooflineOf({ bytes, operations, precision: precision ?? null, timeMs: meanMs }, gpu);
	const working = layers.filter(takesTime);
	return {
		kernels: total(({ kernels }) => kernels.length) ?? 0,
		reformats: total(({ reformats }) => reformats.length) ?? 0,
		meanMs,
		precision,
		bytes,
		operations,
		...(roofline === null ? {} : { roofline }),
		layers: working.slice(0, 12).map(({ name }) => shorten(name, 300)),
	};
}

export function summaryOf(engine: EngineModel): EngineSummary {
	const kernels = engine.layers.filter(({ kind }) => kind === "compute" || kind === "quantize");
	const byPrecision = groupBy(kernels, ({ precision }) => precision ?? "unknown");
	return {
		layers: engine.layers.length,
		kernels: kernels.length,
		reformats: engine.layers.filter(({ kind }) => kind === "reformat").length,
		meanMs:
			engine.profiles === 0
				? null
				: engine.layers.reduce((total, { timesMs }) => total + undelayed(timesMs), 0),
		mapped: mappedShare(engine),
		precisions: Object.fromEntries([...byPrecision].map(([precision, own]) => [precision, own.length])),
	};
}
