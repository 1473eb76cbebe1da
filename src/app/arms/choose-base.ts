// Chooses the commit to compare with, and the head's name, from the event and the config alone.
import type { ArmSource } from "../../../generated/result.ts";
import type { Config } from "../../core/config/config.ts";
import type { PushEvent, RunEvent } from "../../host/formats/github/event.ts";

export type BaseRecipe =
	/** The commit where the head left a branch, or the first parent if the head is a merge of `merged`. */
	| { how: "merge-base"; branch: string; tip?: string; merged?: string; number?: number }
	/** @property otherwise used if the commit is gone, or is not an ancestor of the head. */
	| { how: "commit"; commit: string; found: string; mustBeAncestor: boolean; otherwise?: BranchPoint }
	| BranchPoint
	| { how: "previous-tag"; tag: string }
	| { how: "last-release" }
	| { how: "ref"; ref: string }
	| { how: "none"; why: string }
	| { how: "unknown"; why: string };

/** The commit where a pushed branch left the default branch, else the commit before the head. */
export interface BranchPoint {
	how: "branch-point";
	branch: string;
	defaultBranch?: string;
	/** Why it is not the commit before the push. */
	because: string;
}

type ReviewEvent = Exclude<RunEvent, { kind: "tag" } | { kind: "schedule" | "dispatch" }>;

/** Whether a change is under review, so that its target branch decides how it is compared. */
export function isReview(event: RunEvent | undefined): event is ReviewEvent {
	return (
		event !== undefined && event.kind !== "schedule" && event.kind !== "dispatch" && event.kind !== "tag"
	);
}

export function usesHeadsFiles(
	event: RunEvent | undefined,
	{ base, baseline }: Pick<Config, "base" | "baseline">,
): boolean {
	return base !== undefined && baseline.from === "base-ref" && !isReview(event) && event?.kind !== "tag";
}

/** @param event undefined on a terminal. */
export function chooseBase(event: RunEvent | undefined, baseline: Config["baseline"]): BaseRecipe {
	switch (baseline.from) {
		case "pinned":
			// `pinned` without a ref is refused earlier.
			return { how: "ref", ref: baseline.ref ?? "" };
		case "tag":
			return event?.kind === "tag" ? { how: "previous-tag", tag: event.tag } : { how: "last-release" };
		case "pin":
			return { how: "last-release" };
		case "base-ref":
			return event === undefined ? { how: "none", why: "no base was given" } : chooseByEvent(event);
	}
}

export function chooseByEvent(event: RunEvent): BaseRecipe {
	switch (event.kind) {
		case "pull-request":
			return {
				how: "merge-base",
				branch: event.baseRef,
				tip: event.baseSha,
				merged: event.headSha,
				number: event.number,
			};
		case "push":
			return chooseByPush(event);
		case "tag":
			return { how: "previous-tag", tag: event.tag };
		case "merge-group": {
			const found = `what the merge queue adds the change to, on ${event.baseRef}`;
			return { how: "commit", commit: event.baseSha, found, mustBeAncestor: false };
		}
		case "schedule":
		case "dispatch":
		case "workflow-run":
			return { how: "last-release" };
		case "other":
			if (!namesItsBase.test(event.name)) return { how: "last-release" };
			return {
				how: "unknown",
				why: `the payload of the ${event.name} event could not be read, so its base is not known`,
			};
	}
}

/** If the payload of these events cannot be read, any other base would be wrong. */
const namesItsBase = /^(pull_request|push|merge_group|release)/;

function chooseByPush({ ref, before, isForced, defaultBranch }: PushEvent): BaseRecipe {
	const point = (because: string): BranchPoint => ({
		how: "branch-point",
		branch: ref,
		because,
		defaultBranch,
	});
	if (before === null) return point(`${ref} is new`);
	const otherwise = point(isForced ? `${ref} was rewritten` : `what ${ref} was before this push is gone`);
	return {
		how: "commit",
		commit: before,
		found: `${ref} before this push`,
		mustBeAncestor: isForced,
		otherwise,
	};
}

export function nameHead(event: RunEvent, commit: string): Pick<ArmSource, "label" | "ref"> {
	const named = (ref: string) => (ref === "" ? { label: commit.slice(0, 7) } : { label: ref, ref });
	switch (event.kind) {
		case "pull-request": {
			const label = `#${event.number}`;
			if (commit === event.mergeSha) return { label, ref: `refs/pull/${event.number}/merge` };
			return commit === event.headSha ? { label, ref: `refs/pull/${event.number}/head` } : { label };
		}
		case "tag":
			return named(event.tag);
		case "merge-group":
			return { label: `merge queue of ${event.baseRef}` };
		case "push":
		case "schedule":
		case "dispatch":
			return named(event.ref);
		case "workflow-run":
		case "other":
			return named("");
	}
}
