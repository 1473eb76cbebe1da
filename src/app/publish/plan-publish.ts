// Decides from inputs and event what is shown where.
import type { WorkflowRun } from "../../adapters/github/env.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import { markerId } from "../../core/report/marker.ts";
import type { Result } from "../../core/schema/result.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import type { CommentMode, Published, PublishPlan } from "../../stages/publish/plan.ts";

/** The part of a run that publishing needs; another program than the action may have made the result. */
export interface PublishContext {
	run: WorkflowRun;
	event: RunEvent;
	inputs: PublishInputs;
}

export interface Planned {
	plan: PublishPlan;
	/** What is left out on purpose. */
	skipped: Published[];
}

const forkLabels = "the token of a fork's pull request only reads; publish from a second workflow on workflow_run";

/** @param result may be of another job: only its config and outcome are used. */
export function planPublish(result: Result, { run, event, inputs }: PublishContext): Planned {
	const { name } = inputs;
	const pullRequest = event.kind === "pull-request" ? event.number : null;
	// pull_request_target lends a token that writes also where the change is a fork's.
	const readOnly = event.kind === "pull-request" && event.isFork && run.eventName !== "pull_request_target";
	const silenced = readOnly && inputs.comment !== "never";
	const comment: CommentMode = pullRequest === null || silenced ? "never" : inputs.comment;
	const isAlarmed = inputs.issue === "auto" ? event.kind === "schedule" : inputs.issue === "true";
	const plan: PublishPlan = {
		id: markerId(result.config.path, name),
		checkName: name === "" ? "trtgate" : `trtgate (${name})`,
		shown: {
			links: { run: runUrl(run) },
			...labelOf(result, name),
			...(event.kind === "pull-request" ? { change: event.headSha } : {}),
		},
		run: { id: run.runId, attempt: run.runAttempt },
		sha: shaOf(event, run),
		pullRequest,
		comment,
		checkRun: inputs.checkRun && !readOnly,
		alarm: isAlarmed,
	};
	const skipped: Published[] = [
		...(silenced ? [{ what: "comment", state: "skipped", why: forkLabels } as const] : []),
		...(readOnly && inputs.checkRun ? [{ what: "check run", state: "skipped", why: forkLabels } as const] : []),
	];
	return { plan, skipped };
}

function labelOf(result: Result, name: string): { label?: string } {
	const config = result.config.path === "trtgate.yml" ? "" : result.config.path;
	const label = [name, config].filter((part) => part !== "").join(" · ");
	return label === "" ? {} : { label };
}

export function runUrl({ serverUrl, repository, runId }: Pick<WorkflowRun, "serverUrl" | "repository" | "runId">): string {
	return `${serverUrl}/${repository}/actions/runs/${runId}`;
}

/** The change's own commit: a check run on the merge that GitHub tests would be seen by nobody. */
function shaOf(event: RunEvent, run: WorkflowRun): string {
	switch (event.kind) {
		case "pull-request":
		case "merge-group":
		case "workflow-run":
			return event.headSha;
		case "push":
			return event.after;
		default:
			return event.sha || run.sha;
	}
}
