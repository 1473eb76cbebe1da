// Compares what `trtgate trend --json` shows night by night with what is true of the nights.
import type { trendFacts } from "../src/core/report/trend-facts.ts";
import type { Nights } from "../test/support/history-nights.ts";
import { nightAt } from "../test/support/history-records.ts";
import { causeOf } from "../test/support/history-score.ts";

export type ShownTrend = ReturnType<typeof trendFacts>;

const figures = { creep: "latency", step: "latency", golden: "error out relative-l2" } as const;
/** `shown[n]` is the trend as it stood after night n. */
export function scoreShown(shown: readonly ShownTrend[], { events, levels }: Nights) {
	const nightOf = new Map(shown.map((_, night) => [nightAt(night), night]));
	const nameOf = (index: number): string => `net-${index}/fp16/b1`;
	const touches = (event: Nights["events"][number], series: string, raised: number): boolean =>
		event.kind !== "host" &&
		event.kind !== "neighbour" &&
		raised >= event.night &&
		raised <= event.night + 25 &&
		(event.series.length === 0 || event.series.some((index) => nameOf(index) === series));
	const delays = events.flatMap(({ kind, night, series }) => {
		if (kind !== "creep" && kind !== "step" && kind !== "golden") return [];
		return series.map((index) => {
			const found = shown.findIndex(
				({ alarms }, now) =>
					now >= night &&
					alarms.some(({ series: own }) =>
						own.some(
							(one) =>
								one.series === nameOf(index) &&
								one.figure === figures[kind] &&
								(nightOf.get(one.raised) ?? 0) >= night,
						),
					),
			);
			return { kind, series: index, nights: found < 0 ? null : found - night };
		});
	});
	const alarms = shown.at(-1)?.alarms ?? [];
	const judged = alarms.map(({ cause, raised, series }) => {
		const night = nightOf.get(raised) ?? 0;
		const own = events.filter((event) => series.some((one) => touches(event, one.series, night)));
		return { cause, isReal: own.length > 0, isRight: own.some(({ kind }) => causeOf[kind] === cause) };
	});
	const chains = (shown.at(-1)?.levels ?? []).filter(({ figure }) => figure === "latency");
	return {
		delays,
		alarms: judged.length,
		falseAlarms: judged.filter(({ isReal }) => !isReal).length,
		causesRight: judged.filter(({ isReal, isRight }) => isReal && isRight).length,
		seriesYears: ((levels[0]?.length ?? 0) * shown.length) / 365.25,
		epochs: [...new Set(chains.flatMap(({ changed }) => changed))],
	};
}
