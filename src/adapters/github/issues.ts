// Issues: the nightly alarm.
import type { CodeHost } from "../../ports/code-host.ts";
import { type Calls, named } from "./calls.ts";
import { isPullRequest, parseIssue, parseList } from "./replies.ts";

const permission = "issues: write";

export function issueCalls({ ask, place }: Calls): Pick<CodeHost, "openIssues" | "createIssue" | "updateIssue"> {
	return {
		openIssues: async (label) => {
			const answer = await ask({
				route: "GET /repos/{owner}/{repo}/issues",
				parameters: { ...place, labels: label, state: "open", sort: "created", direction: "asc", per_page: 100 },
				permission: "issues: read",
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
				await ask({
					route: "POST /repos/{owner}/{repo}/issues",
					parameters: { ...place, title, body, labels: [...labels] },
					permission,
					parse: parseIssue,
				}),
				"issue",
			),
		updateIssue: async (number, change) =>
			named(
				await ask({
					route: "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
					parameters: { ...place, issue_number: number, ...change },
					permission,
					parse: parseIssue,
				}),
				"issue",
			),
	};
}
