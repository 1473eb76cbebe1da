// The gate of the history: one verdict per open alarm, with size, start, cause, commits, and the command that compares them.
import type { GateResult } from "../../../generated/result.ts";
import { cleanName } from "../../core/text/escape.ts";
import { formatPercent } from "../../core/text/units.ts";
import type { Alarm, Cause, Findings, ShiftOf } from "./alarms.ts";
import type { Series } from "./series.ts";

/** Only a change of the engine can be undone by a commit. */
const statuses: Readonly<Record<Cause, GateResult["status"]>> = {
	change: "fail",
	method: "warn",
	host: "warn",
	noise: "warn",
};

export const causeNames: Readonly<Record<Cause, string>> = {
	change: "the change",
	method: "the method",
	host: "the machine",
	noise: "noise",
};

export function judgeTrend({ alarms }: Pick<Findings, "alarms">, series: Series): GateResult[] {
	return alarms.flatMap((alarm) => {
		const [first] = alarm.shifts;
		if (!alarm.isOpen || first === undefined) return [];
		const message = describeAlarm(alarm, series) + runText(first, series);
		const status = statuses[alarm.cause];
		return [{ gate: "trend" as const, ...subjectOf(first.chain.series), status, message }];
	});
}

const plainUrl = /^https:\/\/[\w.~:/-]{1,300}$/;

function runText({ start }: ShiftOf, { runs }: Series): string {
	const url = runs[start]?.url ?? "";
	return plainUrl.test(url) ? ` The run in which it began: \`${url}\`.` : "";
}

/** @param id model/engine/workload; the last may contain slashes. */
export function subjectOf(id: string): { model: string; engine: string; workload: string } {
	const [model = "", engine = "", ...workload] = id.split("/");
	return { model, engine, workload: workload.join("/") };
}

const worse: Readonly<Record<string, string>> = {
	latency: "slower",
	memory: "more memory",
	size: "larger",
	error: "further from its golden",
};

/** `+1.3 % ± 0.1 %`. */
export function sizeText({ shift }: Pick<ShiftOf, "shift">): string {
	const half = (Math.expm1(shift.high) - Math.expm1(shift.low)) / 2;
	const digits = half < 1e-3 ? 2 : 1;
	return `${formatPercent(Math.expm1(shift.size), { sign: true, digits })} ± ${formatPercent(half, { digits })}`;
}

/** `+1.3 % ± 0.1 % slower since 2026-10-14`. */
export function shiftText(of: ShiftOf, { runs }: Series): string {
	const { metric, name } = of.chain;
	const what =
		metric === "error" && name !== undefined
			? `further from its golden (${cleanName(name, 60)})`
			: (worse[metric] ?? metric);
	return `${sizeText(of)} ${what}${of.foundBy === "creep" ? ", creeping" : ""} since ${runs[of.start]?.at.slice(0, 10) ?? "an unknown night"}`;
}

export function describeAlarm(alarm: Alarm, series: Series): string {
	const [first, ...others] = alarm.shifts;
	if (first === undefined) return "";
	const also = others.length === 0 ? "" : ` The same night moved ${others.length} more series.`;
	return `${shiftText(first, series)}.${also} Cause: ${causeNames[alarm.cause]} (${alarm.evidence}). ${commitText(first, series)}`;
}

/** The commits around the start (of creep: up to the night that decided), with the command that compares them. */
function commitText({ chain, shift, start, foundBy }: ShiftOf, { runs }: Series): string {
	const before = chain.points.findLast(({ run }) => run < start)?.run;
	const after = foundBy === "creep" ? chain.points[shift.raised]?.run : start;
	const [good, bad] = [runs[before ?? -1]?.commit, runs[after ?? -1]?.commit];
	if (good === undefined || bad === undefined) return "The records name no commits to compare.";
	const { model, engine } = subjectOf(chain.series);
	const certain = { level: "It began about", creep: "It moved" }[foundBy as string] ?? "It began";
	return `${certain} between ${good.slice(0, 7)} and ${bad.slice(0, 7)}: \`trtgate run --base ${good.slice(0, 12)} --head ${bad.slice(0, 12)} --only ${cleanName(`${model}/${engine}`, 120)}\`.`;
}
