// The gate `payoff`: an engine has to be faster than the sibling that it names.
import type { Comparison, ErrorRecord, GateResult, SiblingResult } from "../../../generated/result.ts";
import { renderChange, renderVerdict } from "../compare/sentence.ts";
import type { Config, Gates, Threshold } from "../config/config.ts";
import { counted } from "../text/labels.ts";
import { formatLimit, formatPercent } from "../text/units.ts";
import { type Level, openStatus, placeVerdict } from "./figures.ts";

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
