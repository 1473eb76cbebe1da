// Pull requests of a repository at GitHub: found, opened, brought up to date.
import type { ApiFault, Repository } from "../../ports/code-host.ts";
import { type Calls, named } from "./calls.ts";
import { parseList } from "./replies.ts";
import { parsePull } from "./repository-replies.ts";

const pulls = "pull-requests: write";

export function pullCalls({ ask, place }: Calls): Pick<Repository, "openPulls" | "createPull" | "updatePull"> {
	return {
		openPulls: async ({ head, base }) =>
			named(
				await ask({
					route: "GET /repos/{owner}/{repo}/pulls",
					parameters: { ...place, state: "open", head: `${place.owner}:${head}`, base, per_page: 100 },
					permission: "pull-requests: read",
					parse: (data) => parseList(data, parsePull),
				}),
				"pulls",
			),
		createPull: async (draft) => {
			const question = {
				route: "POST /repos/{owner}/{repo}/pulls",
				parameters: { ...place, ...draft },
				permission: pulls,
				parse: parsePull,
			};
			const answer = await ask(question);
			return answer.state === "failed" ? { state: "failed", fault: settingFault(answer.fault) } : named(answer, "pull");
		},
		updatePull: async (number, change) =>
			named(
				await ask({
					route: "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
					parameters: { ...place, pull_number: number, ...change },
					permission: pulls,
					parse: parsePull,
				}),
				"pull",
			),
	};
}

/** A setting of the repository or its organisation stands above `permissions:`. */
function settingFault(fault: ApiFault): ApiFault {
	if (!/not permitted to create (or approve )?pull requests/i.test(fault.message)) return fault;
	return {
		code: fault.code,
		message: "GitHub Actions may not open pull requests in this repository: its settings say no, whatever `permissions:` says.",
		fix: "Tick “Allow GitHub Actions to create and approve pull requests” in the repository's settings under Actions, General (an organisation may have to first), or give the token of a GitHub App as `token`.",
	};
}
