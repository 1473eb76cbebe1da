// What people see while a job works: its stage in the check run, and that an earlier comment is outdated.
import { setTimeout } from "node:timers/promises";
import { usualPace } from "../../adapters/github/request.ts";
import { leftText } from "../../adapters/terminal/progress.ts";
import { shorten } from "../../core/text/escape.ts";
import type { HostedCheckRun } from "../../ports/code-host.ts";
import type { Progress } from "../../ports/world.ts";
import {
	concludeUnmeasured,
	markOutdated,
	openCheckRun,
	retitleCheckRun,
} from "../../stages/publish/check-run.ts";
import { codeHostOf, type PublishContext, planPublish } from "./publish-run.ts";

const everyMs = 30_000;
/** For failed requests and waiting, in all. */
const pace = { ...usualPace, patienceMs: 15_000 };

/** Everything happens beside the work, and nothing waits for it but `stop`. */
export function showUnderWay(configPath: string, context: PublishContext, inner: Progress): LiveStatus {
	const { plan } = planPublish(configPath, context);
	const codeHost = codeHostOf(context, pace);
	if (codeHost === null) return unwatched(inner);
	const shown = { plan, codeHost };
	const marked = markOutdated("measuring", shown);
	let checkRun: HostedCheckRun | null = null;
	const live = liveStatus(inner, {
		async send(title) {
			if (checkRun !== null) return retitleCheckRun(title, checkRun, shown);
			checkRun = await openCheckRun(title, plan, codeHost);
			return checkRun !== null;
		},
		everyMs,
		// It does not keep the process alive.
		wait: (ms, signal) => setTimeout(ms, undefined, { signal, ref: false }).catch(() => {}),
	});
	return {
		progress: live.progress,
		async stop() {
			await Promise.all([marked, live.stop()]);
		},
	};
}

/** Shows it once; the report on the jobs concludes it. */
export async function announce(title: string, configPath: string, context: PublishContext): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = codeHostOf(context);
	if (codeHost === null) return;
	await Promise.all([openCheckRun(title, plan, codeHost), markOutdated("measuring", { plan, codeHost })]);
}

/** For a run that ended without publishing. */
export async function takeBack(configPath: string, context: PublishContext, why: string): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = codeHostOf(context, pace);
	if (codeHost === null) return;
	await concludeUnmeasured(why, { plan, codeHost });
	await markOutdated("ended", { plan, codeHost });
}

// Follows the progress of a run and shows it elsewhere, at most once in a while.

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
				state = { ...state, stage, at: 0, items };
				inner.stage(stage, items);
			},
			item(label) {
				state = { ...state, at: state.at + 1 };
				inner.item(label);
			},
			detail: (text) => inner.detail(text),
			done: (summary) => inner.done(summary),
			expect(left) {
				state = { ...state, left };
				inner.expect?.(left);
			},
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
	/** Of the whole run; null where it is unknown. */
	left?: () => number | null;
}

/** `measure 2 of 3 · 4 min left`. */
function progressTitle({ stage, at, items, left }: ProgressState): string {
	const count = at === 0 || items === 0 ? "" : ` ${Math.min(at, items)} of ${items}`;
	const leftMs = left?.() ?? null;
	const wait = leftText(leftMs === null ? null : Math.ceil(leftMs / 60_000) * 60_000);
	return `${shorten(stage, 60)}${count}${wait === "" ? "" : ` · ${wait}`}`;
}
