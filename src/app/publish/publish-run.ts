// Publishes the result of a run: artifacts first, so that everything after them can link to them. Never changes the outcome.

import type { Result } from "../../../generated/result.ts";
import { githubArtifacts } from "../../adapters/github/artifacts.ts";
import { githubCodeHost } from "../../adapters/github/code-host.ts";
import type { WorkflowRun } from "../../adapters/github/env.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import type { Pace } from "../../adapters/github/request.ts";
import { markerId } from "../../core/report/comment.ts";
import type { ReportLinks } from "../../core/report/markdown.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import type { ArtifactStore, CodeHost } from "../../ports/code-host.ts";
import { publishAlarm } from "../../stages/publish/alarm.ts";
import { publishCheckRun } from "../../stages/publish/check-run.ts";
import { publishComment } from "../../stages/publish/comment.ts";
import type { CommentMode, Published, PublishPlan } from "../../stages/publish/plan.ts";
import { type Upload, type Uploaded, uploadFolder } from "./upload.ts";

interface Publisher {
	codeHost: CodeHost | null;
	artifacts: ArtifactStore;
}

export interface PublishedRun {
	published: Published[];
	links: ReportLinks;
	/** Commit of the pull request. */
	change?: string;
}

/** null without a token. */
export function codeHostOf(
	{ run, inputs: { token } }: Pick<PublishContext, "run" | "inputs">,
	pace?: Pace,
): CodeHost | null {
	const { repository, apiUrl, graphQlUrl } = run;
	return token === "" ? null : githubCodeHost({ token, repository, apiUrl, graphQlUrl, pace });
}

/** The real GitHub; without a token nothing can be shown but artifacts, which have the runner's own. */
export function githubPublisher(
	run: WorkflowRun,
	inputs: PublishInputs,
	temp: string | undefined,
): Publisher {
	return {
		codeHost: codeHostOf({ run, inputs }),
		artifacts: githubArtifacts({ run, temp, retentionDays: inputs.retentionDays }),
	};
}

export async function publishRun(
	result: Result,
	context: PublishContext & Pick<Upload, "outFolder" | "roots">,
	publisher: Publisher,
): Promise<PublishedRun> {
	const { run, inputs, outFolder, roots } = context;
	const uploaded: Uploaded = await uploadFolder(
		{ outFolder, roots, configPath: result.config.path, inputs, run },
		publisher.artifacts,
	);
	const { plan, skipped } = planPublish(result.config.path, context);
	const links = { ...plan.shown.links, ...uploaded.links };
	const shown = await show(result, { ...plan, shown: { ...plan.shown, links } }, publisher.codeHost);
	const { change } = plan.shown;
	return { published: [...uploaded.published, ...shown, ...skipped], links, change };
}

async function show(
	result: Result,
	plan: Parameters<typeof publish>[1],
	codeHost: CodeHost | null,
): Promise<Published[]> {
	if (plan.comment === "never" && !plan.checkRun && plan.alarm === null) return [];
	if (codeHost !== null) return publish(result, plan, codeHost);
	const why = "there is no token; leave the input token at its default";
	return [{ what: plan.comment === "never" ? "check run" : "comment", state: "skipped", why }];
}

/** The part of a run that publishing needs; another program than the action may have made the result. */
export interface PublishContext {
	run: WorkflowRun;
	event: RunEvent;
	inputs: PublishInputs;
}

interface Planned {
	plan: PublishPlan;
	/** What is not published on purpose. */
	skipped: Published[];
}

const forkReason =
	"the token of a fork's pull request only reads; publish from a second workflow on workflow_run";

/** @param configPath as the result names it. */
export function planPublish(configPath: string, { run, event, inputs }: PublishContext): Planned {
	const { name } = inputs;
	const pullRequest = event.kind === "pull-request" ? event.number : null;
	// The token of pull_request_target can write even for a fork's change.
	const readOnly = event.kind === "pull-request" && event.isFork && run.eventName !== "pull_request_target";
	const silenced = readOnly && inputs.comment !== "never";
	const comment: CommentMode = pullRequest === null || silenced ? "never" : inputs.comment;
	const isAlarmed = inputs.issue === "auto" ? event.kind === "schedule" : inputs.issue === "true";
	const plan: PublishPlan = {
		id: markerId(configPath, name),
		checkName: name === "" ? "trtgate" : `trtgate (${name})`,
		shown: {
			links: { run: runUrl(run) },
			...labelOf(configPath, name),
			...(event.kind === "pull-request" ? { change: event.headSha } : {}),
		},
		run: { id: run.runId, attempt: run.runAttempt },
		sha: shaOf(event, run),
		pullRequest,
		comment,
		checkRun: inputs.checkRun && !readOnly,
		alarm: isAlarmed ? { event: run.eventName, ref: run.ref, workflow: run.workflow } : null,
	};
	const skipped: Published[] = [
		...(silenced ? [{ what: "comment", state: "skipped", why: forkReason } as const] : []),
		...(readOnly && inputs.checkRun
			? [{ what: "check run", state: "skipped", why: forkReason } as const]
			: []),
	];
	return { plan, skipped };
}

function labelOf(configPath: string, name: string): { label?: string } {
	const config = configPath === "trtgate.yml" ? "" : configPath;
	const label = [name, config].filter((part) => part !== "").join(" · ");
	return label === "" ? {} : { label };
}

export function runUrl({
	serverUrl,
	repository,
	runId,
}: Pick<WorkflowRun, "serverUrl" | "repository" | "runId">): string {
	return `${serverUrl}/${repository}/actions/runs/${runId}`;
}

/** The change's own commit: a check run on GitHub's test merge would not be visible. */
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

/** Shows a result where people look: comment, check run, alarm. Nothing here throws or judges. */
export async function publish(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published[]> {
	return [
		...(plan.comment === "never" ? [] : [await publishComment(result, plan, codeHost)]),
		...(plan.checkRun ? await publishCheckRun(result, plan, codeHost) : []),
		...(plan.alarm === null ? [] : [await publishAlarm(result, { ...plan, alarm: plan.alarm }, codeHost)]),
	];
}
