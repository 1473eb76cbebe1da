// Labels for ticks of time: as times, or as shares where times in four digits would look alike.
import { formatMs, formatPercent } from "../../text/units.ts";

export interface TickLabels {
	labels: string[];
	/** What the labels count, for the axis. */
	unit: string;
}

export function timeLabels(ticksMs: readonly number[], referenceMs: number): TickLabels {
	const times = ticksMs.map(formatMs);
	if (new Set(times).size === times.length || referenceMs <= 0) return { labels: times, unit: "time" };
	const shares = ticksMs.map((tick) => formatPercent(tick / referenceMs - 1, { sign: true, digits: 2 }));
	return { labels: shares, unit: `change against ${formatMs(referenceMs)}` };
}
