// The gate `slo`: the P99 of a request at a rate, computed from the times of both sides.
import type { GateResult, GateStatus, LoadResult, WorkloadResult } from "../../../generated/result.ts";
import type { Config, WorkloadConfig } from "../config/config.ts";
import { formatGate } from "../config/gate-records.ts";
import { formatMs } from "../text/units.ts";
import { placeVerdict } from "./figures.ts";

export function judgeSlo(
	row: WorkloadResult,
	level: WorkloadConfig,
	{ config, loads }: { config: Config; loads: readonly LoadResult[] },
): GateResult[] {
	const { slo } = level.gates;
	const { model, engine, workload } = row;
	if (slo === undefined || row.head === null) return [];
	const open = level.gates.inconclusive === "fail" ? "fail" : "inconclusive";
	const load = loads.find(
		(one) =>
			one.slo !== undefined &&
			one.model === model &&
			one.engine === engine &&
			one.workloads.includes(workload),
	);
	// Several batches share one verdict.
	if (load !== undefined && load.workloads[0] !== workload) return [];
	const [status, message] =
		load?.slo === undefined
			? ([
					open,
					"P99 under load is computed for one stream without pauses; this workload has several streams, or `every`.",
				] as const)
			: ([statusOf(load.slo) ?? open, messageOf(load.slo, load)] as const);
	const subject = { model, engine, ...(load?.batches === undefined && { workload }) };
	return placeVerdict(["slo", status, message], subject, { config, ...level });
}

type Slo = NonNullable<LoadResult["slo"]>;

/** null: the interval holds the limit. */
function statusOf({ p99Ms, lowMs, highMs }: Slo): GateStatus | null {
	if (lowMs === null || lowMs > p99Ms) return "fail";
	return highMs !== null && highMs <= p99Ms ? "pass" : null;
}

function messageOf(
	{ p99Ms, ratePerSecond, headMs, lowMs, highMs, mostPerSecond }: Slo,
	load: LoadResult,
): string {
	const text = (ms: number | null) => (ms === null ? "no end" : formatMs(ms));
	const { base, head } = mostPerSecond;
	const found =
		headMs === null
			? "more requests than it answers"
			: `P99 ${formatMs(headMs)} (${text(lowMs)} to ${text(highMs)})`;
	const batched = load.batches === undefined ? "" : `, in batches of up to ${load.batches.at(-1)}`;
	const before = base === null ? "" : ` (base: ${formatGate.rate(base)})`;
	return `At ${formatGate.rate(ratePerSecond)}${batched}: ${found}; allowed at most ${formatMs(p99Ms)}, which holds up to ${formatGate.rate(head)}${before}.`;
}
