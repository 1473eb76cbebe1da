// Facts about a workflow run, from GitHub and never from an artifact.
import { fieldsOf } from "../../../core/found.ts";
import type { JobExecution } from "../../../core/merge/attempts.ts";
import type { MeasuredRun, RunFacts } from "../../../ports/code-host.ts";
import { isCommit, isRefName, isRepositoryName } from "../../formats/github/names.ts";
import { idOf, parseList, textOf } from "./code-host.ts";
import { type GitHubOptions, openApi } from "./request.ts";

export function githubRunFacts(options: GitHubOptions): RunFacts {
	const api = openApi(options);
	return {
		run: (id) => api.asking("actions: read")("run", "GET /actions/runs/{run_id}", { run_id: id }, parseRun),
		openPulls: ({ headRepository, headBranch }) => {
			const given = { state: "open", head: `${headRepository.split("/")[0]}:${headBranch}`, per_page: 100 };
			return api.asking("pull-requests: read")("pulls", "GET /pulls", given, (data) =>
				parsePulls(data, headRepository),
			);
		},
		jobs: (runId) =>
			api.pages("jobs", {
				route: "GET /actions/runs/{run_id}/jobs",
				given: { run_id: runId, filter: "all" },
				permission: "actions: read",
				parse: (data) => parseList(fieldsOf(data)["jobs"], parseJob),
			}),
		parents: (sha) =>
			api.asking("contents: read")(
				"parents",
				"GET /git/commits/{commit_sha}",
				{ commit_sha: sha },
				(data) => {
					const { parents } = fieldsOf(data);
					return Array.isArray(parents)
						? parents.map((parent) => fieldsOf(parent)["sha"]).filter(isCommit)
						: null;
				},
			),
	};
}

function parseJob(data: unknown): JobExecution | null {
	const { name, runner_name: runner, started_at: started, completed_at: completed } = fieldsOf(data);
	const startedMs = Date.parse(textOf(started));
	const completedMs = Date.parse(textOf(completed));
	if (typeof name !== "string" || Number.isNaN(startedMs)) return null;
	return {
		name,
		runner: textOf(runner),
		startedMs,
		completedMs: Number.isNaN(completedMs) ? null : completedMs,
	};
}

function parseRun(data: unknown): MeasuredRun | null {
	const { id: given, run_attempt: attempt, event, head_sha: headSha, ...head } = fieldsOf(data);
	const branch = head["head_branch"];
	const repository = fieldsOf(head["head_repository"])["full_name"];
	const id = idOf(given);
	if (id === null || !isCommit(headSha) || typeof event !== "string") return null;
	return {
		id,
		attempt: idOf(attempt) ?? 1,
		event,
		headSha,
		headBranch: isRefName(branch) ? branch : "",
		headRepository: isRepositoryName(repository) ? repository : "",
	};
}

/** GitHub ignores a `head` that it cannot parse. */
function parsePulls(data: unknown, headRepository: string) {
	if (!Array.isArray(data)) return null;
	return data.flatMap((pull) => {
		const { number: given, head } = fieldsOf(pull);
		const { sha: headSha, repo } = fieldsOf(head);
		const { full_name: repository } = fieldsOf(repo);
		const number = idOf(given);
		const fits = isRepositoryName(repository) && repository.toLowerCase() === headRepository.toLowerCase();
		return number !== null && isCommit(headSha) && fits ? [{ number, headSha }] : [];
	});
}
