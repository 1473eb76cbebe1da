// What people see while a job works: a check run in progress, and that an earlier comment is outdated.
import { concludeUnmeasured, openCheckRun } from "../../stages/publish/check-run.ts";
import { markOutdated } from "../../stages/publish/comment.ts";
import { type PublishContext, planPublish } from "./publish-run.ts";

const patienceMs = 15_000;

export async function announce(title: string, configPath: string, context: PublishContext): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost(patienceMs);
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
