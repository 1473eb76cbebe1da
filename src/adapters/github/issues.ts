// Issues (the nightly alarm), and comments of pull requests and issues.
import type { ApiResult, CodeHost, HostedComment, HostedIssue } from "../../ports/code-host.ts";
import { hasNextPage, isPullRequest, parseComment, parseGraphQl, parseIssue, parseList } from "./replies.ts";
import { ask, type Calls } from "./request.ts";

export function issueCalls(calls: Calls): Pick<CodeHost, "openIssues" | "createIssue" | "updateIssue"> {
	const route = "/repos/{owner}/{repo}/issues";
	const permission = "issues: write";
	return {
		openIssues: (label) => {
			const given = { labels: label, state: "open", sort: "created", direction: "asc", per_page: 100 };
			return ask(calls, "issues", { route: `GET ${route}`, given, permission, parse: parseIssues });
		},
		createIssue: (draft) =>
			ask(calls, "issue", { route: `POST ${route}`, given: { ...draft }, permission, parse: parseIssue }),
		updateIssue: (number, change) => {
			const given = { issue_number: number, ...change };
			return ask(calls, "issue", {
				route: `PATCH ${route}/{issue_number}`,
				given,
				permission,
				parse: parseIssue,
			});
		},
	};
}

function parseIssues(data: unknown): HostedIssue[] | null {
	if (!Array.isArray(data)) return null;
	const issues = data.filter((one) => !isPullRequest(one));
	return parseList(issues, parseIssue);
}

const pageSize = 100;
/** A pull request with more than 5,000 comments has other worries. */
const maxPages = 50;
const commentPermission = "pull-requests: write";

type CommentCalls = Pick<
	CodeHost,
	"comments" | "createComment" | "updateComment" | "deleteComment" | "minimiseComment"
>;

export function commentCalls(calls: Calls): CommentCalls {
	const ofIssue = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
	const one = "/repos/{owner}/{repo}/issues/comments/{comment_id}";
	return {
		comments: (issue) => readComments(calls, issue),
		createComment: (issue, body, on = "pull-request") => {
			const permission = on === "issue" ? "issues: write" : commentPermission;
			return ask(calls, "comment", {
				route: `POST ${ofIssue}`,
				given: { issue_number: issue, body },
				permission,
				parse: parseComment,
			});
		},
		updateComment: (id, body) => {
			const given = { comment_id: id, body };
			return ask(calls, "comment", {
				route: `PATCH ${one}`,
				given,
				permission: commentPermission,
				parse: parseComment,
			});
		},
		deleteComment: (id) =>
			ask(calls, "value", {
				route: `DELETE ${one}`,
				given: { comment_id: id },
				permission: commentPermission,
				parse: () => true,
			}),
		minimiseComment: (nodeId) => minimise(calls, nodeId),
	};
}

async function readComments(
	{ send, place }: Calls,
	issue: number,
): Promise<ApiResult<{ comments: readonly HostedComment[] }>> {
	const comments: HostedComment[] = [];
	for (let page = 1; page <= maxPages; page += 1) {
		const answer = await send({
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
			parameters: { ...place, issue_number: issue, per_page: pageSize, page },
			permission: commentPermission,
			parse: (data, headers) => {
				const items = parseList(data, parseComment);
				return items === null
					? null
					: { items, more: hasNextPage(headers, { items: items.length, size: pageSize }) };
			},
		});
		if (answer.state === "failed") return answer;
		comments.push(...answer.value.items);
		if (!answer.value.more) break;
	}
	return { state: "done", comments };
}

async function minimise({ send, graphQlUrl }: Calls, nodeId: string): Promise<ApiResult<object>> {
	const query =
		"mutation($id: ID!) { minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized } } }";
	const parameters = { query, variables: { id: nodeId } };
	return send({
		route: `POST ${graphQlUrl}`,
		parameters,
		permission: commentPermission,
		repeatable: true,
		parse: parseGraphQl,
	});
}
