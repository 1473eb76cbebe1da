// Compares what `trtgate trend --json` shows night by night with what is true of the nights.
import type { trendFacts } from "../../src/core/report/trend-facts.ts";
import type { Nights } from "./history-nights.ts";
import { nightAt } from "./history-records.ts";
import { causeOf } from "./history-score.ts";

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

/** Largest error of a chained level over a whole chain, as the page draws it: the mean of its last nights against that of its first. */
export function levelErrorOf(page: string, { levels, records }: Nights): number {
	const { views } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? "") as {
		views: { series: string; metric: string; chains: { r: number[]; l: number[] }[] }[];
	};
	const mean = (values: readonly number[]): number =>
		values.reduce((sum, value) => sum + value, 0) / values.length;
	const methodAt = (night: number): number =>
		Number(records[night]?.record.method["trtgate"]?.split(".")[1]) * 0.004;
	const errors = views
		.filter(({ metric }) => metric === "latency")
		.flatMap(({ series, chains }) =>
			chains.map(({ r, l }) => {
				const index = Number(/\d+/.exec(series)?.[0]);
				const off = r.map(
					(night, at) => (l[at] ?? 0) / 1e6 - methodAt(night) - (levels[night]?.[index] ?? 0),
				);
				return Math.abs(mean(off.slice(-15)) - mean(off.slice(0, 15)));
			}),
		);
	return Math.max(...errors);
}
