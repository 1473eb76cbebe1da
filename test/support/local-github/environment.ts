import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { addIssue } from "./issues.ts";
import { at, completePayload, isObject, text } from "./payload.ts";
import type { Access, Permissions, Pull, Run } from "./state.ts";
import type { CacheScope, JobRights, World } from "./world.ts";

export interface Job {
	event: string;
	/** The event's payload; `repository` is added, and a pull request in it becomes known to the service. */
	payload: object;
	workspace: string;
	temp: string;
	sha: string;
	ref: string;
	/** Permissions of the job's token; all write by default, else none unless named. */
	permissions?: Readonly<Record<string, Access>>;
	runId?: number;
	runAttempt?: number;
	isFork?: boolean;
	job?: string;
}

const scopes = ["actions", "checks", "contents", "issues", "pull-requests"];

function permissionsOf(job: Job): Permissions {
	const asked = job.permissions ?? Object.fromEntries(scopes.map((scope) => [scope, "write" as const]));
	// A workflow that a fork caused by pull_request reads at most; workflow_run keeps its rights.
	if (!job.isFork || job.event === "workflow_run") return asked;
	return Object.fromEntries(
		Object.entries(asked).map(([scope, access]) => [scope, access === "write" ? "read" : access]),
	);
}

function baseRefOf(job: Job): string {
	return (
		text(at(job.payload, "pull_request", "base", "ref")) ||
		text(at(job.payload, "merge_group", "base_ref")).replace("refs/heads/", "")
	);
}

/** Own ref first, then what a run may read besides: the base of its pull request and the default branch. */
function cacheScopesOf(world: World, job: Job): CacheScope[] {
	const main = `refs/heads/${world.state.defaultBranch}`;
	const base = baseRefOf(job);
	const own = job.event === "workflow_run" ? main : job.ref;
	const others = [...(base === "" ? [] : [`refs/heads/${base}`]), main].filter((scope) => scope !== own);
	return [
		{ scope: own, canWrite: cacheModeOf(job) === "write" },
		...[...new Set(others)].map((scope) => ({ scope, canWrite: false })),
	];
}

function cacheModeOf(job: Job): "read" | "write" {
	return job.event === "workflow_run" && job.isFork ? "read" : "write";
}

/** An unsigned token as the runner hands it out: clients only read it. */
function runtimeTokenOf(rights: JobRights): string {
	const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
	const ac = JSON.stringify(
		rights.cacheScopes.map(({ scope, canWrite }) => ({ Scope: scope, Permission: canWrite ? 3 : 1 })),
	);
	const claims = {
		scp: `Actions.ExampleScope Actions.Results:${rights.runBackendId}:${rights.jobBackendId}`,
		ac,
		exp: 4_102_444_800,
	};
	return `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}.${randomBytes(16).toString("base64url")}`;
}

function registerPull(world: World, payload: unknown): void {
	const said = at(payload, "pull_request");
	const number = at(said, "number") ?? at(payload, "number");
	if (!isObject(said) || typeof number !== "number") return;
	if (world.state.pulls.some((pull) => pull.number === number)) return;
	addPull(world, {
		number,
		title: text(said["title"], `Change ${number}`),
		author: text(at(said, "user", "login"), "octocat"),
		headRef: text(at(said, "head", "ref"), "change"),
		headSha: text(at(said, "head", "sha")),
		headRepository: text(at(said, "head", "repo", "full_name"), world.repository),
		baseRef: text(at(said, "base", "ref"), world.state.defaultBranch),
		baseSha: text(at(said, "base", "sha")),
		mergeSha: text(said["merge_commit_sha"]) || null,
		isDraft: said["draft"] === true,
	});
}

export type NewPull = Partial<Pull> &
	Pick<Pull, "number" | "headSha"> & {
		title?: string;
		author?: string;
		body?: string | null;
	};

export function addPull(world: World, pull: NewPull): Pull {
	const { title, author, body, ...own } = pull;
	const added: Pull = {
		...{ id: world.nextId(), headRef: "change", headRepository: world.repository },
		...{ baseRef: world.state.defaultBranch, baseSha: "0".repeat(40), mergeSha: null, isDraft: false },
		...own,
	};
	world.state.pulls.push(added);
	addIssue(world, {
		...{ number: pull.number, title: title ?? `Change ${pull.number}`, body: body ?? null },
		...{ author: author ?? "octocat" },
	});
	return added;
}

function registerRun(world: World, run: Omit<Run, "createdAt" | "path" | "name"> & Partial<Run>): void {
	const known = world.state.runs.find((candidate) => candidate.id === run.id);
	if (known) Object.assign(known, { attempt: Math.max(known.attempt, run.attempt) });
	else
		world.state.runs.push({
			path: ".github/workflows/gate.yml",
			name: "gate",
			createdAt: world.now(),
			...run,
		});
}

