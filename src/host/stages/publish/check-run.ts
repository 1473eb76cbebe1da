// The check run of a commit.
import type { Result } from "../../../../generated/result.ts";
import { describeCheckRun } from "../../../core/report/check-run.ts";
import type { ApiResult, CodeHost, HostedReport, ReportDraft } from "../../../ports/code-host.ts";
import { createOnce, type Published, type PublishPlan } from "./plan.ts";

export async function publishCheckRun(
	result: Result,
	plan: PublishPlan,
	codeHost: CodeHost,
): Promise<Published> {
	const shown = await showReport({ ...subjectOf(plan), ...describeCheckRun(result, plan.shown) }, codeHost);
	return shown.state === "done"
		? { what: "check run", state: "done", url: shown.report.url }
		: { what: "check run", ...shown };
}

function subjectOf({ checkName, sha, id, run, shown }: PublishPlan) {
	return { name: checkName, sha, key: `${id}/${run.id}/${run.attempt}`, detailsUrl: shown.links?.run };
}

/** A second time, annotations are not repeated. */
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

export async function openCheckRun(title: string, plan: PublishPlan, codeHost: CodeHost): Promise<void> {
	if (!plan.checkRun) return;
	const draft = { conclusion: null, title, summary: "The result follows.", annotations: [] };
	await showReport({ ...subjectOf(plan), ...draft }, codeHost);
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
