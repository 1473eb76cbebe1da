// GitHub as a forge: comments, check runs, statuses and issues over its REST and GraphQL interfaces.
import type { ApiResult, CodeHost } from "../../ports/code-host.ts";
import { checkCalls } from "./checks.ts";
import { commentCalls, issueCalls } from "./issues.ts";
import { parseLogin, parseRunCommits } from "./replies.ts";
import { type Access, ask, type Calls, createSender, type Pace, usualPace } from "./request.ts";

export interface CodeHostOptions extends Access {
	/** `owner/name`. */
	repository: string;
	graphQlUrl: string;
	pace?: Pace | undefined;
}

/** `pace` where the options have none. */
export function openCalls(options: CodeHostOptions, pace: Pace): Calls {
	const [owner = "", repo = ""] = options.repository.split("/");
	return {
		...createSender(options, options.pace ?? pace),
		place: { owner, repo },
		graphQlUrl: options.graphQlUrl,
	};
}

export function githubCodeHost(options: CodeHostOptions): CodeHost {
	const calls = openCalls(options, usualPace);
	return {
		pause: calls.pause,
		login: () => readLogin(calls),
		lastGoodCommit: (source) => readLastGood(calls, source),
		...commentCalls(calls),
		...checkCalls(calls),
		...issueCalls(calls),
	};
}

async function readLogin({ send, graphQlUrl }: Calls): Promise<string | null> {
	const query = "query { viewer { login } }";
	const call = {
		parameters: { query },
		permission: "metadata: read",
		repeatable: true,
		parse: parseLogin,
	} as const;
	const answer = await send({ route: `POST ${graphQlUrl}`, ...call });
	return answer.state === "done" ? answer.value : null;
}

type Source = Parameters<CodeHost["lastGoodCommit"]>[0];

async function readLastGood(
	calls: Calls,
	{ event, ref, workflow }: Source,
): Promise<ApiResult<{ sha: string | null }>> {
	const branch = ref.replace(/^refs\/(heads|tags)\//, "");
	const answer = await ask(calls, "commits", {
		route: "GET /repos/{owner}/{repo}/actions/runs",
		given: { event, branch, status: "success", per_page: 100 },
		permission: "actions: read",
		parse: (data) => parseRunCommits(data, workflow),
	});
	return answer.state === "failed" ? answer : { state: "done", sha: answer.commits[0] ?? null };
}
