// Publishes the result of a run: artifacts first, so that everything after them can link to them. Never changes the outcome.
import { githubArtifacts } from "../../adapters/github/artifacts.ts";
import { githubCodeHost } from "../../adapters/github/code-host.ts";
import type { WorkflowRun } from "../../adapters/github/env.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import type { ReportLinks } from "../../core/report/links.ts";
import type { Result } from "../../core/schema/result.ts";
import type { ArtifactStore, CodeHost } from "../../ports/code-host.ts";
import type { Published } from "../../stages/publish/plan.ts";
import { publish } from "../../stages/publish.ts";
import { type PublishContext, planPublish } from "./plan-publish.ts";
import { type Uploaded, uploadFolder } from "./upload.ts";

export interface Publisher {
	codeHost: CodeHost | null;
	artifacts: ArtifactStore;
}

export interface PublishedRun {
	published: Published[];
	links: ReportLinks;
	/** Commit of the pull request. */
	change?: string;
}

/** The real GitHub; without a token nothing can be shown but artifacts, which have the runner's own. */
export function githubPublisher(run: WorkflowRun, inputs: PublishInputs, temp: string | undefined): Publisher {
	const { repository, apiUrl, graphQlUrl } = run;
	return {
		codeHost: inputs.token === "" ? null : githubCodeHost({ token: inputs.token, repository, apiUrl, graphQlUrl }),
		artifacts: githubArtifacts({
			run,
			...(temp === undefined ? {} : { temp }),
			...(inputs.retentionDays === undefined ? {} : { retentionDays: inputs.retentionDays }),
		}),
	};
}

export async function publishRun(
	result: Result,
	context: PublishContext & { outFolder: string },
	publisher: Publisher,
): Promise<PublishedRun> {
	const { run, inputs, outFolder } = context;
	const uploaded: Uploaded = await uploadFolder({ outFolder, configPath: result.config.path, inputs, run }, publisher.artifacts);
	const { plan, skipped } = planPublish(result, context);
	const links = { ...plan.shown.links, ...uploaded.links };
	const shown = await show(result, { ...plan, shown: { ...plan.shown, links } }, publisher.codeHost);
	const { change } = plan.shown;
	return { published: [...uploaded.published, ...shown, ...skipped], links, ...(change === undefined ? {} : { change }) };
}

async function show(result: Result, plan: Parameters<typeof publish>[1], codeHost: CodeHost | null): Promise<Published[]> {
	if (plan.comment === "never" && !plan.checkRun && !plan.alarm) return [];
	if (codeHost !== null) return publish(result, plan, codeHost);
	const why = "there is no token; leave the input token at its default";
	return [{ what: plan.comment === "never" ? "check run" : "comment", state: "skipped", why }];
}
