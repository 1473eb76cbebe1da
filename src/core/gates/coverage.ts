// Gates of what the base checks or reports and the head does not: workloads, engines, figures.

import type { ArmStats, BuildRecord, GateResult, WorkloadResult } from "../../../generated/result.ts";
import type { Config, Gates } from "../config/config.ts";
import type { Counterparts } from "../config/rules.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { counted, listNames } from "../text/labels.ts";
import { formatBytes, formatCount, formatMs } from "../text/units.ts";

interface Metric<Facts> {
	name: string;
	of(facts: Facts): number | null | undefined;
	format(value: number): string;
}

const perSecond = (value: number): string => `${formatCount(Number(value.toPrecision(4)))} / s`;

/** Every figure of a side: the type requires a name for each. */
const names: Readonly<Record<Exclude<keyof ArmStats, "runs" | "iterations">, string>> = {
	medianMs: "median latency",
	meanMs: "mean latency",
	minMs: "fastest iteration",
	p90Ms: "P90 latency",
	p95Ms: "P95 latency",
	p99Ms: "P99 latency",
	throughputPerSecond: "throughput",
	peakMemoryBytes: "peak memory",
};

const timed: readonly Metric<ArmStats>[] = (Object.keys(names) as (keyof typeof names)[]).map((key) => ({
	name: names[key],
	of: (stats) => stats[key],
	format: key.endsWith("Ms") ? formatMs : key === "peakMemoryBytes" ? formatBytes : perSecond,
}));

const built: readonly Metric<BuildRecord>[] = [
	{ name: "engine size", of: ({ engineBytes }) => engineBytes, format: formatBytes },
];

export function judgeVanishedFigures(
	row: WorkloadResult,
	config: Config,
	{ gates, pointer }: Level,
): GateResult[] {
	const { model, engine, workload, base, head } = row;
	return vanished(missingOf(timed, base, head), {
		place: { model, engine, workload },
		config,
		gates,
		pointer,
	});
}

/** Only where both are built: the build gate reports a head that is not. */
export function judgeVanishedBuild(
	builds: { base?: BuildRecord; head: BuildRecord },
	config: Config,
	{ gates, pointer }: Level,
): GateResult[] {
	const { base, head } = builds;
	if (base?.state !== "built" || head.state !== "built") return [];
	return vanished(missingOf(built, base, head), {
		place: { model: head.model, engine: head.engine },
		config,
		gates,
		pointer,
	});
}

function missingOf<Facts>(
	metrics: readonly Metric<Facts>[],
	base: Facts | null,
	head: Facts | null,
): string[] {
	if (base === null) return [];
	return metrics.flatMap(({ name, of, format }) => {
		const before = of(base);
		const isThere = head !== null && Number.isFinite(of(head));
		return typeof before !== "number" || !Number.isFinite(before) || isThere
			? []
			: [`${name} (${format(before)})`];
	});
}

type Level = { gates: Gates; pointer: string };

interface Subject extends Level {
	place: Pick<GateResult, "model" | "engine" | "workload">;
	config: Config;
}

function vanished(missing: readonly string[], { place, config, gates, pointer }: Subject): GateResult[] {
	if (missing.length === 0 || gates.vanished === "off") return [];
	const message = `The base reports ${missing.join(", ")}; the head does not, so nothing was compared.`;
	return [
		{
			gate: "vanished",
			...place,
			status: gates.vanished,
			message,
			...placeOf(config, gates.pointers["vanished"] ?? pointer),
		},
	];
}

export interface CoverageFacts {
	/** Of the base's own config. */
	base: readonly EngineSpec[];
	/** Of the head's own config. */
	head: readonly EngineSpec[];
	counterparts: Counterparts;
	/** Cases that the head's golden lacks, by the base's id of the engine. */
	droppedCases?: ReadonlyMap<string, readonly string[]>;
}

/** What the base checks and the head does not: engines, workloads, goldens, golden cases. The base's setting decides what that means. */
export function judgeCoverage({ base, head, counterparts, droppedCases }: CoverageFacts): GateResult[] {
	const heads = new Map(
		head.flatMap((spec) => (counterparts.has(spec.id) ? [[counterparts.get(spec.id), spec] as const] : [])),
	);
	return base.flatMap((spec) => {
		const { coverage } = spec.engine.gates;
		if (coverage === "off") return [];
		const place = { model: spec.model.name, engine: spec.engine.name };
		const lost = (what: string, more: { workload?: string } = {}): GateResult => ({
			gate: "coverage",
			...place,
			...more,
			status: coverage,
			message: `The base checks ${what}; the head no longer does.`,
		});
		const now = heads.get(spec.id);
		if (now === undefined) return [lost("this engine")];
		const kept = new Set(now.engine.workloads.map(({ name }) => name));
		const workloads = spec.engine.workloads.filter(({ name }) => !kept.has(name));
		const cases = droppedCases?.get(spec.id) ?? [];
		return [
			...workloads.map(({ name }) => lost("this workload", { workload: name })),
			...(spec.engine.golden !== undefined && now.engine.golden === undefined
				? [lost("its outputs against a golden")]
				: []),
			...(cases.length > 0
				? [lost(`${counted(cases.length, "golden case")} more (${listNames(cases)})`)]
				: []),
		];
	});
}
