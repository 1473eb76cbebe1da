// Issues (the nightly alarm), and comments of pull requests and issues.
import type { ApiResult, CodeHost, HostedComment } from "../../ports/code-host.ts";
import { hasNextPage, isPullRequest, parseComment, parseGraphQl, parseIssue, parseList } from "./replies.ts";
import { type Calls, named } from "./request.ts";

const issuePermission = "issues: write";

export function issueCalls({ send, place }: Calls): Pick<CodeHost, "openIssues" | "createIssue" | "updateIssue"> {
	return {
		openIssues: async (label) => {
			const answer = await send({
				route: "GET /repos/{owner}/{repo}/issues",
				parameters: { ...place, labels: label, state: "open", sort: "created", direction: "asc", per_page: 100 },
				permission: issuePermission,
				parse: (data) =>
					Array.isArray(data)
						? parseList(
								data.filter((one) => !isPullRequest(one)),
								parseIssue,
							)
						: null,
			});
			return named(answer, "issues");
		},
		createIssue: async ({ title, body, labels }) =>
			named(
				await send({
					route: "POST /repos/{owner}/{repo}/issues",
					parameters: { ...place, title, body, labels: [...labels] },
					permission: issuePermission,
					parse: parseIssue,
				}),
				"issue",
			),
		updateIssue: async (number, change) =>
			named(
				await send({
					route: "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
					parameters: { ...place, issue_number: number, ...change },
					permission: issuePermission,
					parse: parseIssue,
				}),
				"issue",
			),
	};
}

const pageSize = 100;
/** A pull request with more than 5,000 comments has other worries. */
const maxPages = 50;
const commentPermission = "pull-requests: write";

type CommentCalls = Pick<CodeHost, "comments" | "createComment" | "updateComment" | "deleteComment" | "minimiseComment">;

export function commentCalls(calls: Calls): CommentCalls {
	const { send, place } = calls;
	return {
		comments: (issue) => readComments(calls, issue),
		createComment: async (issue, body, on = "pull-request") =>
			named(
				await send({
					route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
					parameters: { ...place, issue_number: issue, body },
					permission: on === "issue" ? "issues: write" : commentPermission,
					parse: parseComment,
				}),
				"comment",
			),
		updateComment: async (id, body) =>
			named(
				await send({
					route: "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
					parameters: { ...place, comment_id: id, body },
					permission: commentPermission,
					parse: parseComment,
				}),
				"comment",
			),
		deleteComment: (id) =>
			send({
				route: "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}",
				parameters: { ...place, comment_id: id },
				permission: commentPermission,
				parse: () => true,
			}),
		minimiseComment: (nodeId) => minimise(calls, nodeId),
	};
}

async function readComments({ send, place }: Calls, issue: number): Promise<ApiResult<{ comments: readonly HostedComment[] }>> {
	const comments: HostedComment[] = [];
	for (let page = 1; page <= maxPages; page += 1) {
		const answer = await send({
			route: "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
			parameters: { ...place, issue_number: issue, per_page: pageSize, page },
			permission: commentPermission,
			parse: (data, headers) => {
				const items = parseList(data, parseComment);
				return items === null ? null : { items, more: hasNextPage(headers, { items: items.length, size: pageSize }) };
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
	return send({
		route: `POST ${graphQlUrl}`,
		parameters: { query, variables: { id: nodeId } },
		permission: commentPermission,
		parse: parseGraphQl,
	});
}
