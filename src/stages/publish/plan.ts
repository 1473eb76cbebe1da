// What is shown where and what came of it, which comments and issues are ours, and how something is created exactly once.
import type { AlarmSource } from "../../core/report/alarm-issue.ts";
import { findMarker, isOwnAuthor, type Marker } from "../../core/report/comment.ts";
import type { Shown } from "../../core/report/markdown.ts";
import type { ApiFault, ApiResult, CodeHost, HostedComment } from "../../ports/code-host.ts";

/** one: created once, then updated. changes: as one, but not for the first time when all pass. fresh: a new one each run, older ones hidden. */
export type CommentMode = "one" | "changes" | "fresh" | "never";

export interface PublishPlan {
	/** Distinguishes config and job: one comment, report and issue each. */
	id: string;
	/** What the report and the status are called. */
	checkName: string;
	shown: Shown;
	run: { id: number; attempt: number };
	/** The change's own commit, not the merge that GitHub tests. */
	sha: string;
	pullRequest: number | null;
	comment: CommentMode;
	checkRun: boolean;
	/** Whose issue to open, update or close; null for none. */
	alarm: AlarmSource | null;
}

export type PublishedThing =
	| "check run"
	| "commit status"
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

/** The texts with a marker of this id that we wrote ourselves; similar text of other authors does not count. */
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

/** Creates something that a lost request may have created already: it is looked for first, and nothing is created where it cannot be. */
export async function createOnce<Created extends ApiResult<object>>(
	{ pause }: Pick<CodeHost, "pause">,
	create: () => Promise<Created>,
	/** null: there is none; "unknown": it cannot be looked for. */
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
