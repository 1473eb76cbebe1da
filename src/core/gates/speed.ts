// Gates of one timed workload, and absolute limits.

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
import { absoluteGates, formatGate } from "../config/gate-records.ts";
import { placeOf } from "../config/source.ts";
import { formatBytes, formatPercent } from "../text/units.ts";

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
	const { model, engine } = row;
	// A missing base engine is the base's own fault, which the change may repair.
	const lacksBase = builds.some(
		(build) =>
			build.arm === "base" && build.model === model && build.engine === engine && build.state !== "built",
	);
	const context = { gates, isExplained: lacksBase || errors.some((error) => concerns(error, row)) };
	const candidates: [GateName, GateStatus | null, string][] = [
		["latency", comparedStatus(row.latency, gates.latency, context), renderVerdict(row.latency)],
		["work", workStatus(row, context), row.work === undefined ? "" : renderWork(row.work, row.doubt)],
		["p99", tailStatus(row.p99, gates.p99), `P99: ${renderVerdict(row.p99)}`],
		["memory", tailStatus(row.memory, gates.memory), memoryMessage(row)],
		throughputGate(row, gates),
		...judgeBounds(gates, row.head, "workload"),
	];
	const place = { model, engine, workload: row.workload };
	return candidates.flatMap(([gate, status, message]) => {
		if (status === null) return [];
		return [
			{ gate, ...place, status, message, ...placeOf(config, gates.pointers[gate] ?? workload.pointer) },
		];
	});
}

/** Inconclusive if a figure is unknown. */
export function judgeBounds(
	gates: Gates,
	head: Partial<Record<(typeof absoluteGates)[number]["figure"], number | null>> | null,
	level: "workload" | "engine",
): [GateName, GateStatus, string][] {
	return absoluteGates.flatMap((gate): [GateName, GateStatus, string][] => {
		const limit = gates[gate.key];
		if (gate.level !== level || limit === undefined || head === null) return [];
		const format = formatGate[gate.kind];
		const value = head[gate.figure] ?? null;
		const allowed = `; allowed at ${gate.isLeast ? "least" : "most"} ${format(limit)}.`;
		if (value === null) {
			const status = gates.inconclusive === "fail" ? "fail" : "inconclusive";
			return [[gate.name, status, `${gate.label} unknown${allowed}`]];
		}
		const keeps = gate.isLeast ? value >= limit : value <= limit;
		return [[gate.name, keeps ? "pass" : "fail", `${gate.label} ${format(value)}${allowed}`]];
	});
}

/** Compares medians over the runs, without an interval. */
function throughputGate({ base, head }: WorkloadResult, gates: Gates): [GateName, GateStatus | null, string] {
	const before = base?.throughputPerSecond ?? 0;
	const now = head?.throughputPerSecond ?? null;
	const { warn, fail } = gates.throughput;
	if (before === 0 || now === null || (warn === undefined && fail === undefined))
		return ["throughput", null, ""];
	const change = now / before - 1;
	const message = `Throughput ${formatGate.rate(before)} → ${formatGate.rate(now)} (${formatPercent(change, { sign: true })}).`;
	return ["throughput", judgeChange(-change, gates.throughput), message];
}

function concerns({ model, engine, workload }: ErrorRecord, row: WorkloadResult): boolean {
	return (
		model === row.model &&
		(engine ?? row.engine) === row.engine &&
		(workload ?? row.workload) === row.workload
	);
}

interface Context {
	gates: Gates;
	isExplained: boolean;
}

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

/** P99 and memory decide only if they are certain. */
function tailStatus(comparison: Comparison, limits: Threshold): GateStatus | null {
	if (comparison.verdict === "regressed") return judgeChange(comparison.estimate ?? Number.NaN, limits);
	return comparison.verdict === "unchanged" || comparison.verdict === "improved" ? "pass" : null;
}

function workStatus({ work, doubt }: WorkloadResult, context: Context): GateStatus | null {
	const status = work === undefined ? null : comparedStatus(work, context.gates.work, context);
	return status === "fail" && doubt !== undefined ? "warn" : status;
}

function memoryMessage({ base, head, memory }: WorkloadResult): string {
	const change = memory.estimate === null ? "" : ` (${formatPercent(memory.estimate, { sign: true })})`;
	return `Peak memory ${formatBytes(base?.peakMemoryBytes ?? 0)} → ${formatBytes(head?.peakMemoryBytes ?? 0)}${change}.`;
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
