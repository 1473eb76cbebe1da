// The gate `slo`: the P99 of a request at a rate, computed from the times of both sides.
import type {
	GateResult,
	LoadResult,
	MeasuredLoad,
	MeasuredSide,
	WorkloadResult,
} from "../../../generated/result.ts";
import type { Config, WorkloadConfig } from "../config/config.ts";
import { formatGate, type ServiceLevel } from "../config/gate-records.ts";
import { boundsText } from "../load/measured.ts";
import { formatCount, formatMs } from "../text/units.ts";
import { openStatus, placeVerdict } from "./figures.ts";

export function judgeSlo(
	row: WorkloadResult,
	level: WorkloadConfig,
	{
		config,
		loads,
		measured,
	}: { config: Config; loads: readonly LoadResult[]; measured: readonly MeasuredLoad[] },
): GateResult[] {
	const { slo } = level.gates;
	const { model, engine, workload } = row;
	if (slo === undefined || row.head === null) return [];
	const open = openStatus(level.gates);
	const isOf = (one: Pick<LoadResult, "model" | "engine" | "workloads">) =>
		one.model === model && one.engine === engine && one.workloads.includes(workload);
	const load = loads.find((one) => one.slo !== undefined && isOf(one));
	// Several batches share one verdict.
	if (load !== undefined && load.workloads[0] !== workload) return [];
	const point = measured
		.find((one) => isOf(one) && one.workloads.length === load?.workloads.length)
		?.points.find(({ ratePerSecond }) => ratePerSecond === slo.ratePerSecond);
	const [status, message] =
		load?.slo === undefined
			? ([
					open,
					"P99 under load is computed for one stream without pauses; this workload has several streams, or `every`.",
				] as const)
			: point?.head
				? ([measuredStatus(slo, point.head) ?? open, measuredMessage(slo, point.head)] as const)
				: ([statusOf(load.slo) ?? open, messageOf(load.slo, load)] as const);
	const subject = { model, engine, ...(load?.batches === undefined && { workload }) };
	return placeVerdict(["slo", status, message], subject, { config, ...level });
}

type Slo = NonNullable<LoadResult["slo"]>;

/** null: the interval holds the limit. */
function statusOf({ p99Ms, lowMs, highMs }: Slo) {
	if (lowMs === null || lowMs > p99Ms) return "fail";
	return highMs !== null && highMs <= p99Ms ? "pass" : null;
}

/** null: the bounds hold the limit, or the requests are too few for them. */
function measuredStatus({ p99Ms }: ServiceLevel, { p99: { lowMs, highMs } }: MeasuredSide) {
	if (lowMs !== null && lowMs > p99Ms) return "fail";
	return highMs !== null && highMs <= p99Ms ? "pass" : null;
}

function measuredMessage({ p99Ms, ratePerSecond }: ServiceLevel, head: MeasuredSide) {
	const bounds = boundsText(head.p99);
	return `Measured at ${formatGate.rate(ratePerSecond)}: P99 ${formatMs(head.p99Ms)} (${bounds}) of ${formatCount(head.requests)} requests; allowed at most ${formatMs(p99Ms)}.`;
}

function messageOf({ p99Ms, ratePerSecond, headMs, lowMs, highMs, mostPerSecond }: Slo, load: LoadResult) {
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
