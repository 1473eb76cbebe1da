// Gates on coverage: checks and figures that the base has and the head lacks.

import type { Arm, ArmStats, BuildRecord, GateResult, WorkloadResult } from "../../../generated/result.ts";
import type { Config, Gates } from "../config/config.ts";
import { formatGate } from "../config/gate-records.ts";
import type { Counterparts } from "../config/rules.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { counted, listNames } from "../text/labels.ts";

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

type Figures = Partial<Record<keyof typeof names | "engineBytes", number | null>>;
type Level = { gates: Gates; pointer: string };

export function judgeVanishedFigures(row: WorkloadResult, config: Config, level: Level): GateResult[] {
	const { model, engine, workload, base, head } = row;
	return vanished(names, { base, head }, { model, engine, workload }, { ...level, config });
}

export function judgeVanishedBuild(
	{ base, head }: { base?: BuildRecord; head: BuildRecord },
	config: Config,
	level: Level,
): GateResult[] {
	if (base?.state !== "built" || head.state !== "built") return [];
	const place = { model: head.model, engine: head.engine };
	return vanished({ engineBytes: "engine size" }, { base, head }, place, { ...level, config });
}

function vanished(
	labels: Partial<Record<keyof Figures, string>>,
	{ base, head }: Record<Arm, Figures | null>,
	place: Pick<GateResult, "model" | "engine" | "workload">,
	{ config, gates, pointer }: Level & { config: Config },
): GateResult[] {
	const missing = (Object.keys(labels) as (keyof Figures)[]).flatMap((key) => {
		const before = base?.[key];
		const isThere = Number.isFinite(head?.[key]);
		if (typeof before !== "number" || !Number.isFinite(before) || isThere) return [];
		const kind = key.endsWith("Ms") ? "duration" : key.endsWith("Bytes") ? "size" : "rate";
		return [`${labels[key]} (${formatGate[kind](before)})`];
	});
	if (missing.length === 0 || gates.vanished === "off") return [];
	const message = `The base reports ${missing.join(", ")}; the head does not, so nothing was compared.`;
	const at = placeOf(config, gates.pointers["vanished"] ?? pointer);
	return [{ gate: "vanished", ...place, status: gates.vanished, message, ...at }];
}

export interface CoverageFacts {
	base: readonly EngineSpec[];
	head: readonly EngineSpec[];
	counterparts: Counterparts;
	droppedCases?: ReadonlyMap<string, readonly string[]>;
}

/** Lost engines, workloads, goldens and cases; the base's setting decides what they mean. */
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
		const lostWorkloads = workloads.map(({ name }) => lost("this workload", { workload: name }));
		const isGoldenLost = spec.engine.golden !== undefined && now.engine.golden === undefined;
		return [
			...lostWorkloads,
			...(isGoldenLost ? [lost("its outputs against a golden")] : []),
			...(cases.length > 0
				? [lost(`${counted(cases.length, "golden case")} more (${listNames(cases)})`)]
				: []),
		];
	});
}
