// The one figure by which a run is compared with another.
import type { Arm, RunFigure, WorkloadResult } from "../schema/result.ts";

/** Names of the figures, for people. */
export const figureNames: Readonly<Record<RunFigure, string>> = { median: "median", fastest: "fastest iteration" };

interface Timed {
	medianMs?: number;
	minMs?: number;
}

/** Of a run, or of an arm: undefined where nothing was timed. */
export function figureMs(timed: Timed | null | undefined, figure: RunFigure | undefined): number | undefined {
	return figure === "fastest" ? timed?.minMs : timed?.medianMs;
}

/** An arm's time as reports show it beside the change: of the same pairs and the same estimate where there is a comparison. */
export function shownMs(workload: WorkloadResult, arm: Arm): number | undefined {
	return workload.latency[arm] ?? figureMs(workload[arm], workload.figure);
}
