// The check run of a commit; where the token may not make one, its commit status; otherwise a note that there is neither.
import { describeCheckRun, describeStatus } from "../../core/report/check-run.ts";
import type { Result } from "../../core/schema/result.ts";
import type { ApiResult, CheckRunDraft, CodeHost } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

type Found = { id: number; url: string };

export async function publishCheckRun(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published[]> {
	const { links } = plan.shown;
	const draft: CheckRunDraft = {
		name: plan.checkName,
		sha: plan.sha,
		externalId: `${plan.id}/${plan.run.id}/${plan.run.attempt}`,
		...describeCheckRun(result, plan.shown),
		...(links?.run === undefined ? {} : { detailsUrl: links.run }),
	};
	const run = await showCheckRun(draft, codeHost);
	if (run.state === "done") return [{ what: "check run", state: "done", url: run.thing.url }];
	const failed: Published = { what: "check run", ...run };
	if (run.fault.code === "github-timeout") return [failed];
	return [failed, await publishStatus(result, plan, codeHost)];
}

/** Publishing twice in one attempt updates the text and duplicates no annotation. */
async function showCheckRun(draft: CheckRunDraft, codeHost: CodeHost): Promise<ApiResult<{ thing: Found }>> {
	const find = async (): Promise<Found | null> => {
		const found = await codeHost.findCheckRun(draft);
		return found.state === "failed" ? null : found.found;
	};
	const before = await find();
	if (before !== null) return asThing(await codeHost.updateCheckRun(before.id, { ...draft, annotations: [] }));
	return createOnce(async () => asThing(await codeHost.createCheckRun(draft)), find);
}

function asThing(answer: ApiResult<{ found: Found }>): ApiResult<{ thing: Found }> {
	return answer.state === "failed" ? answer : { state: "done", thing: answer.found };
}

async function publishStatus(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published> {
	const url = plan.shown.links?.run;
	const draft = { sha: plan.sha, context: plan.checkName, ...describeStatus(result), ...(url === undefined ? {} : { url }) };
	const set = await codeHost.setStatus(draft);
	return set.state === "failed" ? { what: "commit status", ...set } : { what: "commit status", state: "done" };
}
