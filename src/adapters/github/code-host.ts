// GitHub as a forge: comments, check runs, statuses and issues over its REST and GraphQL interfaces.
import type { ApiResult, CodeHost } from "../../ports/code-host.ts";
import { checkCalls } from "./checks.ts";
import { commentCalls, issueCalls } from "./issues.ts";
import { parseLogin, parseRunCommits } from "./replies.ts";
import { ask, type Calls, createSender, type Pace, type Requester, usualPace } from "./request.ts";

export interface CodeHostOptions {
	token: string;
	/** `owner/name`. */
	repository: string;
	/** e.g. https://api.github.com */
	apiUrl: string;
	graphQlUrl: string;
	pace?: Pace | undefined;
}

/** `pace` where the options have none. */
export function openCalls(options: CodeHostOptions, pace: Pace): Calls {
	const [owner = "", repo = ""] = options.repository.split("/");
	let requester: Promise<Requester> | null = null;
	const send = createSender(() => {
		requester ??= openRequester(options);
		return requester;
	}, options.pace ?? pace);
	return { send, place: { owner, repo }, graphQlUrl: options.graphQlUrl };
}

export function githubCodeHost(options: CodeHostOptions): CodeHost {
	const calls = openCalls(options, usualPace);
	return {
		login: () => readLogin(calls),
		lastGoodCommit: (source) => readLastGood(calls, source),
		...commentCalls(calls),
		...checkCalls(calls),
		...issueCalls(calls),
	};
}

/** octokit is half a megabyte: it is loaded when there is something to send. */
async function openRequester({ token, apiUrl }: CodeHostOptions): Promise<Requester> {
	const { GitHub, getOctokitOptions } = await import("@actions/github/lib/utils");
	const silent = { debug() {}, info() {}, warn() {}, error() {} };
	const octokit = new GitHub(getOctokitOptions(token, { baseUrl: apiUrl, log: silent, userAgent: "trtgate" }));
	return async (route, parameters) => {
		const { data, headers } = await octokit.request(route, parameters);
		return { data, headers };
	};
}

async function readLogin({ send, graphQlUrl }: Calls): Promise<string | null> {
	const query = "query { viewer { login } }";
	const answer = await send({
		route: `POST ${graphQlUrl}`,
		parameters: { query },
		permission: "metadata: read",
		parse: parseLogin,
	});
	return answer.state === "done" ? answer.value : null;
}

type Source = Parameters<CodeHost["lastGoodCommit"]>[0];

async function readLastGood(calls: Calls, { event, ref, workflow }: Source): Promise<ApiResult<{ sha: string | null }>> {
	const branch = ref.replace(/^refs\/(heads|tags)\//, "");
	const answer = await ask(calls, "commits", {
		route: "GET /repos/{owner}/{repo}/actions/runs",
		given: { event, branch, status: "success", per_page: 100 },
		permission: "actions: read",
		parse: (data) => parseRunCommits(data, workflow),
	});
	return answer.state === "failed" ? answer : { state: "done", sha: answer.commits[0] ?? null };
}
