// Where a result is published, and which comments and issues are ours.
import type { AlarmSource } from "../../../core/report/alarm-issue.ts";
import { findMarker, isOwnAuthor, type Marker } from "../../../core/report/comment.ts";
import type { Shown } from "../../../core/report/markdown.ts";
import type { ApiFault, ApiResult, CodeHost, HostedComment } from "../../../ports/code-host.ts";

export interface PublishPlan {
	id: string;
	checkName: string;
	shown: Shown;
	run: { id: number; attempt: number };
	/** Not the merge that GitHub tests. */
	sha: string;
	pullRequest: number | null;
	/** changes: as auto, but not created while all gates pass. */
	comment: "auto" | "changes" | "never";
	checkRun: boolean;
	alarm: AlarmSource | null;
}

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

export function markerOf({ id, run, sha }: PublishPlan): Marker {
	return { id, runId: run.id, attempt: run.attempt, sha };
}

/** Anyone can copy a marker. */
export async function ownOf<Item extends Pick<HostedComment, "body" | "author">>(
	items: readonly Item[],
	id: string,
	codeHost: CodeHost,
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
