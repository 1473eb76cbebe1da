// What open alarms mean: gates, and the answer in one sentence.
import type { GateResult } from "../../../generated/result.ts";
import { cleanName } from "../../core/text/escape.ts";
import { capitalize, counted } from "../../core/text/labels.ts";
import { formatPercent } from "../../core/text/units.ts";
import { type Alarm, type Cause, type Findings, isWatching, type ShiftOf } from "./alarms.ts";
import { ageText, decisionText, stateOf } from "./decisions.ts";
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
		const message = [describeAlarm(alarm, series), runText(first, series), stateText(alarm, series)];
		const status = statuses[alarm.cause];
		return [{ gate: "trend" as const, ...subjectOf(first.chain.series), status, message: message.join("") }];
	});
}

const plainUrl = /^https:\/\/[\w.~:/-]{1,300}$/;

function runText({ start }: ShiftOf, { runs }: Series) {
	const url = runs[start]?.url ?? "";
	return plainUrl.test(url) ? ` The run in which it began: \`${url}\`.` : "";
}

export function stateText(alarm: Alarm, series: Series): string {
	const state = stateOf(alarm, series);
	const decided = decisionText(state);
	return ` Open for ${ageText(state)}${decided === "" ? "" : `. ${capitalize(decided)}`}.`;
}

/** @param id model/engine/workload, which may contain slashes. */
function subjectOf(id: string) {
	const [model = "", engine = "", ...workload] = id.split("/");
	return { model, engine, workload: workload.join("/") };
}

const worse = {
	latency: "slower",
	memory: "larger in memory",
	size: "larger",
	error: "further from its golden",
} as const;

function sizeText({ shift }: ShiftOf) {
	const half = (Math.expm1(shift.high) - Math.expm1(shift.low)) / 2;
	const digits = half < 1e-3 ? 2 : 1;
	return `${formatPercent(Math.expm1(shift.size), { sign: true, digits })} ± ${formatPercent(half, { digits })}`;
}

export function shiftText(of: ShiftOf, { runs }: Series): string {
	const { metric, name } = of.chain;
	const what =
		metric === "error" && name !== undefined ? `${worse.error} (${cleanName(name, 60)})` : worse[metric];
	return `${sizeText(of)} ${what}${of.foundBy === "creep" ? ", creeping" : ""} since ${runs[of.start]?.at.slice(0, 10) ?? "an unknown night"}`;
}

export function describeAlarm(alarm: Alarm, series: Series): string {
	const [first, ...others] = alarm.shifts;
	if (first === undefined) return "";
	const also = others.length === 0 ? "" : ` The same night moved ${others.length} more series.`;
	return `${shiftText(first, series)}.${also} Cause: ${causeNames[alarm.cause]} (${alarm.evidence}). ${commitText(first, series)}`;
}

function commitText({ chain, shift, start, foundBy }: ShiftOf, { runs }: Series) {
	const before = chain.points.findLast(({ run }) => run < start)?.run;
	const after = foundBy === "creep" ? chain.points[shift.raised]?.run : start;
	const [good, bad] = [runs[before ?? -1]?.commit, runs[after ?? -1]?.commit];
	if (good === undefined || bad === undefined) return "The records name no commits to compare.";
	const { model, engine } = subjectOf(chain.series);
	const certain = { level: "It began about", creep: "It moved" }[foundBy as string] ?? "It began";
	return `${certain} between ${good.slice(0, 7)} and ${bad.slice(0, 7)}: \`trtgate run --base ${good.slice(0, 12)} --head ${bad.slice(0, 12)} --only ${cleanName(`${model}/${engine}`, 120)}\`.`;
}

export function enginesOf({ shifts }: Alarm): string[] {
	return [
		...new Set(
			shifts.map(({ chain }) => subjectOf(chain.series)).map(({ model, engine }) => `${model}/${engine}`),
		),
	];
}

export function answer(findings: Findings, series: Series): string {
	const open = findings.alarms.filter(({ isOpen }) => isOpen);
	const [newest] = open;
	const [first] = newest?.shifts ?? [];
	if (newest === undefined || first === undefined) {
		const last = series.runs.at(-1);
		if (last === undefined) return "The history has no record yet";
		const claim = isWatching(findings)
			? "No engine is worse than its reference"
			: "Too few runs to tell whether an engine is worse than its reference";
		return `${claim}, as of ${last.at.slice(0, 10)}`;
	}
	// Slower engines are not counted together with less accurate ones.
	const sameFigure = open.map((alarm) => ({
		...alarm,
		shifts: alarm.shifts.filter(({ chain }) => chain.metric === first.chain.metric),
	}));
	const engines = new Set(sameFigure.flatMap(enginesOf));
	const reference = series.runs[first.start]?.reference;
	const than = reference === undefined ? "its reference" : cleanName(reference, 60);
	const verb = worse[first.chain.metric];
	const also = open.length > 1 ? `; ${counted(open.length - 1, "more open alarm")}` : "";
	const now =
		Math.abs(first.now - first.shift.size) > first.shift.size / 2
			? `, now ${formatPercent(Math.expm1(first.now), { sign: true })}`
			: "";
	const since = series.runs[first.start]?.at.slice(0, 10) ?? "an unknown night";
	const name = cleanName(enginesOf(newest)[0] ?? "", 80);
	return `${counted(engines.size, "engine")} ${verb} than ${than}, since ${since}, ${sizeText(first)}${now}: ${name}, cause: ${causeNames[newest.cause]}${also}`;
}
