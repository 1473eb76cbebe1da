// The title of a check run in progress.
import { shorten } from "../text/escape.ts";

export interface ProgressState {
	/** Name of the stage, e.g. `measure`. */
	stage: string;
	/** 1-based; 0 before the first. */
	at: number;
	items: number;
	/** Of the whole run; undefined where it is not known. */
	etaMs?: number;
}

/** `measure 2 of 3 · about 4 min left`. */
export function progressTitle({ stage, at, items, etaMs }: ProgressState): string {
	const count = at === 0 || items === 0 ? "" : ` ${Math.min(at, items)} of ${items}`;
	const minutes = Math.ceil((etaMs ?? 0) / 60_000);
	const left = etaMs === undefined ? "" : ` · ${minutes <= 1 ? "less than a minute" : `about ${minutes} min`} left`;
	return `${shorten(stage, 60)}${count}${left}`;
}
