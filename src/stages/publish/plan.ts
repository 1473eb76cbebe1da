// What is shown where and what came of it, and how something is created exactly once.
import type { AlarmSource } from "../../core/report/alarm-issue.ts";
import type { Shown } from "../../core/report/markdown.ts";
import type { ApiFault, ApiResult, CodeHost } from "../../ports/code-host.ts";

/** one: created once, then updated. changes: as one, but not for the first time when all pass. fresh: a new one each run, older ones minimised. */
export type CommentMode = "one" | "changes" | "fresh" | "never";

export interface PublishPlan {
	/** Of the config and the job's name: one comment, check run and issue each. */
	id: string;
	/** What the check run and the status are called. */
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

/** Creates something that a lost request may have created already: it is looked for first, and nothing is created where it cannot be. */
export async function createOnce<Thing extends object>(
	{ pause }: Pick<CodeHost, "pause">,
	create: () => Promise<ApiResult<{ thing: Thing }>>,
	find: () => Promise<ApiResult<{ thing: Thing | null }>>,
): Promise<ApiResult<{ thing: Thing }>> {
	for (let tries = 1; ; tries += 1) {
		const created = await create();
		if (created.state === "done" || !created.fault.unclear || !(await pause(tries))) return created;
		const found = await find();
		if (found.state === "failed") return created;
		if (found.thing !== null) return { state: "done", thing: found.thing };
	}
}
