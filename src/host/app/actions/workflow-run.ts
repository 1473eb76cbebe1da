// What all actions share: the run, its event, and errors without a result.
import { error as annotateError, setSecret } from "@actions/core";
import type { WorkflowJob } from "../../../../generated/result.ts";
import type { GitAccess } from "../../../adapters/git/run-git.ts";
import { readInputText } from "../../../adapters/process/input-file.ts";
import { describeRecord, explainError } from "../../../app/exit.ts";
import { usageError } from "../../../core/errors.ts";
import { inputKinds } from "../../../core/input-kind.ts";
import type { Host, WorkflowRun } from "../../../ports/code-host.ts";
import { giteaHost } from "../../adapters/gitea/code-host.ts";
import { githubArtifacts, githubCache, githubRunArtifacts } from "../../adapters/github/artifacts.ts";
import { githubCodeHost, githubRunFacts } from "../../adapters/github/code-host.ts";
import { type Environment, forgetEventFile, gitAccess, readWorkflowRun } from "../../adapters/github/env.ts";
import { log } from "../../adapters/github/log.ts";
import { githubRepository } from "../../adapters/github/repository.ts";
import { usualPace } from "../../adapters/github/request.ts";
import { parseRunEvent, type RunEvent } from "../../formats/github/event.ts";

const maxPayloadBytes = 32 * 1024 * 1024;

/** `other` if the payload cannot be read; absent outside of GitHub Actions. */
export async function readRunEvent(environment: Environment): Promise<RunEvent | undefined> {
	const { isActions, eventName, eventPath = "", sha = "", ref = "" } = environment;
	if (!isActions || eventName === undefined) return undefined;
	const kind = { ...inputKinds.argument, maxBytes: maxPayloadBytes };
	let payload: unknown = null;
	try {
		payload = JSON.parse(await readInputText(eventPath, kind));
	} catch {}
	if (payload === null) forgetEventFile();
	return parseRunEvent(eventName, payload, { sha, ref });
}

interface KnownRun {
	run: WorkflowRun;
	event: RunEvent;
	host: Host;
}

/** null outside a workflow. */
export async function readRun(environment: Environment, token: string): Promise<KnownRun | null> {
	const run = readWorkflowRun();
	const event = await readRunEvent(environment);
	if (run === null || event === undefined) return null;
	return { run, event, host: openHost(run, token, environment.temp) };
}

function openHost(run: WorkflowRun, token: string, temp: string | undefined): Host {
	const access = { ...run, token, host: run.isGitea ? "Gitea" : "GitHub" };
	const options = (patienceMs = usualPace.patienceMs) => ({ ...access, pace: { ...usualPace, patienceMs } });
	const host: Host = {
		codeHost: (patienceMs) => (token === "" ? null : githubCodeHost(options(patienceMs))),
		repository: () => githubRepository(access),
		runFacts: () => githubRunFacts(access),
		artifacts: (retentionDays) => githubArtifacts({ run, temp, retentionDays }),
		runArtifacts: (runId) => githubRunArtifacts(run, runId === undefined ? undefined : { runId, token }),
		cache: () => githubCache(run.services.cache),
	};
	return run.isGitea ? giteaHost(host, options, token) : host;
}

/** @throws ConfigError usage outside of a workflow. */
export async function requireRun(
	environment: Environment,
	token: string,
	otherwise: string,
): Promise<KnownRun> {
	const known = await readRun(environment, token);
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
