// The one figure by which a run is compared with another.
import type { RunFigure } from "../schema/result.ts";

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
