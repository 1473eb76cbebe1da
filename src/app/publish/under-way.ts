// What people see while a job works: its stage in the check run, and that an earlier comment is outdated.
import { setTimeout } from "node:timers/promises";
import { shorten } from "../../core/text/escape.ts";
import type { HostedReport } from "../../ports/code-host.ts";
import type { Progress } from "../../ports/world.ts";
import { concludeUnmeasured, openCheckRun, retitleCheckRun } from "../../stages/publish/check-run.ts";
import { markOutdated } from "../../stages/publish/comment.ts";
import { type PublishContext, planPublish } from "./publish-run.ts";

const everyMs = 30_000;
/** For failed requests and waiting, in all. */
const patienceMs = 15_000;

/** Everything happens beside the work, and nothing waits for it but `stop`. */
export function showUnderWay(configPath: string, context: PublishContext, inner: Progress): LiveStatus {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost(patienceMs);
	if (codeHost === null) return unwatched(inner);
	const marked = markOutdated("measuring", plan, codeHost);
	let report: HostedReport | null = null;
	const live = liveStatus(inner, {
		async send(title) {
			if (report !== null) return retitleCheckRun(title, report, plan, codeHost);
			report = await openCheckRun(title, plan, codeHost);
			return report !== null;
		},
		everyMs,
		// It does not keep the process alive.
		wait: (ms, signal) => setTimeout(ms, undefined, { signal, ref: false }).catch(() => {}),
	});
	return {
		progress: live.progress,
		stop: async () => void (await Promise.all([marked, live.stop()])),
	};
}

/** Shows it once; the report on the jobs concludes it. */
export async function announce(title: string, configPath: string, context: PublishContext): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost();
	if (codeHost === null) return;
	await Promise.all([openCheckRun(title, plan, codeHost), markOutdated("measuring", plan, codeHost)]);
}

/** For a run that ended without publishing. */
export async function takeBack(configPath: string, context: PublishContext, why: string): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost(patienceMs);
	if (codeHost === null) return;
	await concludeUnmeasured(why, plan, codeHost);
	await markOutdated("ended", plan, codeHost);
}

export interface LiveStatus {
	progress: Progress;
	/** Resolves once nothing more is sent. */
	stop(): Promise<void>;
}

export function unwatched(progress: Progress): LiveStatus {
	return { progress, stop: async () => {} };
}

interface LiveOptions {
	/** @returns false where nothing more should be sent. */
	send(title: string): Promise<boolean>;
	everyMs: number;
	/** Resolves after this time, or at once when the signal aborts. */
	wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Follows the progress of a run: the first title is sent at once, the next ones when the time since the last one is over. */
export function liveStatus(inner: Progress, { send, everyMs, wait }: LiveOptions): LiveStatus {
	let stageName = "starting";
	let at = 0;
	let count = 0;
	/** `measure 2 of 3`. */
	const titleNow = (): string => {
		const place = at === 0 || count === 0 ? "" : ` ${Math.min(at, count)} of ${count}`;
		return `${shorten(stageName, 60)}${place}`;
	};
	let sent = "";
	const stopped = new AbortController();
	const loop = (async () => {
		while (!stopped.signal.aborted) {
			const title = titleNow();
			if (title !== sent && !(await send(title))) return;
			sent = title;
			await wait(everyMs, stopped.signal);
		}
	})();
	return {
		progress: {
			stage(stage, items) {
				stageName = stage;
				at = 0;
				count = items;
				inner.stage(stage, items);
			},
			item(label) {
				at += 1;
				inner.item(label);
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
