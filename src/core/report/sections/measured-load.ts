// What requests waited that arrived on a schedule.
import type { MeasuredLoad, MeasuredSide } from "../../../../generated/result.ts";
import { boundsText } from "../../load/measured.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, present } from "../../text/labels.ts";
import { formatCount, formatMs, formatPercent } from "../../text/units.ts";
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
	plain("arrivals", ({ load }) => cleanName(load.arrivals, 60)),
	plain("side", ({ side }) => side),
	plain("P99 change", ({ side, comparison }) => (side === "head" ? changeWithInterval(comparison) : "")),
	numbers("requests", ({ stats }) => stats.requests, formatCount),
	numbers("busy", ({ stats }) => stats.serviceMs, formatMs),
	numbers("mean", ({ stats }) => stats.meanMs, formatMs),
	numbers("P50", ({ stats }) => stats.p50Ms, formatMs),
	numeric("P99 (99 % bounds)", ({ stats }) => `${formatMs(stats.p99Ms)} (${boundsText(stats.p99)})`, {
		sortBy: ({ stats }) => stats.p99Ms,
	}),
	numbers("longest", ({ stats }) => stats.maxMs, formatMs),
	numbers("sent late", ({ stats }) => stats.latenessMs, formatMs),
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
