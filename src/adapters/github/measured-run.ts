// Facts about a workflow run, its pull request and a commit, from GitHub itself and never from an artifact.
import { fieldsOf } from "../../core/found.ts";
import type { JobExecution } from "../../core/merge/attempts.ts";
import { isCommit, isRefName, isRepositoryName } from "../../formats/github/names.ts";
import type { ApiResult } from "../../ports/code-host.ts";
import { type CodeHostOptions, openCalls } from "./code-host.ts";
import { hasNextPage, parseList } from "./replies.ts";
import { ask, type Calls, usualPace } from "./request.ts";

export interface MeasuredRun {
	id: number;
	attempt: number;
	/** The event that it ran for. */
	event: string;
	headSha: string;
	/** "" where the branch's name is not one that git allows. */
	headBranch: string;
	/** `owner/name`; "" where the fork is gone. */
	headRepository: string;
}

export interface OpenPull {
	number: number;
	headSha: string;
}

export interface RunFacts {
	run(id: number): Promise<ApiResult<{ run: MeasuredRun }>>;
	/** Open pull requests into this repository from that branch. */
	openPulls(
		head: Pick<MeasuredRun, "headRepository" | "headBranch">,
	): Promise<ApiResult<{ pulls: readonly OpenPull[] }>>;
	/** Every execution of every job of a run, of all its attempts. */
	jobs(runId: number): Promise<ApiResult<{ jobs: readonly JobExecution[] }>>;
	/** Of a commit of this repository. */
	parents(sha: string): Promise<ApiResult<{ parents: readonly string[] }>>;
}

export function githubRunFacts(options: CodeHostOptions): RunFacts {
	const calls = openCalls(options, usualPace);
	return {
		run: (id) => {
			const route = "GET /repos/{owner}/{repo}/actions/runs/{run_id}";
			return ask(calls, "run", {
				route,
				given: { run_id: id },
				permission: "actions: read",
				parse: parseRun,
			});
		},
		openPulls: ({ headRepository, headBranch }) => {
			const [headOwner = ""] = headRepository.split("/");
			const given = { state: "open", head: `${headOwner}:${headBranch}`, per_page: 100 };
			const parse = (data: unknown) => parsePulls(data, headRepository);
			return ask(calls, "pulls", {
				route: "GET /repos/{owner}/{repo}/pulls",
				given,
				permission: "pull-requests: read",
				parse,
			});
		},
		jobs: (runId) => readJobs(calls, runId),
		parents: (sha) => {
			const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
			return ask(calls, "parents", {
				route,
				given: { commit_sha: sha },
				permission: "contents: read",
				parse: parseParents,
			});
		},
	};
}

const pageSize = 100;
/** 256 jobs of a matrix, 50 times. */
const maxPages = 130;

async function readJobs(
	{ send, place }: Calls,
	runId: number,
): Promise<ApiResult<{ jobs: readonly JobExecution[] }>> {
	const jobs: JobExecution[] = [];
	for (let page = 1; page <= maxPages; page += 1) {
		const answer = await send({
			route: "GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs",
			parameters: { ...place, run_id: runId, filter: "all", per_page: pageSize, page },
			permission: "actions: read",
			parse: (data, headers) => {
				const items = parseList(fieldsOf(data)["jobs"], parseJob);
				return items === null
					? null
					: { items, more: hasNextPage(headers, { items: items.length, size: pageSize }) };
			},
		});
		if (answer.state === "failed") return answer;
		jobs.push(...answer.value.items);
		if (!answer.value.more) break;
	}
	return { state: "done", jobs };
}

function parseJob(data: unknown): JobExecution | null {
	const { name, runner_name: runner, started_at: started, completed_at: completed } = fieldsOf(data);
	const [startedMs, completedMs] = [started, completed].map((time) =>
		typeof time === "string" ? Date.parse(time) : Number.NaN,
	);
	if (typeof name !== "string" || startedMs === undefined || !Number.isFinite(startedMs)) return null;
	const isCompleted = completedMs !== undefined && Number.isFinite(completedMs);
	return {
		name,
		runner: typeof runner === "string" ? runner : "",
		startedMs,
		completedMs: isCompleted ? completedMs : null,
	};
}

function isId(value: unknown): value is number {
	return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function parseRun(data: unknown): MeasuredRun | null {
	const {
		id,
		run_attempt: attempt,
		event,
		head_sha: headSha,
		head_branch: branch,
		head_repository: from,
	} = fieldsOf(data);
	const { full_name: repository } = fieldsOf(from);
	if (!isId(id) || !isCommit(headSha) || typeof event !== "string") return null;
	return {
		...{ id, attempt: isId(attempt) ? attempt : 1, event, headSha },
		headBranch: isRefName(branch) ? branch : "",
		headRepository: isRepositoryName(repository) ? repository : "",
	};
}

/** GitHub ignores a `head` that it cannot read, so each pull request's own head is looked at. */
function parsePulls(data: unknown, headRepository: string): OpenPull[] | null {
	if (!Array.isArray(data)) return null;
	return data.flatMap((pull) => {
		const { number, head } = fieldsOf(pull);
		const { sha: headSha, repo } = fieldsOf(head);
		const { full_name: repository } = fieldsOf(repo);
		const fits = isRepositoryName(repository) && repository.toLowerCase() === headRepository.toLowerCase();
		return isId(number) && isCommit(headSha) && fits ? [{ number, headSha }] : [];
	});
}

function parseParents(data: unknown): string[] | null {
	const { parents } = fieldsOf(data);
	return Array.isArray(parents) ? parents.map((parent) => fieldsOf(parent)["sha"]).filter(isCommit) : null;
}
