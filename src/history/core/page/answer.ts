// Answers in one sentence what is worse now, since when and why.

import { cleanName } from "../../../core/text/escape.ts";
import { counted } from "../../../core/text/labels.ts";
import { formatPercent } from "../../../core/text/units.ts";
import type { Alarm, Findings } from "../alarms.ts";
import { causeNames, sizeText, subjectOf } from "../judge-trend.ts";
import type { Series } from "../series.ts";

/** `det/fp16` for each engine of an alarm. */
export function enginesOf({ shifts }: Alarm): string[] {
	return [
		...new Set(
			shifts.map(({ chain }) => subjectOf(chain.series)).map(({ model, engine }) => `${model}/${engine}`),
		),
	];
}

const worseWords = {
	latency: "slower",
	memory: "larger in memory",
	size: "larger",
	error: "further from the golden",
} as const;

/** `1 engine slower than release 3.2, since 2026-10-14, +1.3 % ± 0.1 %: det/fp16, cause: the change`. */
export function answer({ alarms }: Findings, series: Series): string {
	const open = alarms.filter(({ isOpen }) => isOpen);
	const [newest] = open;
	const [first] = newest?.shifts ?? [];
	if (newest === undefined || first === undefined) {
		const last = series.runs.at(-1);
		return last === undefined
			? "The history has no record yet"
			: `No engine is worse than its reference, as of ${last.at.slice(0, 10)}`;
	}
	// Slower engines are not counted together with less accurate ones.
	const sameFigure = open.map((alarm) => ({
		...alarm,
		shifts: alarm.shifts.filter(({ chain }) => chain.metric === first.chain.metric),
	}));
	const engines = new Set(sameFigure.flatMap(enginesOf));
	const reference = series.runs[first.start]?.reference;
	const than = reference === undefined ? "its reference" : cleanName(reference, 60);
	const verb = worseWords[first.chain.metric];
	const also = open.length > 1 ? `; ${counted(open.length - 1, "more open alarm")}` : "";
	const now =
		Math.abs(first.now - first.shift.size) > first.shift.size / 2
			? `, now ${formatPercent(Math.expm1(first.now), { sign: true })}`
			: "";
	const since = series.runs[first.start]?.at.slice(0, 10) ?? "an unknown night";
	const name = cleanName(enginesOf(newest)[0] ?? "", 80);
	return `${counted(engines.size, "engine")} ${verb} than ${than}, since ${since}, ${sizeText(first)}${now}: ${name}, cause: ${causeNames[newest.cause]}${also}`;
}
