// Summarizes how long processes take to their first inference.
import type { StartUpStats } from "../../../generated/result.ts";
import { median } from "../stats/quantile.ts";

export const loadParts = ["plugins", "read", "deserialize", "context"] as const;
export type LoadPart = (typeof loadParts)[number];

export interface Start {
	load: Readonly<Record<LoadPart, number>>;
	/** The first run and those after it, without pauses. */
	runsMs: readonly number[];
}

export function totalMs({ load, runsMs }: Start): number {
	return loadParts.reduce((sum, part) => sum + load[part], runsMs[0] ?? 0);
}

/** Medians over processes; null without any. */
export function summarizeStarts(warm: readonly Start[], cold: readonly Start[]): StartUpStats | null {
	if (warm.length === 0) return null;
	const middle = (of: (start: Start) => number): number => median(warm.map(of));
	const steady = warm.flatMap(({ runsMs }) => steadyAfter(runsMs) ?? []);
	return {
		processes: warm.length,
		pluginsMs: middle(({ load }) => load.plugins),
		readMs: middle(({ load }) => load.read),
		deserializeMs: middle(({ load }) => load.deserialize),
		contextMs: middle(({ load }) => load.context),
		firstMs: middle(({ runsMs }) => runsMs[0] ?? 0),
		totalMs: middle(totalMs),
		coldMs: cold.length === 0 ? null : median(cold.map(totalMs)),
		steadyAfter: steady.length === 0 ? null : Math.round(median(steady)),
	};
}

const tolerance = 1.1;
const inARow = 3;

/** Runs before the first of three that take at most a tenth longer than the later half does. */
export function steadyAfter(runsMs: readonly number[]): number | null {
	const limit = tolerance * median(runsMs.slice(Math.floor(runsMs.length / 2)));
	const at = runsMs.findIndex((_, index) => {
		const next = runsMs.slice(index, index + inARow);
		return next.length === inARow && next.every((ms) => ms <= limit);
	});
	return at < 0 ? null : at;
}
