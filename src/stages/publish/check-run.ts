// The report on a commit; where the token may not make one, its status; otherwise a note that there is neither.
import type { Result } from "../../../generated/result.ts";
import { describeCheckRun, describeStatus } from "../../core/report/check-run.ts";
import type { ApiResult, CodeHost, HostedReport, ReportDraft } from "../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

export async function publishCheckRun(
	result: Result,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<Published[]> {
	const shown = await showReport({ ...subjectOf(plan), ...describeCheckRun(result, plan.shown) }, codeHost);
	if (shown.state === "done") return [{ what: "check run", state: "done", url: shown.report.url }];
	const failed: Published = { what: "check run", ...shown };
	// A status has no neutral state, and a green one would vouch for what nobody verified.
	if (shown.fault.code === "github-timeout" || result.unverified === true) return [failed];
	const { checkName: context, sha } = plan;
	const set = await codeHost.setStatus({
		sha,
		context,
		...describeStatus(result),
		url: plan.shown.links?.run,
	});
	return [failed, { what: "commit status", ...set }];
}

/** Which report is ours, and where it leads. */
function subjectOf({ checkName, sha, id, run, shown }: PublishPlan) {
	return { name: checkName, sha, key: `${id}/${run.id}/${run.attempt}`, detailsUrl: shown.links?.run };
}

/** Publishing twice in one attempt updates the text and duplicates no annotation. */
async function showReport(
	draft: ReportDraft,
	codeHost: CodeHost,
): Promise<ApiResult<{ report: HostedReport }>> {
	const before = await codeHost.findReport(draft);
	if (before.state === "failed") return before;
	const { report } = before;
	if (report !== null)
		return codeHost.updateReport(report.id, report.isOpen ? draft : { ...draft, annotations: [] });
	return createOnce(
		codeHost,
		() => codeHost.createReport(draft),
		async () => {
			const found = await codeHost.findReport(draft);
			if (found.state === "failed") return "unknown";
			return found.report === null ? null : { state: "done" as const, report: found.report };
		},
	);
}

function underWay(title: string) {
	return { conclusion: null, title, summary: "The result follows.", annotations: [] };
}

/** @returns null where it is not shown. */
export async function openCheckRun(
	title: string,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<HostedReport | null> {
	if (!plan.checkRun) return null;
	const shown = await showReport({ ...subjectOf(plan), ...underWay(title) }, codeHost);
	return shown.state === "done" ? shown.report : null;
}

/** @returns whether it is shown. */
export async function retitleCheckRun(
	title: string,
	{ id }: HostedReport,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<boolean> {
	return (await codeHost.updateReport(id, { ...subjectOf(plan), ...underWay(title) })).state === "done";
}

/** Concludes a report in progress; one with a verdict stays as it is. */
export async function concludeUnmeasured(why: string, plan: PublishPlan, codeHost: CodeHost): Promise<void> {
	if (!plan.checkRun) return;
	const subject = subjectOf(plan);
	const open = await codeHost.findReport(subject);
	if (open.state === "failed" || open.report?.isOpen !== true) return;
	const draft = { ...subject, conclusion: "cancelled", title: why, summary: why, annotations: [] } as const;
	await codeHost.updateReport(open.report.id, draft);
}
