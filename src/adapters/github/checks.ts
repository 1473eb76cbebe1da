// Check runs, and the commit status that replaces one.
import type { ApiResult, CheckRunDraft, CodeHost, HostedCheckRun } from "../../ports/code-host.ts";
import { parseCheckRun, parseCheckRuns } from "./replies.ts";
import { ask, type Calls } from "./request.ts";

const permission = "checks: write";
/** GitHub takes so many annotations in one request. */
const batchSize = 50;

type CheckCalls = Pick<CodeHost, "findCheckRun" | "createCheckRun" | "updateCheckRun" | "setStatus">;

export function checkCalls(calls: Calls): CheckCalls {
	return {
		findCheckRun: async ({ name, sha, externalId }) => {
			const given = { ref: sha, check_name: name, filter: "all", per_page: 100 };
			const route = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs";
			const answer = await ask(calls, "runs", { route, given, permission, parse: parseCheckRuns });
			if (answer.state === "failed") return answer;
			const attempts = answer.runs.filter((run) => runOf(run.externalId) === runOf(externalId));
			return {
				state: "done",
				found:
					attempts.find((run) => run.externalId === externalId) ?? attempts.find((run) => run.isOpen) ?? null,
			};
		},
		createCheckRun: (draft) => createCheckRun(calls, draft),
		updateCheckRun: async (id, draft) => sendBatches(calls, { id, draft, first: 0 }),
		setStatus: ({ url, ...status }) => {
			const given = { ...status, target_url: url };
			const parse = (data: unknown) => (typeof data === "object" && data !== null ? true : null);
			const route = "POST /repos/{owner}/{repo}/statuses/{sha}";
			return ask(calls, "value", { route, given, permission: "statuses: write", repeatable: true, parse });
		},
	};
}

/** Attempts of one run follow each other: an earlier one that is still open has died. */
function runOf(externalId: string): string {
	return externalId.slice(0, externalId.lastIndexOf("/"));
}

type Found = ApiResult<{ found: HostedCheckRun }>;

async function createCheckRun(calls: Calls, draft: CheckRunDraft): Promise<Found> {
	const given = { head_sha: draft.sha, ...parametersOf(draft, 0) };
	const answer = await ask(calls, "found", {
		route: "POST /repos/{owner}/{repo}/check-runs",
		given,
		permission,
		parse: parseCheckRun,
	});
	if (answer.state === "failed" || draft.annotations.length <= batchSize) return answer;
	return sendBatches(calls, { id: answer.found.id, draft, first: batchSize });
}

/** One request for each batch of annotations from `first` on, and one where there are none. */
async function sendBatches(
	calls: Calls,
	{ id, draft, first }: { id: number; draft: CheckRunDraft; first: number },
): Promise<Found> {
	const route = "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}";
	for (let from = first; ; from += batchSize) {
		const given = { check_run_id: id, ...parametersOf(draft, from) };
		const answer = await ask(calls, "found", { route, given, permission, parse: parseCheckRun });
		if (answer.state === "failed" || from + batchSize >= draft.annotations.length) return answer;
	}
}

function parametersOf(
	{ name, externalId, conclusion, title, summary, detailsUrl, annotations }: CheckRunDraft,
	from: number,
) {
	return {
		name,
		external_id: externalId,
		...(conclusion === null ? { status: "in_progress" } : { status: "completed", conclusion }),
		details_url: detailsUrl,
		output: {
			title,
			summary,
			annotations: annotations.slice(from, from + batchSize).map(({ path, line, level, ...texts }) => ({
				path,
				start_line: line,
				end_line: line,
				annotation_level: level,
				...texts,
			})),
		},
	};
}
