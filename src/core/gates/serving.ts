// Gates of what counts in service: the worst size of a sweep, payoff against a sibling, time to the first inference, memory that grows, latency under load.
import type {
	Comparison,
	ErrorRecord,
	GateResult,
	LoadResult,
	MeasuredLoad,
	MeasuredSide,
	MemoryGrowthResult,
	SiblingResult,
	StartUpResult,
	SweepResult,
	WorkloadResult,
} from "../../../generated/result.ts";
import { renderChange, renderVerdict } from "../compare/sentence.ts";
import type { Config, Gates, Threshold, WorkloadConfig } from "../config/config.ts";
import { formatGate, type ServiceLevel } from "../config/gate-records.ts";
import { groupBy } from "../group.ts";
import { boundsText } from "../load/measured.ts";
import { cleanName } from "../text/escape.ts";
import { counted, precedence } from "../text/labels.ts";
import { formatCount, formatLimit, formatMs, formatPercent } from "../text/units.ts";
import {
	type Around,
	comparedStatus,
	judgeWorkload,
	type Level,
	openStatus,
	placeVerdict,
} from "./figures.ts";

export function judgePayoff(
	{ model, engine, workload, against, latency }: SiblingResult,
	level: Level,
	{ config, errors }: { config: Config; errors: readonly ErrorRecord[] },
): GateResult[] {
	const isExplained = errors.some((error) => error.model === model && error.workload === workload);
	const status = statusOf(latency, level.gates, isExplained);
	const message = `Against ${against}: ${messageOf(latency, level.gates.payoff)}`;
	return placeVerdict(["payoff", status, message], { model, engine, workload }, { config, ...level });
}

/** How much faster a change of the time makes an engine: −0.5 is twice as fast, so 1. */
function gainOf(change: number) {
	return 1 / (1 + change) - 1;
}

function messageOf(latency: Comparison, { warn, fail }: Threshold) {
	const { verdict, estimate, interval, pairs, level, reason } = latency;
	if (verdict === "inconclusive" || estimate === null || interval === null) return renderVerdict(latency);
	const gain = gainOf(estimate);
	const change =
		pairs === 0 ? reason : `${renderChange(estimate, interval, level)}, ${counted(pairs, "pair")}.`;
	const wanted = warn ?? fail;
	const demand = wanted === undefined ? "" : `; ${formatLimit(wanted)} faster is wanted`;
	const [low, high] = interval;
	const outcome =
		low > 0 ? "slower" : high >= 0 || gain <= 0 ? "not faster" : `${formatPercent(gain)} faster`;
	return `${change} So it is ${outcome}${demand}.`;
}

function statusOf(latency: Comparison, gates: Gates, isExplained: boolean) {
	const { warn, fail } = gates.payoff;
	if (warn === undefined && fail === undefined) return null;
	const { verdict, estimate, interval } = latency;
	const open = openStatus(gates);
	if (verdict === "not-comparable") return gates.notComparable === "fail" && !isExplained ? "fail" : open;
	if (verdict === "inconclusive" || estimate === null) return open;
	return gainStatus([gainOf(estimate), gainOf(interval?.[0] ?? estimate)], gates.payoff) ?? open;
}

/** Only what is certain fails, because the verdict is on the limit that warns; null if that is open. */
function gainStatus([gain, most]: [number, number], { warn = -1, fail = -1 }: Threshold) {
	if (most < fail) return "fail";
	if (gain < warn) return "warn";
	return gain < fail ? null : "pass";
}

export function judgeStartUp(
	{ model, engine, comparison }: StartUpResult,
	config: Config,
	level: Level,
): GateResult[] {
	const { gates } = level;
	const { warn, fail } = gates.startUp;
	const isOff = warn === undefined && fail === undefined;
	const judged = comparedStatus(comparison, gates.startUp, { gates, isExplained: true });
	const message = `Time to the first inference: ${renderVerdict(comparison)}`;
	return placeVerdict(["start-up", isOff ? null : judged, message], { model, engine }, { config, ...level });
}

export function judgeMemoryGrowth(
	{ model, engine, state, message }: MemoryGrowthResult,
	config: Config,
	level: Level,
): GateResult[] {
	const unknown = openStatus(level.gates);
	const status = ({ steady: "pass", grows: "fail", unknown } as const)[state];
	return placeVerdict(["memory-growth", status, message], { model, engine }, { config, ...level });
}

export function judgeSlo(
	{ model, engine, workload, head }: Pick<WorkloadResult, "model" | "engine" | "workload" | "head">,
	level: WorkloadConfig,
	{
		config,
		loads,
		measured,
	}: { config: Config; loads: readonly LoadResult[]; measured: readonly MeasuredLoad[] },
): GateResult[] {
	const { slo } = level.gates;
	if (slo === undefined || head === null) return [];
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
					"P99 under load is computed for one size and one stream without pauses; this workload has `sweep`, `streams` or `every`. Write `slo` in the gates of other workloads.",
				] as const)
			: point?.head
				? ([measuredStatus(slo, point.head) ?? open, measuredMessage(slo, point.head)] as const)
				: ([computedStatus(load.slo) ?? open, computedMessage(load.slo, load)] as const);
	const subject = { model, engine, ...(load?.batches === undefined && { workload }) };
	return placeVerdict(["slo", status, message], subject, { config, ...level });
}

type Slo = NonNullable<LoadResult["slo"]>;

/** null: the interval holds the limit. */
function computedStatus({ p99Ms, lowMs, highMs }: Slo) {
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
	const more =
		head.p99.highMs === null
			? " A longer `measure.load.duration`, for a slow engine with a longer `measure.timeout`, gives an upper bound."
			: "";
	return `Measured at ${formatGate.rate(ratePerSecond)}: P99 ${formatMs(head.p99Ms)} (${bounds}) of ${formatCount(head.requests)} requests; allowed at most ${formatMs(p99Ms)}.${more}`;
}

function computedMessage(
	{ p99Ms, ratePerSecond, headMs, lowMs, highMs, mostPerSecond }: Slo,
	load: LoadResult,
) {
	const text = (ms: number | null) => (ms === null ? "no end" : formatMs(ms));
	const { base, head } = mostPerSecond;
	const found =
		headMs === null
			? "more requests than it answers"
			: `P99 ${formatMs(headMs)} (${text(lowMs)} to ${text(highMs)})`;
	const batched = load.maxBatch === undefined ? "" : `, in batches of up to ${load.maxBatch}`;
	const before = base === null ? "" : ` (base: ${formatGate.rate(base)})`;
	return `At ${formatGate.rate(ratePerSecond)}${batched}: ${found}; allowed at most ${formatMs(p99Ms)}, which holds up to ${formatGate.rate(head)}${before}.`;
}

export function judgeSweep({ dim, points }: SweepResult, level: Level, around: Around): GateResult[] {
	const judged = points.flatMap(({ size, row }) =>
		judgeWorkload(row, level, around).map((result) => ({
			result,
			size,
			change: row.latency.estimate ?? -Infinity,
		})),
	);
	return [...groupBy(judged, ({ result }) => result.gate).values()].flatMap((group) => {
		const [worst] = group.toSorted(
			(a, b) =>
				precedence.indexOf(a.result.status) - precedence.indexOf(b.result.status) || b.change - a.change,
		);
		if (worst === undefined) return [];
		const of = group.length > 1 ? `Worst of ${counted(group.length, "size")}, ` : "";
		const message = `${of}${cleanName(dim)} ${worst.size}: ${worst.result.message}`;
		return [{ ...worst.result, message }];
	});
}