function registerCause(world: World, payload: unknown): void {
	const said = at(payload, "workflow_run");
	if (!isObject(said) || typeof said["id"] !== "number") return;
	registerRun(world, {
		id: said["id"],
		attempt: typeof said["run_attempt"] === "number" ? said["run_attempt"] : 1,
		event: text(said["event"], "pull_request"),
		headSha: text(said["head_sha"]),
		headBranch: text(said["head_branch"]) || null,
		headRepository: text(at(said, "head_repository", "full_name"), world.repository),
		status: text(said["status"], "completed"),
		conclusion: text(said["conclusion"]) || null,
	});
}

function createRights(world: World, job: Job): JobRights {
	const runId = job.runId ?? 7_000_000_000 + world.nextId();
	const rights = {
		runId,
		attempt: job.runAttempt ?? 1,
		runBackendId: `run-${runId}`,
		jobBackendId: randomUUID(),
		cacheScopes: cacheScopesOf(world, job),
	};
	const headSha = text(at(job.payload, "pull_request", "head", "sha"), job.sha);
	registerRun(world, {
		id: runId,
		attempt: rights.attempt,
		event: job.event,
		headSha,
		headBranch: text(
			at(job.payload, "pull_request", "head", "ref"),
			job.ref.replace(/^refs\/(heads|tags)\//, ""),
		),
		headRepository: text(at(job.payload, "pull_request", "head", "repo", "full_name"), world.repository),
		status: "in_progress",
		conclusion: null,
	});
	return rights;
}

function githubVariables(world: World, job: Job, rights: JobRights): Record<string, string> {
	const actor = "octocat";
	const isPull = job.event === "pull_request";
	return {
		GITHUB_ACTION: "__trtgate",
		GITHUB_ACTOR: actor,
		GITHUB_API_URL: world.url,
		GITHUB_BASE_REF: isPull ? baseRefOf(job) : "",
		GITHUB_EVENT_NAME: job.event,
		GITHUB_GRAPHQL_URL: `${world.url}/graphql`,
		GITHUB_HEAD_REF: isPull ? text(at(job.payload, "pull_request", "head", "ref")) : "",
		GITHUB_JOB: job.job ?? "gate",
		GITHUB_REF: job.ref,
		GITHUB_REF_NAME: job.ref.replace(/^refs\/(heads|tags|pull)\//, ""),
		GITHUB_REF_TYPE: job.ref.startsWith("refs/tags/") ? "tag" : "branch",
		GITHUB_REPOSITORY: world.repository,
		GITHUB_REPOSITORY_OWNER: world.owner,
		GITHUB_RETENTION_DAYS: "90",
		GITHUB_RUN_ATTEMPT: String(rights.attempt),
		GITHUB_RUN_ID: String(rights.runId),
		GITHUB_RUN_NUMBER: "1",
		// The artifact client takes any other host for a server of one's own and refuses to work.
		GITHUB_SERVER_URL: "https://github.com",
		GITHUB_SHA: job.sha,
		GITHUB_TRIGGERING_ACTOR: actor,
		GITHUB_WORKFLOW: "gate",
		GITHUB_WORKFLOW_REF: `${world.repository}/.github/workflows/gate.yml@${job.ref}`,
		GITHUB_WORKFLOW_SHA: job.sha,
		GITHUB_WORKSPACE: job.workspace,
	};
}

export async function createEnvironment(world: World, job: Job): Promise<Record<string, string>> {
	const token = `ghs_${randomBytes(18).toString("hex")}`;
	world.tokens.set(token, { permissions: permissionsOf(job), login: "github-actions[bot]" });
	const payload = completePayload(world, job);
	registerPull(world, payload);
	registerCause(world, payload);
	const rights = createRights(world, { ...job, payload });
	const runtimeToken = runtimeTokenOf(rights);
	world.jobs.set(runtimeToken, rights);
	await mkdir(job.temp, { recursive: true });
	const eventPath = join(job.temp, `event-${randomUUID()}.json`);
	await writeFile(eventPath, JSON.stringify(payload));
	return {
		...{ CI: "true", GITHUB_ACTIONS: "true", GITHUB_EVENT_PATH: eventPath, GITHUB_TOKEN: token },
		...githubVariables(world, job, rights),
		...{ RUNNER_ARCH: "X64", RUNNER_ENVIRONMENT: "self-hosted", RUNNER_NAME: "local", RUNNER_OS: "Linux" },
		...{ RUNNER_TEMP: job.temp, RUNNER_TOOL_CACHE: join(job.temp, "tool-cache") },
		...{
			ACTIONS_RUNTIME_TOKEN: runtimeToken,
			ACTIONS_RESULTS_URL: `${world.url}/`,
			ACTIONS_CACHE_SERVICE_V2: "true",
			ACTIONS_CACHE_MODE: cacheModeOf(job),
		},
	};
}
