// What people decided of alarms: their state, and the records that keep it.
import type { HistoryRecord } from "../../../generated/history.ts";
import { compilePattern } from "../../core/config/select.ts";
import { groupBy } from "../../core/group.ts";
import { cleanName, cleanText, shorten } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import type { Alarm, Findings, ShiftOf } from "./alarms.ts";
import { type Decision, figureOf, type Series } from "./series.ts";

interface AlarmState {
	/** open: nobody watches one of its series. */
	state: "open" | "watched" | "accepted" | "recovered";
	days: number;
	by?: string;
	at?: string;
	reason?: string;
}

export function stateOf({ shifts, raised, isOpen }: Alarm, { runs }: Series): AlarmState {
	const own = shifts.filter(({ shift }) => (shift.closed === undefined) === isOpen);
	const isAccepted = own.some(({ shift }) => shift.closed?.by === "accepted");
	const decided = own.flatMap((one) => decisionOn(one, isAccepted ? "accepted" : "watched") ?? []);
	const kept = isOpen || isAccepted ? decided.toSorted((left, right) => right.run - left.run)[0] : undefined;
	const ended = isAccepted
		? decided
		: own.flatMap(({ chain, shift }) => chain.points[shift.closed?.at ?? -1] ?? []);
	const end = isOpen ? runs.length - 1 : Math.max(...ended.map(({ run }) => run));
	const isWatched = kept !== undefined && decided.length === own.length;
	return {
		state: isAccepted ? "accepted" : !isOpen ? "recovered" : isWatched ? "watched" : "open",
		days: Math.floor((runs[end]?.day ?? 0) - (runs[raised]?.day ?? 0)),
		...(kept && { by: runs[kept.run]?.by, at: runs[kept.run]?.at, reason: kept.reason }),
	};
}

function decisionOn({ chain, shift: { raised, closed } }: ShiftOf, wanted: Decision["kind"]) {
	return chain.decisions.findLast(
		({ kind, place }) => kind === wanted && place >= raised && place <= (closed?.at ?? Infinity),
	);
}

export function decisionText({ state, by, at = "", reason = "" }: AlarmState): string {
	if (reason === "") return "";
	const what = { open: "partly watched", watched: "watched", accepted: "accepted", recovered: "" }[state];
	const who = by === undefined ? "" : ` by ${cleanName(by, 60)}`;
	const when = `${state === "accepted" ? "on" : "since"} ${at.slice(0, 10)}`;
	return `${what}${who} ${when}: ${cleanText(shorten(reason, 200))}`;
}

export function ageText({ days }: AlarmState): string {
	return days < 1 ? "less than a day" : counted(days, "day");
}

interface Deciding {
	kind: "accept" | "watch";
	patterns: readonly string[];
	figure?: string;
	reason: string;
	by?: string;
	at: string;
	hash(text: string): string;
}

export function openShifts({ alarms }: Pick<Findings, "alarms">): ShiftOf[] {
	return alarms.flatMap(({ shifts }) => shifts).filter(({ shift }) => shift.closed === undefined);
}

export function decide(
	findings: Pick<Findings, "alarms">,
	{ kind, patterns, figure, reason, by, at, hash }: Deciding,
): { record: HistoryRecord; shifts: readonly ShiftOf[] } | null {
	const matches = patterns.map(compilePattern);
	const shifts = openShifts(findings).filter(({ chain }) => {
		const [model = "", engine = ""] = chain.series.split("/");
		return matches.some((match) => match(model, engine)) && (figure ?? chain.metric) === chain.metric;
	});
	if (shifts.length === 0) return null;
	const label = kind === "accept" ? "accepted" : "watched";
	const rows = [...groupBy(shifts, ({ chain }) => chain.series)].map(([series, own]) => ({
		...{ series, kind, base: {}, head: {} },
		[label]: Object.fromEntries(own.map(({ chain }) => [figureOf(chain), reason])),
	}));
	const source = hash(JSON.stringify([at, rows])).slice(0, 12);
	return {
		shifts,
		record: { schemaVersion: 1, at, source, run: kind, label, by, machine: {}, method: {}, rows },
	};
}
