// Where a result is published, which comments and issues are ours, and the check run of a commit.
import type { Result } from "../../../../generated/result.ts";
import {
	type AlarmSource,
	describeCheckRun,
	findMarker,
	isOwnAuthor,
	type Marker,
} from "../../../core/report/comment.ts";
import type { Shown } from "../../../core/report/markdown.ts";
import type { ApiFault, ApiResult, CodeHost, HostedComment, ReportDraft } from "../../../ports/code-host.ts";

export interface PublishPlan {
	id: string;
	checkName: string;
	shown: Shown;
	run: { id: number; attempt: number };
	/** Not the merge that GitHub tests. */
	sha: string;
	pullRequest: number | null;
	/** changes: as auto, but while all gates pass none is created, except for the first in the repository. */
	comment: "auto" | "changes" | "never";
	checkRun: boolean;
	alarm: AlarmSource | null;
}

export type CommentPlan = Pick<PublishPlan, "id" | "shown" | "run" | "sha" | "pullRequest" | "comment">;

export type PublishedThing =
	| "check run"
	| "comment"
	| "alarm issue"
	| "artifact"
	| "report page"
	| "profiles"
	| "cache";

export type Published =
	| { what: PublishedThing; state: "done"; url?: string; note?: string }
	| { what: PublishedThing; state: "skipped"; why: string }
	| { what: PublishedThing; state: "failed"; fault: ApiFault };

export function markerOf({ id, run, sha }: CommentPlan): Marker {
	return { id, runId: run.id, attempt: run.attempt, sha };
}

/** Anyone can copy a marker. @param id null: of any gate. */
export async function ownOf<Item extends Pick<HostedComment, "body" | "author">>(
	items: readonly Item[],
	id: string | null,
	codeHost: Pick<CodeHost, "login">,
): Promise<(Item & { marker: Marker })[]> {
	const marked = items.flatMap((item) => {
		const marker = findMarker(item.body, id);
		return marker === null ? [] : [{ ...item, marker }];
	});
	const login = marked.length === 0 ? null : await codeHost.login();
	return marked.filter(({ author }) => isOwnAuthor(author, login));
}

/** If its effect is unknown, looks for the object before creating it again. */
export async function createOnce<Created extends ApiResult<object>>(
	{ pause }: Pick<CodeHost, "pause">,
	create: () => Promise<Created>,
	find: () => Promise<Extract<Created, { state: "done" }> | null | "unknown">,
): Promise<Created | Extract<Created, { state: "done" }>> {
	for (let tries = 1; ; tries += 1) {
		const created = await create();
		if (created.state === "done" || !created.fault.unclear || !(await pause(tries))) return created;
		const found = await find();
		if (found === "unknown") return created;
		if (found !== null) return found;
	}
}

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
async function showReport(draft: ReportDraft, codeHost: CodeHost) {
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
