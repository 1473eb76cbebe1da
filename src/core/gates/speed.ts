// Gates of one timed workload: latency, tail, memory, and the absolute limit.

import type {
	BuildRecord,
	Comparison,
	ErrorRecord,
	GateName,
	GateResult,
	GateStatus,
	WorkloadResult,
} from "../../../generated/result.ts";
import { renderVerdict, renderWork } from "../compare/sentence.ts";
import type { Config, Gates, Threshold, WorkloadConfig } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import { soakText } from "../soak/analyse.ts";
import { formatBytes, formatMs, formatPercent } from "../text/units.ts";

export function judgeWorkload(
	row: WorkloadResult,
	workload: WorkloadConfig,
	{
		config,
		errors = [],
		builds = [],
	}: { config: Config; errors?: readonly ErrorRecord[]; builds?: readonly BuildRecord[] },
): GateResult[] {
	const { gates } = workload;
	// A base without an engine is the base's own fault, and may be what the change repairs.
	const base = builds.find(
		({ arm, model, engine }) => arm === "base" && model === row.model && engine === row.engine,
	);
	const lacksBase = base !== undefined && base.state !== "built";
	const context = { gates, isExplained: lacksBase || errors.some((error) => concerns(error, row)) };
	const candidates: [GateName, GateStatus | null, string][] = [
		["latency", comparedStatus(row.latency, gates.latency, context), renderVerdict(row.latency)],
		["work", workStatus(row, context), row.work === undefined ? "" : renderWork(row.work, row.doubt)],
		["p99", tailStatus(row.p99, gates.p99), `P99: ${renderVerdict(row.p99)}`],
		["memory", tailStatus(row.memory, gates.memory), memoryMessage(row)],
		["soak-drift", soakStatus(row, gates), row.soak === undefined ? "" : soakText(row.soak)],
		["max-latency", absoluteStatus(row, gates), absoluteMessage(row, gates)],
	];
	const place = { model: row.model, engine: row.engine, workload: row.workload };
	return candidates.flatMap(([gate, status, message]) => {
		if (status === null) return [];
		return [
			{ gate, ...place, status, message, ...placeOf(config, gates.pointers[gate] ?? workload.pointer) },
		];
	});
}

/** Whether an error took one of the two figures away. */
function concerns({ model, engine, workload }: ErrorRecord, row: WorkloadResult): boolean {
	return (
		model === row.model &&
		(engine ?? row.engine) === row.engine &&
		(workload ?? row.workload) === row.workload
	);
}

interface Context {
	gates: Gates;
	/** An error of the run, or a base without an engine, says why there is no figure: that decides, and tells a fault of the machine from others. */
	isExplained: boolean;
}

/** null: no gate, because there is nothing to compare with. */
function comparedStatus(
	comparison: Comparison,
	limits: Threshold,
	{ gates, isExplained }: Context,
): GateStatus | null {
	switch (comparison.verdict) {
		case "regressed":
			return judgeChange(comparison.estimate ?? Number.NaN, limits);
		case "improved":
		case "unchanged":
			return "pass";
		case "inconclusive":
			return gates.inconclusive === "fail" ? "fail" : "inconclusive";
		case "not-comparable":
			return gates.notComparable === "fail" && !isExplained ? "fail" : "inconclusive";
		case "missing":
			return null;
	}
}

/** P99 and memory decide only where they are certain; an inconclusive one is shown without a gate. */
function tailStatus(comparison: Comparison, limits: Threshold): GateStatus | null {
	if (comparison.verdict === "regressed") return judgeChange(comparison.estimate ?? Number.NaN, limits);
	return comparison.verdict === "unchanged" || comparison.verdict === "improved" ? "pass" : null;
}

function workStatus({ work, doubt }: WorkloadResult, context: Context): GateStatus | null {
	const status = work === undefined ? null : comparedStatus(work, context.gates.work, context);
	return status === "fail" && doubt !== undefined ? "warn" : status;
}

function absoluteStatus(row: WorkloadResult, gates: Gates): GateStatus | null {
	if (gates.maxLatencyMs === undefined || row.head === null) return null;
	return row.head.medianMs <= gates.maxLatencyMs ? "pass" : "fail";
}

function soakStatus({ soak }: WorkloadResult, { soakDrift }: Gates): GateStatus | null {
	return soak === undefined ? null : judgeChange(soak.drift, soakDrift);
}

function memoryMessage({ base, head, memory }: WorkloadResult): string {
	const change = memory.estimate === null ? "" : ` (${formatPercent(memory.estimate, { sign: true })})`;
	return `Peak memory ${formatBytes(base?.peakMemoryBytes ?? 0)} → ${formatBytes(head?.peakMemoryBytes ?? 0)}${change}.`;
}

function absoluteMessage(row: WorkloadResult, gates: Gates): string {
	return `Median ${formatMs(row.head?.medianMs ?? 0)}; allowed at most ${formatMs(gates.maxLatencyMs ?? 0)}.`;
}

/** @param change fraction of the base; NaN never passes. */
export function judgeChange(
	change: number,
	limits: Threshold,
): Extract<GateStatus, "pass" | "warn" | "fail"> {
	if (limits.fail !== undefined && !(change < limits.fail)) return "fail";
	if (limits.warn !== undefined && !(change < limits.warn)) return "warn";
	return Number.isNaN(change) ? "fail" : "pass";
}
