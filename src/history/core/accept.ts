// Accepts the finding of an alarm: adds a record that measures nothing and closes the named alarms.
import type { HistoryRecord } from "../../../generated/history.ts";
import { compilePattern } from "../../core/config/select.ts";
import { groupBy } from "../../core/group.ts";
import type { Findings, ShiftOf } from "./alarms.ts";
import { subjectOf } from "./judge-trend.ts";
import { figureOf } from "./series.ts";

interface Decision {
	patterns: readonly string[];
	/** latency, memory, size or error; absent means all. */
	figure?: string | undefined;
	reason: string;
	at: string;
	hash(text: string): string;
}

export function openShifts({ alarms }: Pick<Findings, "alarms">): ShiftOf[] {
	return alarms.flatMap(({ shifts }) => shifts).filter(({ shift }) => shift.closed === undefined);
}

/** null if no alarm is open for these engines. */
export function acceptance(
	findings: Pick<Findings, "alarms">,
	{ patterns, figure, reason, at, hash }: Decision,
): { record: HistoryRecord; shifts: readonly ShiftOf[] } | null {
	const matches = patterns.map(compilePattern);
	const shifts = openShifts(findings).filter(({ chain }) => {
		const { model, engine } = subjectOf(chain.series);
		return matches.some((match) => match(model, engine)) && (figure ?? chain.metric) === chain.metric;
	});
	if (shifts.length === 0) return null;
	const rows = [...groupBy(shifts, ({ chain }) => chain.series)].map(([series, own]) => ({
		series,
		kind: "accept" as const,
		base: {},
		head: {},
		accepted: Object.fromEntries(own.map(({ chain }) => [figureOf(chain), reason])),
	}));
	const source = hash(JSON.stringify([at, rows])).slice(0, 12);
	return {
		shifts,
		record: { schemaVersion: 1, at, source, run: "accept", label: "accepted", machine: {}, method: {}, rows },
	};
}
