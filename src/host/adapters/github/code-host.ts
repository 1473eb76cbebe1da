// GitHub's comments, check runs and issues, and facts about its workflow runs.
import { fieldsOf, isObject } from "../../../core/found.ts";
import type { CodeHost, HostedIssue, MeasuredRun, ReportDraft, RunFacts } from "../../../ports/code-host.ts";
import { parsePull } from "../../formats/github/event.ts";
import { isCommit, isRefName, isRepositoryName } from "../../formats/github/names.ts";
import { type Api, type GitHubOptions, openApi } from "./request.ts";

export const idOf = (value: unknown): number | null =>
	Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export function parseList<Item>(data: unknown, parse: (item: unknown) => Item | null): Item[] | null {
	if (!Array.isArray(data)) return null;
	const items = data.map(parse);
	return items.every((item) => item !== null) ? items : null;
}

export function githubCodeHost(options: GitHubOptions): CodeHost {
	const api = openApi(options);
	return {
		pause: api.pause,
		async login() {
			const answer = await api.graphQl("query { viewer { login } }", "metadata: read", parseLogin);
			return answer.state === "done" ? answer.value : null;
		},
		...commentCalls(api),
		...reportCalls(api),
		...issueCalls(api),
	};
}

/** GraphQL reports errors with status 200. */
function parseLogin(data: unknown) {
	const { errors, data: found } = fieldsOf(data);
	return Array.isArray(errors) ? null : textOf(fieldsOf(fieldsOf(found)["viewer"])["login"]) || null;
}

function parseText(data: unknown) {
	const { body, user, html_url: url } = fieldsOf(data);
	const { login, type } = fieldsOf(user);
	const author = typeof login === "string" ? { login, type: textOf(type) } : null;
	return { body: textOf(body), author, url: textOf(url) };
}

function commentCalls(api: Api) {
	const parse = (data: unknown) => {
		const id = idOf(fieldsOf(data)["id"]);
		return id === null ? null : { id, ...parseText(data) };
	};
	const all = "/issues/{issue_number}/comments";
	const one = "/issues/comments/{comment_id}";
	const permission = "pull-requests: write";
	const ask = api.asking(permission);
	return {
		comments: (issue) =>
			api.pages("comments", {
				route: `GET ${all}`,
				given: { issue_number: issue },
				permission,
				parse: (data) => parseList(data, parse),
			}),
		newestComments: () => {
			const given = { sort: "created", direction: "desc", per_page: 100 };
			return ask("comments", "GET /issues/comments", given, (data) => parseList(data, parse));
		},
		createComment: (issue, body, on) =>
			api.asking(on === "issue" ? "issues: write" : permission)(
				"comment",
				`POST ${all}`,
				{ issue_number: issue, body },
				parse,
			),
		updateComment: (id, body) => ask("comment", `PATCH ${one}`, { comment_id: id, body }, parse),
		deleteComment: (id) => ask("value", `DELETE ${one}`, { comment_id: id }, () => true),
	} satisfies Partial<CodeHost>;
}

const batchSize = 50;

function parseReport(data: unknown) {
	const { id: given, html_url: url, status, external_id: key } = fieldsOf(data);
	const id = idOf(given);
	return id === null ? null : { id, url: textOf(url), isOpen: status !== "completed", key: textOf(key) };
}

function reportCalls(api: Api) {
	const ask = api.asking("checks: write");
	const update = async (id: number, draft: ReportDraft, first: number) => {
		for (let from = first; ; from += batchSize) {
			const given = { check_run_id: id, ...parametersOf(draft, from) };
			const answer = await ask("report", "PATCH /check-runs/{check_run_id}", given, parseReport);
			if (answer.state === "failed" || from + batchSize >= draft.annotations.length) return answer;
		}
	};
	return {
		async findReport({ name, sha, key }) {
			const given = { ref: sha, check_name: name, filter: "all", per_page: 100 };
			const answer = await ask("reports", "GET /commits/{ref}/check-runs", given, (data) =>
				parseList(fieldsOf(data)["check_runs"], parseReport),
			);
			if (answer.state === "failed") return answer;
			// Attempts of a run follow each other, so an earlier one that is still open has died.
			const runOf = (of: string) => of.slice(0, of.lastIndexOf("/"));
			const attempts = answer.reports.filter((report) => runOf(report.key) === runOf(key));
			const own = attempts.find((report) => report.key === key);
			return { state: "done", report: own ?? attempts.find(({ isOpen }) => isOpen) ?? null };
		},
		async createReport(draft) {
			const given = { head_sha: draft.sha, ...parametersOf(draft, 0) };
			const answer = await ask("report", "POST /check-runs", given, parseReport);
			if (answer.state === "failed" || draft.annotations.length <= batchSize) return answer;
			return update(answer.report.id, draft, batchSize);
		},
		updateReport: (id, draft) => update(id, draft, 0),
	} satisfies Partial<CodeHost>;
}

function parametersOf({ name, key, conclusion, title, summary, ...draft }: ReportDraft, from: number) {
	const annotations = draft.annotations.slice(from, from + batchSize);
	return {
		name,
		external_id: key,
		...(conclusion === null ? { status: "in_progress" } : { status: "completed", conclusion }),
		details_url: draft.detailsUrl,
		output: {
			title,
			summary,
			annotations: annotations.map(({ line, level, ...texts }) => ({
				start_line: line,
				end_line: line,
				annotation_level: level,
				...texts,
			})),
		},
	};
}

export function parseIssue(data: unknown): HostedIssue | null {
	const number = idOf(fieldsOf(data)["number"]);
	return number === null ? null : { number, ...parseText(data) };
}

function issueCalls(api: Api) {
	const ask = api.asking("issues: write");
	const isIssue = (one: unknown) => !isObject(fieldsOf(one)["pull_request"]);
	return {
		openIssues: (label) => {
			const given = { labels: label, state: "open", sort: "created", direction: "asc", per_page: 100 };
			// GitHub lists pull requests among issues.
			return ask("issues", "GET /issues", given, (data) =>
				Array.isArray(data) ? parseList(data.filter(isIssue), parseIssue) : null,
			);
		},
		createIssue: (draft) => ask("issue", "POST /issues", { ...draft }, parseIssue),
		updateIssue: (number, change) =>
			ask("issue", "PATCH /issues/{issue_number}", { issue_number: number, ...change }, parseIssue),
	} satisfies Partial<CodeHost>;
}

export function githubRunFacts(options: GitHubOptions): RunFacts {
	const api = openApi(options);
	return {
		run: (id) => api.asking("actions: read")("run", "GET /actions/runs/{run_id}", { run_id: id }, parseRun),
		pull: (number) =>
			api.asking("pull-requests: read")(
				"pull",
				"GET /pulls/{pull_number}",
				{ pull_number: number },
				parsePull,
			),
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

function parseJob(data: unknown) {
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

export function parseRun(data: unknown): MeasuredRun | null {
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
export function parsePulls(data: unknown, headRepository: string) {
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
