// Which of the commits between two nights brought a change: by halves, with few builds.
import type { Findings } from "./alarms.ts";
import type { Series } from "./series.ts";

/** A change that was decided in the newest run, and began between two commits. */
export interface Doubt {
	/** Id of the workload that shows it best. */
	series: string;
	good: string;
	bad: string;
	/** In logarithms. */
	size: number;
}

/** Only a change that the newest run decided: later runs would bisect the same again. */
export function doubtOf({ alarms }: Pick<Findings, "alarms">, { runs }: Series): Doubt | null {
	const alarm = alarms.find(
		({ isOpen, cause, raised }) => isOpen && cause === "change" && raised === runs.length - 1,
	);
	const shown = alarm?.shifts.find(({ chain }) => chain.metric === "latency");
	// No single commit brings what creeps.
	if (shown === undefined || shown.foundBy === "creep") return null;
	const { chain, start, shift } = shown;
	const before = chain.points.findLast(({ run }) => run < start)?.run;
	const good = runs[before ?? -1]?.commit;
	const bad = runs[start]?.commit;
	if (good === undefined || bad === undefined || good === bad) return null;
	return { series: chain.series, good, bad, size: shift.size };
}

/** Commits before `good` are as before; that at `bad`, and all after it, have the change. Oldest first. */
export interface Bisection {
	commits: readonly string[];
	good: number;
	bad: number;
	buildsLeft: number;
	unmeasured: number;
}

/** @param commits after the good one, up to the bad one. */
export function beginBisection(commits: readonly string[], builds: number): Bisection {
	return { commits, good: 0, bad: commits.length - 1, buildsLeft: builds, unmeasured: 0 };
}

/** The commit to build next; null where the first bad one is known, or no build is left. */
export function nextCommit({ commits, good, bad, buildsLeft }: Bisection): string | null {
	return buildsLeft > 0 && good < bad ? (commits[(good + bad) >> 1] ?? null) : null;
}

/** @param hasChange of the next commit; null where it could not be measured, and is left out. */
export function narrowed(bisection: Bisection, hasChange: boolean | null): Bisection {
	const { commits, good, bad, unmeasured } = bisection;
	const middle = (good + bad) >> 1;
	const next = { ...bisection, buildsLeft: bisection.buildsLeft - 1 };
	if (hasChange === null)
		return { ...next, commits: commits.toSpliced(middle, 1), bad: bad - 1, unmeasured: unmeasured + 1 };
	return hasChange ? { ...next, bad: middle } : { ...next, good: middle + 1 };
}

/** Whether a level is nearer to that after the change than to that before it. */
export function isAfter(level: number, now: { level: number; size: number }): boolean {
	return Math.abs(level - now.level) < Math.abs(level - (now.level - now.size));
}

export function describeBisection({ commits, good, bad, unmeasured }: Bisection, builds: number): string {
	const at = (place: number): string => (commits[place] ?? "").slice(0, 12);
	const without = unmeasured === 0 ? "" : `, ${unmeasured} of which could not be measured`;
	const spent = `${builds} more ${builds === 1 ? "build" : "builds"}${without}`;
	if (good >= bad) return `Bisection by ${spent}: it began with ${at(bad)}.`;
	return `Bisection by ${spent}: it began with one of ${bad - good + 1} commits, ${at(good)} to ${at(bad)}; history.bisect allows no more.`;
}
