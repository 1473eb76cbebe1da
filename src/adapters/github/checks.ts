// Check runs, and the commit status that stands in for one.
import type { ApiResult, CheckRunDraft, CodeHost, HostedCheckRun } from "../../ports/code-host.ts";
import { parseCheckRun, parseCheckRuns } from "./replies.ts";
import { type Calls, named } from "./request.ts";

const permission = "checks: write";
/** GitHub takes so many annotations in one request. */
const batchSize = 50;

type CheckCalls = Pick<CodeHost, "findCheckRun" | "createCheckRun" | "updateCheckRun" | "setStatus">;

export function checkCalls(calls: Calls): CheckCalls {
	const { send, place } = calls;
	return {
		findCheckRun: async ({ name, sha, externalId }) => {
			const answer = await send({
				route: "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
				parameters: { ...place, ref: sha, check_name: name, filter: "all", per_page: 100 },
				permission,
				parse: parseCheckRuns,
			});
			if (answer.state === "failed") return answer;
			const attempts = answer.value.filter((run) => runOf(run.externalId) === runOf(externalId));
			return { state: "done", found: attempts.find((run) => run.externalId === externalId) ?? attempts.find((run) => run.isOpen) ?? null };
		},
		createCheckRun: (draft) => createCheckRun(calls, draft),
		updateCheckRun: async (id, draft) => sendBatches(calls, { id, draft, first: 0 }),
		setStatus: ({ sha, state, context, description, url }) =>
			send({
				route: "POST /repos/{owner}/{repo}/statuses/{sha}",
				parameters: { ...place, sha, state, context, description, ...(url === undefined ? {} : { target_url: url }) },
				permission: "statuses: write",
				parse: (data) => (typeof data === "object" && data !== null ? true : null),
			}),
	};
}

/** Attempts of one run follow each other: an earlier one that is still open has died. */
function runOf(externalId: string): string {
	return externalId.slice(0, externalId.lastIndexOf("/"));
}

type Found = ApiResult<{ found: HostedCheckRun }>;

async function createCheckRun(calls: Calls, draft: CheckRunDraft): Promise<Found> {
	const { send, place } = calls;
	const answer = await send({
		route: "POST /repos/{owner}/{repo}/check-runs",
		parameters: { ...place, head_sha: draft.sha, ...parametersOf(draft, 0) },
		permission,
		parse: parseCheckRun,
	});
	if (answer.state === "failed") return answer;
	return draft.annotations.length <= batchSize
		? named(answer, "found")
		: sendBatches(calls, { id: answer.value.id, draft, first: batchSize });
}

/** One request for each batch of annotations from `first` on, and one where there are none. */
async function sendBatches(
	{ send, place }: Calls,
	{ id, draft, first }: { id: number; draft: CheckRunDraft; first: number },
): Promise<Found> {
	for (let from = first; ; from += batchSize) {
		const answer = await send({
			route: "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}",
			parameters: { ...place, check_run_id: id, ...parametersOf(draft, from) },
			permission,
			parse: parseCheckRun,
		});
		if (answer.state === "failed" || from + batchSize >= draft.annotations.length) return named(answer, "found");
	}
}

function parametersOf({ name, externalId, conclusion, title, summary, detailsUrl, annotations }: CheckRunDraft, from: number) {
	return {
		name,
		external_id: externalId,
		...(conclusion === null ? { status: "in_progress" } : { status: "completed", conclusion }),
		...(detailsUrl === undefined ? {} : { details_url: detailsUrl }),
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
