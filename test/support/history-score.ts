import { findAlarms } from "../../src/history/core/alarms.ts";
import { type Event, type Nights, seriesOf } from "./history-nights.ts";

export interface Score {
	/** Nights from the start of an event to its alarm, by kind; null: never. */
	delays: Record<"creep" | "step" | "golden", (number | null)[]>;
	falseAlarms: number;
	seriesYears: number;
	explained: number;
	right: number;
	/** Alarms that nothing explains and that blame a change. */
	blamed: number;
	levelError: number;
}

export const causeOf = {
	creep: "change",
	step: "change",
	golden: "change",
	host: "host",
	method: "method",
	neighbour: "noise",
} as const;

export function scoreNights(nights: Nights): Score {
	const series = seriesOf(nights.records);
	const found = findAlarms(series);
	const score: Score = {
		delays: { creep: [], step: [], golden: [] },
		falseAlarms: 0,
		seriesYears: ((nights.levels[0]?.length ?? 0) * nights.records.length) / 365.25,
		explained: 0,
		right: 0,
		blamed: 0,
		levelError: 0,
	};
	const explained = (event: Event, name: string, raised: number): boolean =>
		raised >= event.night &&
		raised <= event.night + 25 &&
		(event.series.length === 0 || event.series.some((index) => name === `net-${index}/fp16/b1`));
	const shifts = found.alarms.flatMap(({ shifts }) =>
		shifts.map((of) => ({ ...of, raised: of.chain.points[of.shift.raised]?.run ?? 0 })),
	);
	const real = nights.events.filter(({ kind }) => kind !== "host" && kind !== "neighbour");
	score.falseAlarms = shifts.filter(
		({ chain, raised }) => !real.some((event) => explained(event, chain.series, raised)),
	).length;
	for (const event of nights.events) {
		if (event.kind !== "creep" && event.kind !== "step" && event.kind !== "golden") continue;
		const metric = event.kind === "golden" ? "error" : "latency";
		for (const index of event.series) {
			const own = shifts.filter(
				({ chain, raised }) =>
					chain.metric === metric &&
					chain.series === `net-${index}/fp16/b1` &&
					explained(event, chain.series, raised),
			);
			score.delays[event.kind].push(
				own.length === 0 ? null : Math.min(...own.map(({ raised }) => raised)) - event.night,
			);
		}
	}
	for (const { cause, shifts: own } of found.alarms) {
		const [first] = own;
		const raised = first?.chain.points[first.shift.raised]?.run ?? 0;
		const event = real
			.filter((one) => explained(one, first?.chain.series ?? "", raised))
			.sort((left, right) => right.night - left.night)[0];
		if (event === undefined) score.blamed += cause === "change" ? 1 : 0;
		else {
			score.explained += 1;
			score.right += cause === causeOf[event.kind] ? 1 : 0;
		}
	}
	for (const chain of series.chains.filter(({ metric }) => metric === "latency")) {
		const index = Number(/\d+/.exec(chain.series)?.[0]);
		const versions = (run: number) => Number(series.runs[run]?.method["trtgate"]?.split(".")[1]) * 0.004;
		const errors = chain.points.map(
			({ level, run }) => level - versions(run) - (nights.levels[run]?.[index] ?? 0),
		);
		const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
		score.levelError = Math.max(
			score.levelError,
			Math.abs(mean(errors.slice(-15)) - mean(errors.slice(0, 15))),
		);
	}
	return score;
}
