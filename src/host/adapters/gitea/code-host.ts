// Gitea and Forgejo: GitHub's API where theirs is the same, and their own calls where it is not.
import { fieldsOf } from "../../../core/found.ts";
import type { ApiResult, CodeHost, Host, ReportDraft, RunFacts } from "../../../ports/code-host.ts";
import {
	githubCodeHost,
	githubRunFacts,
	idOf,
	parseIssue,
	parseList,
	parsePulls,
	parseRun,
	textOf,
} from "../github/code-host.ts";
import { type Api, type GitHubOptions, openApi } from "../github/request.ts";

/** What differs from GitHub's host; it stores no git objects, so no goldens can be proposed. */
export function giteaHost(host: Host, open: (patienceMs?: number) => GitHubOptions, token: string): Host {
	return {
		...host,
		codeHost: (patienceMs) => (token === "" ? null : giteaCodeHost(open(patienceMs))),
		repository: () => null,
		runFacts: () => giteaRunFacts(open()),
	};
}

export function giteaCodeHost(options: GitHubOptions): CodeHost {
	const api = openApi(options);
	return {
		...githubCodeHost(options),
		pause: api.pause,
		// Gitea lists them oldest first.
		newestComments: null,
		async login() {
			const answer = await api.user((data) => textOf(fieldsOf(data)["login"]) || null);
			return answer.state === "done" ? answer.value : null;
		},
		...statusCalls(api),
		...issueCalls(api),
	};
}

const states = { success: "success", failure: "failure", neutral: "warning", cancelled: "error" } as const;
const maxDescriptionChars = 250;

/** A commit status stands for the check run, which there is none of: without a text of its own or annotations. */
function statusCalls(api: Api) {
	const ask = api.asking("contents: write");
	const parse = (data: unknown) => {
		const { id: given, target_url: url, status, context } = fieldsOf(data);
		const id = idOf(given);
		return id === null
			? null
			: { id, url: textOf(url), isOpen: status === "pending", context: textOf(context) };
	};
	const createReport = ({ name, sha, title, conclusion, detailsUrl }: ReportDraft) =>
		ask(
			"report",
			"POST /statuses/{sha}",
			{
				sha,
				context: name,
				description: title.slice(0, maxDescriptionChars),
				state: conclusion === null ? "pending" : states[conclusion],
				target_url: detailsUrl,
			},
			parse,
		);
	return {
		/** Of this run: a status has no key, but it links its run. */
		async findReport({ name, sha, key }) {
			const listed = await ask("found", "GET /commits/{ref}/statuses", { ref: sha, limit: 50 }, (data) =>
				parseList(data, parse),
			);
			if (listed.state === "failed") return listed;
			const newest = listed.found
				.filter(({ context }) => context === name)
				.sort((left, right) => right.id - left.id)[0];
			const isOwn = newest?.url.endsWith(`/${key.split("/").at(-2)}`);
			return { state: "done", report: newest !== undefined && isOwn ? newest : null };
		},
		createReport,
		updateReport: (_, draft) => createReport(draft),
	} satisfies Partial<CodeHost>;
}

function issueCalls(api: Api) {
	const ask = api.asking("issues: write");
	const parseLabel = (data: unknown) => {
		const { id: given, name } = fieldsOf(data);
		const id = idOf(given);
		return id === null ? null : { id, name: textOf(name) };
	};
	const labelId = async (name: string): Promise<ApiResult<{ label: { id: number } }>> => {
		const listed = await api.pages("labels", {
			route: "GET /labels",
			given: {},
			permission: "issues: write",
			parse: (data) => parseList(data, parseLabel),
		});
		if (listed.state === "failed") return listed;
		const label = listed.labels.find((one) => one.name === name);
		if (label !== undefined) return { state: "done", label };
		return ask("label", "POST /labels", { name, color: "#d73a4a" }, parseLabel);
	};
	return {
		openIssues: (label) => {
			const given = { labels: label, state: "open", type: "issues", sort: "oldest", limit: 50 };
			const has = (issue: unknown) => {
				const { labels } = fieldsOf(issue);
				return Array.isArray(labels) && labels.some((one) => fieldsOf(one)["name"] === label);
			};
			// A label that does not exist filters nothing.
			return ask("issues", "GET /issues", given, (data) =>
				Array.isArray(data) ? parseList(data.filter(has), parseIssue) : null,
			);
		},
		/** Labels are given by their ids. */
		async createIssue({ labels: names, ...draft }) {
			const labels: number[] = [];
			for (const name of names) {
				const found = await labelId(name);
				if (found.state === "failed") return found;
				labels.push(found.label.id);
			}
			return ask("issue", "POST /issues", { ...draft, labels }, parseIssue);
		},
	} satisfies Partial<CodeHost>;
}

/** A run names no branch of its head, but the pull requests that it was started for. */
export function giteaRunFacts(options: GitHubOptions): RunFacts {
	const api = openApi(options);
	return {
		...githubRunFacts(options),
		run: (id) =>
			api.asking("actions: read")("run", "GET /actions/runs/{run_id}", { run_id: id }, (data) =>
				parseRun({ ...fieldsOf(data), ...headOf(fieldsOf(data)) }),
			),
		/** Gitea cannot filter them by their head. */
		openPulls: ({ headRepository }) =>
			api.pages("pulls", {
				route: "GET /pulls",
				given: { state: "open" },
				permission: "pull-requests: read",
				parse: (data) => parsePulls(data, headRepository),
			}),
	};
}

function headOf({ head_sha: sha, head_branch: branch, pull_requests: pulls }: ReturnType<typeof fieldsOf>) {
	if (typeof branch === "string" || !Array.isArray(pulls)) return {};
	const heads = pulls.map((pull) => fieldsOf(fieldsOf(pull)["head"]));
	const head = heads.find((one) => one["sha"] === sha);
	if (head === undefined) return {};
	const name = textOf(fieldsOf(head["repo"])["url"]).split("/").slice(-2).join("/");
	return { head_branch: head["ref"], head_repository: { full_name: name } };
}
