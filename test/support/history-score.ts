// Compares what the history finds in simulated nights with what is true of them.
import { causesOfNights, findAlarms } from "../../src/core/history/alarms.ts";
import { type Event, type Nights, seriesOf } from "./history-nights.ts";

export interface Score {
	/** Nights from the start of an event to its alarm, by kind; null: never. */
	delays: Record<"creep" | "step" | "golden", (number | null)[]>;
	falseAlarms: number;
	seriesYears: number;
	/** Nights with a label, and those whose cause was found. */
	labelled: number;
	right: number;
	/** Nights of a host or a neighbour that were called a change. */
	blamed: number;
	/** Largest error of a chained level. */
	levelError: number;
}

const causeOf = { creep: "change", step: "change", golden: "change", host: "host", method: "method", neighbour: "noise" } as const;

export function scoreNights(nights: Nights): Score {
	const series = seriesOf(nights.records);
	const found = findAlarms(series);
	const score: Score = {
		delays: { creep: [], step: [], golden: [] },
		falseAlarms: 0,
		seriesYears: 0,
		labelled: 0,
		right: 0,
		blamed: 0,
		levelError: 0,
	};
	const explained = (event: Event, name: string, raised: number): boolean =>
		raised >= event.night &&
		raised <= event.night + 25 &&
		(event.series.length === 0 || event.series.some((index) => name === `net-${index}/fp16/b1`));
	const shifts = found.alarms.flatMap(({ shifts }) => shifts.map((of) => ({ ...of, raised: of.chain.points[of.shift.raised]?.run ?? 0 })));
	const real = nights.events.filter(({ kind }) => kind !== "host" && kind !== "neighbour");
	score.falseAlarms = shifts.filter(({ chain, raised }) => !real.some((event) => explained(event, chain.series, raised))).length;
	score.seriesYears = ((nights.levels[0]?.length ?? 0) * nights.records.length) / 365.25;
	for (const event of nights.events) {
		if (event.kind !== "creep" && event.kind !== "step" && event.kind !== "golden") continue;
		const metric = event.kind === "golden" ? "error" : "latency";
		for (const index of event.series) {
			const own = shifts.filter(
				({ chain, raised }) => chain.metric === metric && chain.series === `net-${index}/fp16/b1` && explained(event, chain.series, raised),
			);
			score.delays[event.kind].push(own.length === 0 ? null : Math.min(...own.map(({ raised }) => raised)) - event.night);
		}
	}
	const causes = causesOfNights(series, found);
	for (const event of nights.events) {
		score.labelled += 1;
		const near = event.kind === "creep" || event.kind === "golden" ? [...Array(16).keys()] : [0];
		const got = near.map((offset) => causes.get(event.night + offset));
		if (got.includes(causeOf[event.kind])) score.right += 1;
		if ((event.kind === "host" || event.kind === "neighbour") && got[0] === "change") score.blamed += 1;
	}
	// Every quiet night has a label too.
	const touched = new Set(
		nights.events.flatMap(({ night, kind }) =>
			kind === "creep" || kind === "golden" ? [...Array(26).keys()].map((offset) => night + offset) : [night, night + 1, night + 2],
		),
	);
	for (const night of nights.records.keys()) {
		if (touched.has(night)) continue;
		score.labelled += 1;
		if (!causes.has(night)) score.right += 1;
	}
	for (const chain of series.chains.filter(({ metric }) => metric === "latency")) {
		const index = Number(/\d+/.exec(chain.series)?.[0]);
		const versions = (run: number) => Number(series.runs[run]?.method["trtgate"]?.split(".")[1]) * 0.004;
		const errors = chain.points.map(({ level, run }) => level - versions(run) - (nights.levels[run]?.[index] ?? 0));
		const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
		score.levelError = Math.max(score.levelError, Math.abs(mean(errors.slice(-15)) - mean(errors.slice(0, 15))));
	}
	return score;
}
