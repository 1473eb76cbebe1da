// Gates of one timed workload: latency, tail, memory, and the absolute limit.
import { renderVerdict } from "../compare/sentence.ts";
import type { Config, Gates, Threshold, WorkloadConfig } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import type { BackendFacts, Comparison, ErrorRecord, GateName, GateResult, GateStatus, WorkloadResult } from "../schema/result.ts";
import { soakText } from "../soak/analyse.ts";
import { formatBytes, formatMs, formatPercent } from "../text/units.ts";

export function judgeWorkload(
	row: WorkloadResult,
	workload: WorkloadConfig,
	context: { config: Config; backend: BackendFacts; errors?: readonly ErrorRecord[] },
): GateResult[] {
	const { gates } = workload;
	const onCpu = context.backend.caveat !== undefined;
	const isExplained = context.errors?.some((error) => concerns(error, row)) ?? false;
	const candidates: [GateName, GateStatus | null, string][] = [
		[
			"latency",
			capped(latencyStatus(row.latency, gates, isExplained), gates, onCpu && row.latency.verdict !== "not-comparable"),
			renderVerdict(row.latency),
		],
		["p99", capped(tailStatus(row.p99, gates.p99), gates, onCpu), `P99: ${renderVerdict(row.p99)}`],
		["memory", capped(tailStatus(row.memory, gates.memory), gates, onCpu), memoryMessage(row)],
		["soak-drift", capped(soakStatus(row, gates), gates, onCpu), row.soak === undefined ? "" : soakText(row.soak)],
		["max-latency", capped(absoluteStatus(row, gates), gates, onCpu), absoluteMessage(row, gates)],
	];
	const place = { model: row.model, engine: row.engine, workload: row.workload };
	return candidates.flatMap(([gate, status, message]) => {
		if (status === null) return [];
		return [{ gate, ...place, status, message, ...placeOf(context.config, gates.pointers[gate] ?? workload.pointer) }];
	});
}

/** Whether an error took one of the two figures away. */
function concerns({ model, engine, workload }: ErrorRecord, row: WorkloadResult): boolean {
	return model === row.model && (engine ?? row.engine) === row.engine && (workload ?? row.workload) === row.workload;
}

/**
 * @param isExplained an error of the run says why there is no figure: it decides, and tells a fault of the machine from others.
 * @returns null: no gate, because there is nothing to compare with.
 */
function latencyStatus(latency: Comparison, gates: Gates, isExplained: boolean): GateStatus | null {
	switch (latency.verdict) {
		case "regressed":
			return judgeChange(latency.estimate ?? Number.NaN, gates.latency);
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

/** CPU speed predicts little about TensorRT's: it only warns unless the config sets otherwise. */
function capped(status: GateStatus | null, gates: Gates, onCpu: boolean): GateStatus | null {
	return onCpu && status === "fail" && gates.cpuSpeed === "warn" ? "warn" : status;
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
export function judgeChange(change: number, limits: Threshold): Extract<GateStatus, "pass" | "warn" | "fail"> {
	if (limits.fail !== undefined && !(change < limits.fail)) return "fail";
	if (limits.warn !== undefined && !(change < limits.warn)) return "warn";
	return Number.isNaN(change) ? "fail" : "pass";
}
