// What all actions share: the run, its event, and errors without a result.
import { isAbsolute, normalize } from "node:path";
import { error as annotateError, setSecret } from "@actions/core";
import type { WorkflowJob } from "../../../../generated/result.ts";
import type { GitAccess } from "../../../adapters/git/run-git.ts";
import { readInputText } from "../../../adapters/process/input-file.ts";
import { describeRecord, explainError } from "../../../app/exit.ts";
import { ToolError, usageError } from "../../../core/errors.ts";
import { inputKinds } from "../../../core/input-kind.ts";
import type { Host, WorkflowRun } from "../../../ports/code-host.ts";
import { folderArtifacts, folderRunArtifacts } from "../../adapters/folder/artifacts.ts";
import { giteaHost } from "../../adapters/gitea/code-host.ts";
import { githubArtifacts, githubCache, githubRunArtifacts } from "../../adapters/github/artifacts.ts";
import { githubCodeHost, githubRunFacts } from "../../adapters/github/code-host.ts";
import { type Environment, forgetEventFile, gitAccess, readWorkflowRun } from "../../adapters/github/env.ts";
import { log } from "../../adapters/github/log.ts";
import { githubRepository } from "../../adapters/github/repository.ts";
import { usualPace } from "../../adapters/github/request.ts";
import {
	type PullRequestEvent,
	parseRequest,
	parseRunEvent,
	type RunEvent,
} from "../../formats/github/event.ts";

const maxPayloadBytes = 32 * 1024 * 1024;

/** `other` if the payload cannot be read; absent outside of GitHub Actions. */
export async function readRunEvent(environment: Environment): Promise<RunEvent | undefined> {
	const { isActions, eventName, sha = "", ref = "" } = environment;
	if (!isActions || eventName === undefined) return undefined;
	return parseRunEvent(eventName, await readPayload(environment), { sha, ref });
}

async function readPayload({ eventPath = "" }: Environment) {
	const kind = { ...inputKinds.argument, maxBytes: maxPayloadBytes };
	let payload: unknown = null;
	try {
		payload = JSON.parse(await readInputText(eventPath, kind));
	} catch {}
	if (payload === null) forgetEventFile();
	return payload;
}

interface KnownRun {
	run: WorkflowRun;
	event: RunEvent;
	host: Host;
}

interface Access {
	token: string;
	parts?: string;
}

/** null outside a workflow. @throws ConfigError usage; ToolError if a comment's pull request is unknown. */
export async function readRun(environment: Environment, given: Access): Promise<KnownRun | null> {
	const run = readWorkflowRun();
	const event = await readRunEvent(environment);
	if (run === null || event === undefined) return null;
	const host = openHost(run, given, environment);
	if (run.eventName !== "issue_comment") return { run, event, host };
	return { run, event: await requestedPull(await readPayload(environment), host), host };
}

/** Also the report takes the commit from the event, never from another job. */
async function requestedPull(payload: unknown, host: Host): Promise<PullRequestEvent> {
	const asked = parseRequest(payload);
	if (asked.state === "refused")
		throw usageError(
			`This comment starts no gate: ${asked.why}.`,
			"A member writes a comment on a pull request that begins with `/gate COMMIT`, with the full hash of the commit that they reviewed.",
		);
	const { number, commit } = asked;
	const answer = await host.runFacts().pull(number);
	if (answer.state === "done")
		return { ...answer.pull, kind: "pull-request", number, headSha: commit, newestSha: answer.pull.headSha };
	const { message, fix } = answer.fault;
	throw new ToolError({
		code: "system-error",
		message: `The pull request of the comment is not known: ${message}`,
		fix,
	});
}

function openHost(run: WorkflowRun, { token, parts = "" }: Access, { temp, workspace }: Environment) {
	const shared = sharedFolder(parts, workspace);
	const access = { ...run, token, host: run.isGitea ? "Gitea" : "GitHub" };
	const options = (patienceMs = usualPace.patienceMs) => ({ ...access, pace: { ...usualPace, patienceMs } });
	const host: Host = {
		codeHost: (patienceMs) => (token === "" ? null : githubCodeHost(options(patienceMs))),
		repository: () => githubRepository(access),
		runFacts: () => githubRunFacts(access),
		artifacts: (retentionDays) =>
			shared === null ? githubArtifacts({ run, temp, retentionDays }) : folderArtifacts(shared, run),
		// Another run's jobs are not to be trusted with this run's folder.
		runArtifacts: (runId) =>
			shared === null || runId !== undefined
				? githubRunArtifacts(run, runId === undefined ? undefined : { runId, token })
				: folderRunArtifacts(shared, run),
		cache: () => githubCache(run.services.cache),
	};
	return run.isGitea ? giteaHost(host, options, token) : host;
}

/** null: artifacts. @throws ConfigError usage. */
function sharedFolder(parts: string, workspace = "") {
	if (parts === "") return null;
	if (isAbsolute(parts) && !`${normalize(parts)}/`.startsWith(`${workspace}/`)) return parts;
	throw usageError(
		`The input parts is ${JSON.stringify(parts.slice(0, 200))}; expected an absolute path outside the workspace.`,
		"Name the folder where storage is mounted that all runners of this workflow share, such as /mnt/trtgate.",
	);
}

/** @throws ConfigError usage outside of a workflow. */
export async function requireRun(
	environment: Environment,
	given: Access,
	otherwise: string,
): Promise<KnownRun> {
	const known = await readRun(environment, given);
	if (known !== null) return known;
	throw usageError(
		"This action runs in a workflow of GitHub Actions only.",
		`On your machine, ${otherwise}.`,
	);
}

export function workflowJob({ runId, runAttempt, job, runner }: WorkflowRun, part = ""): WorkflowJob {
	return { id: runId, attempt: runAttempt, job, part: part || undefined, runner: runner || undefined };
}

/** The runner masks the token, but git gets a value derived from it. */
export function accessOf({ token }: { token: string }): { access?: GitAccess } {
	if (token === "") return {};
	const access = gitAccess(token);
	setSecret(access.header.slice(access.header.lastIndexOf(" ") + 1));
	return { access };
}

export function reportError(fault: unknown): number {
	const { exit, records, text } = explainError(fault);
	log(text);
	for (const record of records) {
		const { code, location } = record;
		const place = location && {
			file: location.path,
			startLine: location.line ?? 1,
			startColumn: location.column ?? 1,
		};
		annotateError(describeRecord(record), { title: `trtgate: ${code}`, ...place });
	}
	return exit;
}
