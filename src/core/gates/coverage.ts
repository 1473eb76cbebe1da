// Gates of what the base checks or reports and the head does not: workloads, engines, figures.
import type { Config } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import type { ArmStats, BuildRecord, GateResult, WorkloadResult } from "../schema/result.ts";
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

const built: readonly Metric<BuildRecord>[] = [{ name: "engine size", of: ({ engineBytes }) => engineBytes, format: formatBytes }];

export function judgeVanishedFigures(row: WorkloadResult, config: Config, pointer: string): GateResult[] {
	const { model, engine, workload, base, head } = row;
	return vanished(missingOf(timed, base, head), { place: { model, engine, workload }, config, pointer });
}

/** Only where both are built: the build gate reports a head that is not. */
export function judgeVanishedBuild(builds: { base?: BuildRecord; head: BuildRecord }, config: Config, pointer: string): GateResult[] {
	const { base, head } = builds;
	if (base?.state !== "built" || head.state !== "built") return [];
	return vanished(missingOf(built, base, head), { place: { model: head.model, engine: head.engine }, config, pointer });
}

function missingOf<Facts>(metrics: readonly Metric<Facts>[], base: Facts | null, head: Facts | null): string[] {
	if (base === null) return [];
	return metrics.flatMap(({ name, of, format }) => {
		const before = of(base);
		const isThere = head !== null && Number.isFinite(of(head));
		return typeof before !== "number" || !Number.isFinite(before) || isThere ? [] : [`${name} (${format(before)})`];
	});
}

interface Subject {
	place: Pick<GateResult, "model" | "engine" | "workload">;
	config: Config;
	pointer: string;
}

function vanished(missing: readonly string[], { place, config, pointer }: Subject): GateResult[] {
	if (missing.length === 0) return [];
	const message = `The base reports ${missing.join(", ")}; the head does not, so nothing was compared.`;
	return [{ gate: "vanished", ...place, status: "warn", message, ...placeOf(config, pointer) }];
}

export function judgeCoverage(before: readonly EngineSpec[], now: readonly EngineSpec[]): GateResult[] {
	const present = new Set(now.flatMap((spec) => [engineKey(spec), ...workloadKeys(spec)].map(({ key }) => key)));
	return before
		.flatMap((spec) => (spec.engine.workloads.length === 0 ? [engineKey(spec)] : workloadKeys(spec)))
		.filter(({ key }) => !present.has(key))
		.map(({ key: _, workload, ...place }) => ({
			gate: "coverage",
			...place,
			...(workload === undefined ? {} : { workload }),
			status: "warn",
			message: `The base checks this ${workload === undefined ? "engine" : "workload"}; the head no longer does.`,
		}));
}

interface Keyed {
	model: string;
	engine: string;
	workload?: string;
	key: string;
}

function engineKey({ model, engine }: EngineSpec): Keyed {
	return keyed({ model: model.name, engine: engine.name });
}

function workloadKeys({ model, engine }: EngineSpec): Keyed[] {
	return engine.workloads.map((workload) => keyed({ model: model.name, engine: engine.name, workload: workload.name }));
}

function keyed(place: Omit<Keyed, "key">): Keyed {
	return { ...place, key: JSON.stringify(place) };
}
