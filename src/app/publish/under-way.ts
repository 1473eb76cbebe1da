// What people see while a job works: its stage in the check run, and that an earlier comment is outdated.
import { setTimeout } from "node:timers/promises";
import { usualPace } from "../../adapters/github/request.ts";
import type { HostedCheckRun } from "../../ports/code-host.ts";
import type { Progress } from "../../ports/world.ts";
import { concludeUnmeasured, markOutdated, openCheckRun, retitleCheckRun } from "../../stages/publish/check-run.ts";
import { type LiveStatus, liveStatus, unwatched } from "./live-status.ts";
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
	const codeHost = codeHostOf(context, pace);
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
