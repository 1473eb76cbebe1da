// Follows the progress of a run and shows it elsewhere, at most once in a while.

import { shorten } from "../../core/text/escape.ts";
import type { Progress } from "../../ports/world.ts";

export interface LiveStatus {
	progress: Progress;
	/** Resolves once nothing more is sent. */
	stop(): Promise<void>;
}

interface LiveOptions {
	/** @returns false where nothing more should be sent. */
	send(title: string): Promise<boolean>;
	everyMs: number;
	/** Resolves after this time, or at once where the signal says so. */
	wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function unwatched(progress: Progress): LiveStatus {
	return { progress, stop: async () => {} };
}

/** The first title is sent at once; the next ones when the time since the last one is over. */
export function liveStatus(inner: Progress, { send, everyMs, wait }: LiveOptions): LiveStatus {
	let state: ProgressState = { stage: "starting", at: 0, items: 0 };
	let sent = "";
	const stopped = new AbortController();
	const loop = (async () => {
		while (!stopped.signal.aborted) {
			const title = progressTitle(state);
			if (title !== sent && !(await send(title))) return;
			sent = title;
			await wait(everyMs, stopped.signal);
		}
	})();
	return {
		progress: {
			stage(stage, items) {
				state = { stage, at: 0, items };
				inner.stage(stage, items);
			},
			item(label, etaMs) {
				state = { ...state, at: state.at + 1, ...(etaMs === undefined ? {} : { etaMs }) };
				inner.item(label, etaMs);
			},
			detail: (text) => inner.detail(text),
			done: (summary) => inner.done(summary),
		},
		async stop() {
			stopped.abort();
			await loop;
		},
	};
}

// The title of a check run in progress.

interface ProgressState {
	/** Name of the stage, e.g. `measure`. */
	stage: string;
	/** 1-based; 0 before the first. */
	at: number;
	items: number;
	/** Of the whole run; undefined where it is not known. */
	etaMs?: number;
}

/** `measure 2 of 3 · about 4 min left`. */
function progressTitle({ stage, at, items, etaMs }: ProgressState): string {
	const count = at === 0 || items === 0 ? "" : ` ${Math.min(at, items)} of ${items}`;
	const minutes = Math.ceil((etaMs ?? 0) / 60_000);
	const left = etaMs === undefined ? "" : ` · ${minutes <= 1 ? "less than a minute" : `about ${minutes} min`} left`;
	return `${shorten(stage, 60)}${count}${left}`;
}
