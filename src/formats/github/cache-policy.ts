// Who may write what later runs will trust: never a run that a stranger can cause or change.
import type { RunEvent } from "./event.ts";

/** Events that run in the context of the default branch on somebody else's word. */
const untrustedEvents: ReadonlySet<string> = new Set([
	"pull_request_target",
	"workflow_run",
	"issue_comment",
	"issues",
	"discussion",
	"discussion_comment",
	"fork",
	"watch",
]);

/** Why this run may not write to the cache; null where it may. */
export function cacheWriteRefusal(event: RunEvent, given: { eventName: string; cacheMode?: string | undefined }): string | null {
	if (event.kind === "pull-request" && event.isFork) return "the change comes from a fork";
	if (untrustedEvents.has(given.eventName) || event.kind === "workflow-run") return `a run for ${given.eventName} may be caused by anyone`;
	if (event.kind === "other") return "the event of this run is not known";
	if (given.cacheMode === "read" || given.cacheMode === "none") return "the token of this run may not write to the cache";
	return null;
}

/** Whether what this run leaves on the machine must stay apart from what other runs trust. */
export function isUntrustedRun(event: RunEvent, eventName: string): boolean {
	return (event.kind === "pull-request" && event.isFork) || untrustedEvents.has(eventName) || event.kind === "workflow-run";
}
