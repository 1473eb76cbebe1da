// Publishes a run's result: artifacts first, so that the others can link to them. Never changes the
// outcome.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../../../../generated/result.ts";
import { type OutRoots, outNames, refuseLinks } from "../../../app/out-folder.ts";
import { ConfigError } from "../../../core/errors.ts";
import { markerId } from "../../../core/report/comment.ts";
import type { ReportLinks } from "../../../core/report/markdown.ts";
import type { ArtifactDraft, ArtifactStore, CodeHost, Host, WorkflowRun } from "../../../ports/code-host.ts";
import { reportFiles } from "../../../stages/report.ts";
import type { PublishInputs } from "../../adapters/github/inputs.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import { artifactName } from "../../formats/github/names.ts";
import { publishAlarm } from "../../stages/publish/alarm.ts";
import {
	concludeUnmeasured,
	openCheckRun,
	type Published,
	type PublishedThing,
	type PublishPlan,
	publishCheckRun,
} from "../../stages/publish/check-run.ts";
import { markOutdated, publishComment } from "../../stages/publish/comment.ts";

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

export function planPublish(
	configPath: string,
	{ run, event, inputs }: Omit<PublishContext, "host">,
): { plan: PublishPlan; skipped: Published[] } {
	const { name, issue, comment, checkRun } = inputs;
	const pull = event.kind === "pull-request" ? event : null;
	// The token of these events can write even for a fork's change.
	const readOnly = pull?.isFork === true && !["pull_request_target", "issue_comment"].includes(run.eventName);
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
function shaOf(event: RunEvent, run: WorkflowRun) {
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

interface Upload {
	outFolder: string;
	roots: OutRoots;
	configPath: string;
	inputs: Pick<PublishInputs, "artifact" | "artifactEngines" | "name">;
	run: Pick<WorkflowRun, "job">;
}

const separate: ReadonlySet<string> = new Set(["engines", "cache", "scratch", "worktrees", "nsys"]);
const maxFiles = 20_000;

export async function uploadFolder(
	upload: Upload,
	store: ArtifactStore,
): Promise<{ published: Published[]; links: ReportLinks }> {
	const published: Published[] = [];
	const links: ReportLinks = {};
	const { outFolder, roots, inputs } = upload;
	if (inputs.artifact === "none") return { published, links };
	try {
		await refuseLinks(outFolder, roots);
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return { published: [{ what: "artifact", state: "skipped", why: error.message }], links };
	}
	for (const { what, link, draft } of await draftsOf(upload)) {
		// Drops the deepest first: result and reports are at the top.
		const depth = (path: string) => path.split("/").length;
		const files = draft.files.toSorted((a, b) => depth(a) - depth(b)).slice(0, maxFiles);
		const leftOut = draft.files.length - files.length;
		const sent = await store.upload({ ...draft, files });
		if (sent.state === "failed") {
			published.push({ what, ...sent });
			if (sent.fault.code !== "github-rejected") break;
			continue;
		}
		const { url } = sent.artifact;
		const note = `${leftOut} of its files were left out, as at most ${maxFiles} are uploaded.`;
		published.push({ what, state: "done", url, note: leftOut === 0 ? undefined : note });
		if (link !== null) links[link] = url;
	}
	return { published, links };
}

async function draftsOf({ outFolder, configPath, inputs, run }: Upload) {
	const named = (prefix: string) => artifactName(prefix, { config: configPath, job: inputs.name || run.job });
	const names = outNames.filter((name) => !separate.has(name));
	const files = (await Promise.all(names.map((name) => filesBelow(join(outFolder, name))))).flat();
	const page = files.filter((path) => path === join(outFolder, reportFiles.html));
	const drafted = (
		what: PublishedThing,
		link: keyof ReportLinks | null,
		draft: Omit<ArtifactDraft, "root">,
		folder = "",
	) => ({ what, link, draft: { root: join(outFolder, folder), ...draft } });
	const nsys = await filesBelow(join(outFolder, "nsys"));
	const engines = inputs.artifactEngines ? await filesBelow(join(outFolder, "engines")) : [];
	const drafts = [
		drafted("artifact", "artifact", { name: named(inputs.artifact), files, compression: 6 }),
		drafted("report page", "report", {
			name: `${named("report")}.html`,
			files: page,
			compression: 0,
			asIs: true,
		}),
		drafted("profiles", "profiles", { name: named("nsys"), files: nsys, compression: 1 }, "nsys"),
		drafted("artifact", null, { name: named("engines"), files: engines, compression: 0 }, "engines"),
	];
	return drafts.filter(({ draft }) => draft.files.length > 0);
}

/** A link could lead out of the folder; hidden files are temporary. */
async function filesBelow(path: string) {
	const found = await lstat(path).catch(() => null);
	if (found === null || path.split("/").at(-1)?.startsWith(".")) return [];
	if (found.isFile()) return [path];
	if (!found.isDirectory()) return [];
	const files: string[] = [];
	for (const name of (await readdir(path)).sort())
		for (const file of await filesBelow(join(path, name))) files.push(file);
	return files;
}
