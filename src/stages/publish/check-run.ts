// The check run of a commit; where the token may not make one, its commit status; otherwise a note that there is neither.
import { describeCheckRun, describeStatus } from "../../core/report/check-run.ts";
import type { Result } from "../../core/schema/result.ts";
import type { ApiResult, CheckRunDraft, CodeHost, HostedCheckRun } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

export async function publishCheckRun(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published[]> {
	const run = await showCheckRun({ ...subjectOf(plan), ...describeCheckRun(result, plan.shown) }, codeHost);
	if (run.state === "done") return [{ what: "check run", state: "done", url: run.thing.url }];
	const failed: Published = { what: "check run", ...run };
	if (run.fault.code === "github-timeout") return [failed];
	return [failed, await publishStatus(result, plan, codeHost)];
}

/** Which check run is ours, and where it leads. */
export function subjectOf({ checkName, sha, id, run, shown }: PublishPlan) {
	const { links } = shown;
	const externalId = `${id}/${run.id}/${run.attempt}`;
	return { name: checkName, sha, externalId, ...(links?.run === undefined ? {} : { detailsUrl: links.run }) };
}

/** Publishing twice in one attempt updates the text and duplicates no annotation. */
export async function showCheckRun(draft: CheckRunDraft, codeHost: CodeHost): Promise<ApiResult<{ thing: HostedCheckRun }>> {
	const find = async (): Promise<HostedCheckRun | null> => {
		const found = await codeHost.findCheckRun(draft);
		return found.state === "failed" ? null : found.found;
	};
	const before = await find();
	if (before !== null) return asThing(await codeHost.updateCheckRun(before.id, before.isOpen ? draft : { ...draft, annotations: [] }));
	return createOnce(async () => asThing(await codeHost.createCheckRun(draft)), find);
}

function asThing(answer: ApiResult<{ found: HostedCheckRun }>): ApiResult<{ thing: HostedCheckRun }> {
	return answer.state === "failed" ? answer : { state: "done", thing: answer.found };
}

async function publishStatus(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published> {
	const url = plan.shown.links?.run;
	const draft = { sha: plan.sha, context: plan.checkName, ...describeStatus(result), ...(url === undefined ? {} : { url }) };
	const set = await codeHost.setStatus(draft);
	return set.state === "failed" ? { what: "commit status", ...set } : { what: "commit status", state: "done" };
}
