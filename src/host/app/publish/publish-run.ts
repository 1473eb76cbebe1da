// Publishes a run's result: artifacts first, so that the others can link to them. Never changes the
// outcome.
import type { Result } from "../../../../generated/result.ts";
import { markerId } from "../../../core/report/comment.ts";
import type { ReportLinks } from "../../../core/report/markdown.ts";
import type { CodeHost, Host, WorkflowRun } from "../../../ports/code-host.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import { publishAlarm } from "../../stages/publish/alarm.ts";
import { concludeUnmeasured, openCheckRun, publishCheckRun } from "../../stages/publish/check-run.ts";
import { markOutdated, publishComment } from "../../stages/publish/comment.ts";
import type { Published, PublishPlan } from "../../stages/publish/plan.ts";
import { type Upload, uploadFolder } from "./upload.ts";

export interface PublishContext {
	run: WorkflowRun;
	event: RunEvent;
	inputs: PublishInputs;
	host: Host;
}

export interface PublishedRun {
	published: Published[];
	links: ReportLinks;
	change?: string;
}

export async function publishRun(
	result: Result,
	context: PublishContext & Pick<Upload, "outFolder" | "roots">,
	patienceMs?: number,
): Promise<PublishedRun> {
	const { host, inputs } = context;
	const configPath = result.config.path;
	const upload = { ...context, configPath };
	const uploaded = await uploadFolder(upload, host.artifacts(inputs.retentionDays));
	const { plan, skipped } = planPublish(configPath, context);
	const { change } = plan.shown;
	const links = { ...plan.shown.links, ...uploaded.links };
	const codeHost = host.codeHost(patienceMs);
	const isShown = plan.comment !== "never" || plan.checkRun || plan.alarm !== null;
	const published = [...uploaded.published, ...skipped];
	if (codeHost !== null)
		published.push(...(await publish(result, { ...plan, shown: { ...plan.shown, links } }, codeHost)));
	else if (isShown) {
		const why = "there is no token; leave the input token at its default";
		published.push({ what: plan.comment === "never" ? "check run" : "comment", state: "skipped", why });
	}
	return { published, links, change };
}

const forkReason =
	"the token of a fork's pull request only reads; publish from a second workflow on workflow_run";

/** @param configPath as in the result. */
export function planPublish(
	configPath: string,
	{ run, event, inputs }: Omit<PublishContext, "host">,
): { plan: PublishPlan; skipped: Published[] } {
	const { name, issue, comment, checkRun } = inputs;
	const pull = event.kind === "pull-request" ? event : null;
	// The token of pull_request_target can write even for a fork's change.
	const readOnly = pull?.isFork === true && run.eventName !== "pull_request_target";
	const isAlarmed = issue === "auto" ? event.kind === "schedule" : issue === "true";
	const label = [name, configPath === "trtgate.yml" ? "" : configPath].filter((part) => part !== "");
	const plan: PublishPlan = {
		id: markerId(configPath, name),
		checkName: name === "" ? "trtgate" : `trtgate (${name})`,
		shown: {
			links: { run: runUrl(run) },
			label: label.length === 0 ? undefined : label.join(" · "),
			change: pull?.headSha,
		},
		run: { id: run.runId, attempt: run.runAttempt },
		sha: shaOf(event, run),
		pullRequest: pull?.number ?? null,
		comment: pull === null || readOnly ? "never" : comment,
		checkRun: checkRun && !readOnly,
		alarm: isAlarmed ? { event: run.eventName, ref: run.ref, workflow: run.workflow } : null,
	};
	const denied = [
		...(comment === "never" ? [] : (["comment"] as const)),
		...(checkRun ? (["check run"] as const) : []),
	];
	const skipped = denied.map((what): Published => ({ what, state: "skipped", why: forkReason }));
	return { plan, skipped: readOnly ? skipped : [] };
}

export function runUrl(run: Pick<WorkflowRun, "serverUrl" | "repository" | "runId">): string {
	return `${run.serverUrl}/${run.repository}/actions/runs/${run.runId}`;
}

/** A check run on the test merge would not be visible. */
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

/** Never throws. */
export async function publish(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published[]> {
	return [
		...(plan.comment === "never" ? [] : [await publishComment(result, plan, codeHost)]),
		...(plan.checkRun ? [await publishCheckRun(result, plan, codeHost)] : []),
		...(plan.alarm === null ? [] : [await publishAlarm(result, { ...plan, alarm: plan.alarm }, codeHost)]),
	];
}

const shortPatienceMs = 15_000;

export async function announce(title: string, configPath: string, context: PublishContext): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost(shortPatienceMs);
	if (codeHost === null) return;
	await Promise.all([openCheckRun(title, plan, codeHost), markOutdated("measuring", plan, codeHost)]);
}

export async function takeBack(configPath: string, context: PublishContext, why: string): Promise<void> {
	const { plan } = planPublish(configPath, context);
	const codeHost = context.host.codeHost(shortPatienceMs);
	if (codeHost === null) return;
	await concludeUnmeasured(why, plan, codeHost);
	await markOutdated("ended", plan, codeHost);
}
