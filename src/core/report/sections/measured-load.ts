// What requests waited that arrived on a schedule.
import type {
	MeasuredLoad,
	MeasuredSide,
	TogetherResult,
	TogetherSide,
} from "../../../../generated/result.ts";
import { boundsText } from "../../load/measured.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, present, subjectName } from "../../text/labels.ts";
import { formatCount, formatMs, formatPercent, formatTimes } from "../../text/units.ts";
import { changeWithInterval } from "../comparison-format.ts";
import {
	type Column,
	heading,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";
import { loadName, rate } from "./at-load.ts";

type MeasuredRow = MeasuredLoad["points"][number] & { load: MeasuredLoad; side: string; stats: MeasuredSide };

const measuredColumns: readonly Column<MeasuredRow>[] = [
	heading("Engine", ({ load }) => loadName(load)),
	plain("load", (row) =>
		present([row.share !== null && formatPercent(row.share, { digits: 0 }), rate(row)]).join(" · "),
	),
	plain("side", ({ side }) => side),
	numeric("P99 (99 % bounds)", ({ stats }) => `${formatMs(stats.p99Ms)} (${boundsText(stats.p99)})`, {
		sortBy: ({ stats }) => stats.p99Ms,
	}),
	plain("P99 change", ({ side, comparison }) => (side === "head" ? changeWithInterval(comparison) : "")),
	numbers("mean", ({ stats }) => stats.meanMs, formatMs),
	numbers("P50", ({ stats }) => stats.p50Ms, formatMs),
	numbers("longest", ({ stats }) => stats.maxMs, formatMs),
	numbers("busy", ({ stats }) => stats.serviceMs, formatMs),
	numbers("sent late", ({ stats }) => stats.latenessMs, formatMs),
	numbers("requests", ({ stats }) => stats.requests, formatCount),
	plain("arrivals", ({ load }) => cleanName(load.arrivals, 60)),
];

const measuredMethod =
	"Measured: requests arrive on a schedule drawn before the run, the same for base and head, and wait from their arrival, not from when they were sent. Busy: an inference with the next one queued, its transfers included.";

export const measuredLoadSection: ReportSection = {
	id: "measured-load",
	show({ result: { measuredLoads = [] } }) {
		if (measuredLoads.length === 0) return null;
		const rows = measuredLoads.flatMap((load) =>
			load.points.flatMap((point) =>
				(["base", "head"] as const).flatMap((side): MeasuredRow[] => {
					const stats = point[side];
					return stats === null ? [] : [{ ...point, load, side, stats }];
				}),
			),
		);
		const reasons = measuredLoads.flatMap(({ reason, ...load }) =>
			reason === undefined ? [] : [sentence(`${loadName(load)}: ${cleanMessage(reason)}`)],
		);
		const shown = rows.length === 0 ? [] : [table("measured load", measuredColumns, rows, { noun: "row" })];
		return {
			title: `Measured load of ${counted(measuredLoads.length, "engine")}`,
			blocks: [...reasons, ...shown, sentence(measuredMethod, "quiet")],
		};
	},
};

type TogetherRow = TogetherResult & { side: string; stats: TogetherSide };

const togetherColumns: readonly Column<TogetherRow>[] = [
	heading("Engine", subjectName),
	plain("beside", ({ beside }) => cleanName(beside)),
	plain("side", ({ side }) => side),
	plain("change", ({ side, comparison }) => (side === "head" ? changeWithInterval(comparison) : "")),
	numbers("alone", ({ stats }) => stats.aloneMs, formatMs),
	numbers("together", ({ stats }) => stats.togetherMs, formatMs),
	numbers("together ÷ alone", ({ stats }) => stats.togetherMs / stats.aloneMs, formatTimes),
];

export const togetherSection: ReportSection = {
	id: "together",
	show({ result: { together = [] } }) {
		const rows = together.flatMap((one) =>
			(["base", "head"] as const).flatMap((side): TogetherRow[] => {
				const stats = one[side];
				return stats === null ? [] : [{ ...one, side, stats }];
			}),
		);
		if (rows.length === 0) return null;
		const text =
			"Both engines run in one process and are always busy; the change is that of the time together.";
		return {
			title: "Engines at once",
			blocks: [table("together", togetherColumns, rows, { noun: "row" }), sentence(text, "quiet")],
		};
	},
};
